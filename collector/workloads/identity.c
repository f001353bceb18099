/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/workloads/identity.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#define CONTAINER_ID 64

/* A part of the path between two '/'. */
struct part {
	const char *at;
	size_t len;
};

static bool starts_with(struct part p, const char *text)
{
	return p.len >= strlen(text) && memcmp(p.at, text, strlen(text)) == 0;
}

static bool ends_with(struct part p, const char *text)
{
	const size_t n = strlen(text);

	return p.len >= n && memcmp(p.at + p.len - n, text, n) == 0;
}

static bool is(struct part p, const char *text)
{
	return p.len == strlen(text) && starts_with(p, text);
}

static bool has(struct part p, const char *text)
{
	return memmem(p.at, p.len, text, strlen(text)) != NULL;
}

static struct part without_end(struct part p, const char *end)
{
	if (ends_with(p, end))
		p.len -= strlen(end);
	return p;
}

static struct part from(struct part p, size_t n)
{
	return (struct part){ p.at + n, p.len - n };
}

/* False, with nothing changed, for what is empty, too long or not printable. */
static bool copy(struct part p, char *out, size_t size)
{
	if (p.len == 0 || p.len >= size)
		return false;
	for (size_t i = 0; i < p.len; i++)
		if (!isascii((unsigned char)p.at[i]) || !isprint((unsigned char)p.at[i]))
			return false;
	memcpy(out, p.at, p.len);
	out[p.len] = '\0';
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool all_hex(struct part p)
{
	for (size_t i = 0; i < p.len; i++)
		if (hex_digit(p.at[i]) < 0)
			return false;
	return p.len > 0;
}

/* "a\x2db" is "a-b": how systemd escapes a name in a unit's. */
static bool copy_unescaped(struct part p, char *out, size_t size)
{
	char text[TW_NAME_TEXT];
	size_t n = 0;

	for (size_t i = 0; i < p.len && n < sizeof(text); n++) {
		if (p.len - i >= 4 && p.at[i] == '\\' && p.at[i + 1] == 'x' &&
		    hex_digit(p.at[i + 2]) >= 0 && hex_digit(p.at[i + 3]) >= 0) {
			text[n] = (char)(hex_digit(p.at[i + 2]) * 16 +
					 hex_digit(p.at[i + 3]));
			i += 4;
		} else {
			text[n] = p.at[i++];
		}
	}
	return n < sizeof(text) && copy((struct part){ text, n }, out, size);
}

/* ---- containers ---- */

/* By what is before the id; the first that fits. */
static const struct {
	const char *text, *runtime;
} runtimes[] = {
	{ "cri-containerd", "containerd" },
	{ "containerd", "containerd" },
	{ "nerdctl", "containerd" },
	{ "docker", "docker" },
	{ "crio", "crio" },
	{ "libpod", "podman" },
	{ "kata", "kata" },
};

static const char *find_runtime(struct part p)
{
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		if (has(p, runtimes[i].text))
			return runtimes[i].runtime;
	return NULL;
}

/*
 * 64 hex digits at the end, with nothing, or a runtime's name and one of "-:_", before
 * them. A conmon is no container but watches one.
 */
static bool read_hex_container(struct part p, struct part parent, struct tw_identity *out)
{
	struct part name = without_end(p, ".scope"), before;

	if (name.len < CONTAINER_ID)
		return false;
	before = (struct part){ name.at, name.len - CONTAINER_ID };
	if (!all_hex(from(name, before.len)) ||
	    (before.len > 0 && strchr("-:_", before.at[before.len - 1]) == NULL) ||
	    has(before, "conmon"))
		return false;
	copy(from(name, before.len), out->id, sizeof(out->id));
	out->kind = TW_OWNER_CONTAINER;
	out->runtime = find_runtime(before.len > 0 ? before : parent);
	return true;
}

/* "/lxc/web", "/lxc.payload/web" and "/lxc.payload.web"; "lxc.monitor" is the watcher. */
static bool read_lxc(struct part p, struct part parent, struct tw_identity *out)
{
	struct part name = p;

	if (starts_with(p, "lxc.payload."))
		name = from(p, strlen("lxc.payload."));
	else if (!is(parent, "lxc") && !is(parent, "lxc.payload"))
		return false;
	if (!copy(name, out->id, sizeof(out->id)))
		return false;
	out->kind = TW_OWNER_CONTAINER;
	out->runtime = "lxc";
	return true;
}

/* ---- virtual machines, and containers that systemd-machined knows ---- */

/* "3-name" is the third machine since libvirt's start. */
static struct part without_number(struct part p)
{
	size_t digits = 0;

	while (digits < p.len && isdigit((unsigned char)p.at[digits]))
		digits++;
	return digits > 0 && digits < p.len && p.at[digits] == '-' ? from(p, digits + 1)
								   : p;
}

static bool set_vm(struct part name, const char *runtime, struct tw_identity *out)
{
	char text[TW_ID_TEXT];

	if (!copy(name, text, sizeof(text)))
		return false;
	out->kind = TW_OWNER_VM;
	out->runtime = runtime;
	memcpy(out->id, text, sizeof(text));
	memcpy(out->name, text, sizeof(text));
	return true;
}

/* machine-qemu\x2d3\x2dname.scope, machine-lxc\x2d..., machine-name.scope of nspawn. */
static bool read_machine_scope(struct part p, struct tw_identity *out)
{
	char text[TW_NAME_TEXT];
	struct part name;

	if (!starts_with(p, "machine-") || !ends_with(p, ".scope") ||
	    !copy_unescaped(without_end(from(p, 8), ".scope"), text, sizeof(text)))
		return false;
	name = (struct part){ text, strlen(text) };
	if (starts_with(name, "qemu-"))
		return set_vm(without_number(from(name, 5)), "qemu", out);
	out->runtime = "systemd-nspawn";
	if (starts_with(name, "lxc-")) {
		name = without_number(from(name, 4));
		out->runtime = "lxc";
	}
	if (!copy(name, out->id, sizeof(out->id))) {
		out->runtime = NULL;
		return false;
	}
	out->kind = TW_OWNER_CONTAINER;
	return true;
}

/* /machine/qemu-3-name.libvirt-qemu, /qemu.slice/100.scope of Proxmox, /firecracker/id */
static bool read_vm(struct part p, struct part parent, struct tw_identity *out)
{
	if (ends_with(p, ".libvirt-qemu")) {
		p = without_end(p, ".libvirt-qemu");
		return set_vm(starts_with(p, "qemu-") ? without_number(from(p, 5)) : p,
			      "qemu", out);
	}
	if (is(parent, "qemu.slice") && ends_with(p, ".scope"))
		return set_vm(without_end(p, ".scope"), "qemu", out);
	if (is(parent, "firecracker"))
		return set_vm(p, "firecracker", out);
	return false;
}

/* ---- pods and units ---- */

/* 8-4-4-4-12 hex digits, with '_' for '-' in a slice's name; or 32 of a static pod. */
static bool read_uid(struct part p, char out[TW_UID_TEXT])
{
	if (p.len == 32 && all_hex(p))
		return copy(p, out, TW_UID_TEXT);
	if (p.len != 36)
		return false;
	for (size_t i = 0; i < p.len; i++) {
		const bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? p.at[i] != '-' && p.at[i] != '_' : hex_digit(p.at[i]) < 0)
			return false;
	}
	copy(p, out, TW_UID_TEXT);
	for (char *c = strchr(out, '_'); c != NULL; c = strchr(c, '_'))
		*c = '-';
	return true;
}

/* "pod<uid>", "kubepods-burstable-pod<uid>.slice", "...slice:cri-containerd:<id>" */
static bool read_pod(struct part p, struct tw_identity *out)
{
	const char *colon = memchr(p.at, ':', p.len);

	if (colon != NULL)
		p.len = (size_t)(colon - p.at);
	p = without_end(p, ".slice");
	if (starts_with(p, "pod"))
		return read_uid(from(p, 3), out->pod_uid);
	for (size_t n = 36; n >= 32; n -= 4)
		if (p.len > n + 4 && memcmp(p.at + p.len - n - 4, "-pod", 4) == 0)
			return read_uid(from(p, p.len - n), out->pod_uid);
	return false;
}

static bool is_unit(struct part p)
{
	return ends_with(p, ".service") || ends_with(p, ".scope") ||
	       ends_with(p, ".socket") || ends_with(p, ".mount") || ends_with(p, ".swap");
}

/* ---- paths ---- */

/* The part that ends at end, and where it began; a path begins with '/'. */
static struct part last_part(const char *path, size_t end)
{
	const char *slash = memrchr(path, '/', end);
	const size_t begin = slash != NULL ? (size_t)(slash - path) + 1 : 0;

	return (struct part){ path + begin, end - begin };
}

static size_t parent_end(const char *path, struct part p)
{
	return p.at > path ? (size_t)(p.at - path) - 1 : 0;
}

void tw_identity_of_path(const char *path, size_t len, struct tw_identity *out)
{
	struct part slice = { 0 }, p;
	struct tw_identity who = { 0 };

	for (size_t end = len; end > 0; end = parent_end(path, p)) {
		struct part parent;

		p = last_part(path, end);
		parent = last_part(path, parent_end(path, p));
		if (who.kind == TW_OWNER_NONE &&
		    (read_hex_container(p, parent, &who) || read_lxc(p, parent, &who) ||
		     read_machine_scope(p, &who) || read_vm(p, parent, &who)))
			who.owner_len = end;
		if (who.pod_uid[0] == '\0')
			read_pod(p, &who);
		if (who.unit[0] == '\0' && is_unit(p))
			copy(p, who.unit, sizeof(who.unit));
		if (slice.len == 0 && ends_with(p, ".slice"))
			slice = p;
	}
	if (who.unit[0] == '\0')
		copy(slice, who.unit, sizeof(who.unit));
	*out = who;
}
