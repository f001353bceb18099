/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual machines by their command lines. */
#include "collector/workloads/identity.h"

#include <ctype.h>
#include <string.h>

/* Arguments one after the other. */
struct args {
	const char *at, *end;
};

/* The next argument, and its length; NULL at the end. */
static const char *next(struct args *a, size_t *len)
{
	const char *arg = a->at, *nul;

	if (arg >= a->end)
		return NULL;
	nul = memchr(arg, '\0', (size_t)(a->end - arg));
	nul = nul != NULL ? nul : a->end;
	a->at = nul < a->end ? nul + 1 : a->end;
	*len = (size_t)(nul - arg);
	return arg;
}

static bool same(const char *arg, size_t len, const char *text)
{
	return len == strlen(text) && memcmp(arg, text, len) == 0;
}

static void copy(const char *text, size_t len, char *out, size_t size)
{
	if (len == 0 || len >= size)
		return;
	for (size_t i = 0; i < len; i++)
		if (!isascii((unsigned char)text[i]) || !isprint((unsigned char)text[i]))
			return;
	memcpy(out, text, len);
	out[len] = '\0';
}

/* What follows an option, as "-name x", "--name x" or "--name=x". False if this is not
 * it. */
static bool value_of(struct args *a, const char *arg, size_t len, const char *option,
		     const char **value, size_t *value_len)
{
	const size_t n = strlen(option);

	if (len == 0 || arg[0] != '-')
		return false;
	arg++;
	len--;
	if (len > 0 && arg[0] == '-') {
		arg++;
		len--;
	}
	if (same(arg, len, option)) {
		*value = next(a, value_len);
		return *value != NULL;
	}
	if (len <= n || memcmp(arg, option, n) != 0 || arg[n] != '=')
		return false;
	*value = arg + n + 1;
	*value_len = len - n - 1;
	return true;
}

/* "guest=web,debug-threads=on" and "web,process=x" are web. */
static void copy_qemu_name(const char *text, size_t len, struct tw_identity *out)
{
	const char *comma;

	if (len > 6 && memcmp(text, "guest=", 6) == 0) {
		text += 6;
		len -= 6;
	}
	comma = memchr(text, ',', len);
	copy(text, comma != NULL ? (size_t)(comma - text) : len, out->name,
	     sizeof(out->name));
}

/* One that the qemu-system programs and their names in distributions have in common. */
static void read_qemu(struct args a, struct tw_identity *out)
{
	const char *arg, *value;
	size_t len, n;

	out->runtime = "qemu";
	while ((arg = next(&a, &len)) != NULL) {
		if (value_of(&a, arg, len, "uuid", &value, &n))
			copy(value, n, out->id, sizeof(out->id));
		else if (value_of(&a, arg, len, "name", &value, &n))
			copy_qemu_name(value, n, out);
		else if (value_of(&a, arg, len, "xen-domid", &value, &n))
			out->runtime = "xen";
	}
}

static void read_virtualbox(struct args a, struct tw_identity *out)
{
	const char *arg, *value;
	size_t len, n;

	out->runtime = "virtualbox";
	while ((arg = next(&a, &len)) != NULL) {
		if (value_of(&a, arg, len, "startvm", &value, &n))
			copy(value, n, out->id, sizeof(out->id));
		else if (value_of(&a, arg, len, "comment", &value, &n))
			copy(value, n, out->name, sizeof(out->name));
	}
}

/* The configuration file is its last operand: /vm/web/web.vmx. */
static void read_vmware(struct args a, struct tw_identity *out)
{
	const char *arg, *slash;
	size_t len;

	out->runtime = "vmware";
	while ((arg = next(&a, &len)) != NULL) {
		if (len <= 4 || memcmp(arg + len - 4, ".vmx", 4) != 0)
			continue;
		slash = memrchr(arg, '/', len);
		slash = slash != NULL ? slash + 1 : arg;
		copy(slash, (size_t)(arg + len - 4 - slash), out->name,
		     sizeof(out->name));
	}
}

static void read_firecracker(struct args a, struct tw_identity *out)
{
	const char *arg, *value;
	size_t len, n;

	out->runtime = "firecracker";
	while ((arg = next(&a, &len)) != NULL)
		if (value_of(&a, arg, len, "id", &value, &n))
			copy(value, n, out->id, sizeof(out->id));
}

/* It has no name but its socket's or its disk's: the file's, without folder and end. */
static void read_cloud_hypervisor(struct args a, struct tw_identity *out)
{
	const char *arg, *value, *slash, *dot;
	size_t len, n;

	out->runtime = "cloud-hypervisor";
	while ((arg = next(&a, &len)) != NULL) {
		if (!value_of(&a, arg, len, "api-socket", &value, &n))
			continue;
		if (n > 5 && memcmp(value, "path=", 5) == 0) {
			value += 5;
			n -= 5;
		}
		slash = memrchr(value, '/', n);
		if (slash != NULL) {
			n -= (size_t)(slash + 1 - value);
			value = slash + 1;
		}
		dot = memrchr(value, '.', n);
		copy(value, dot != NULL ? (size_t)(dot - value) : n, out->name,
		     sizeof(out->name));
	}
}

/* By the program's name without its folder; a '*' at the end stands for anything. */
static const struct {
	const char *program;
	void (*read)(struct args a, struct tw_identity *out);
} hypervisors[] = {
	{ "qemu-system-*", read_qemu },
	{ "qemu-kvm", read_qemu },
	{ "kvm", read_qemu },
	{ "qemu-dm", read_qemu },
	{ "VBoxHeadless", read_virtualbox },
	{ "VirtualBoxVM", read_virtualbox },
	{ "VirtualBox", read_virtualbox },
	{ "vmware-vmx", read_vmware },
	{ "vmware-vmx-debug", read_vmware },
	{ "firecracker", read_firecracker },
	{ "cloud-hypervisor", read_cloud_hypervisor },
};

static bool is_program(const char *name, size_t len, const char *pattern)
{
	const size_t n = strlen(pattern);

	if (pattern[n - 1] == '*')
		return len >= n && memcmp(name, pattern, n - 1) == 0;
	return same(name, len, pattern);
}

bool tw_identity_of_command(const char *args, size_t len, struct tw_identity *out)
{
	struct args a = { args, args + len };
	struct tw_identity who = { .kind = TW_OWNER_VM };
	size_t program_len;
	const char *program = next(&a, &program_len), *slash;

	if (program == NULL)
		return false;
	slash = memrchr(program, '/', program_len);
	if (slash != NULL) {
		program_len -= (size_t)(slash + 1 - program);
		program = slash + 1;
	}
	for (size_t i = 0; i < sizeof(hypervisors) / sizeof(hypervisors[0]); i++) {
		if (!is_program(program, program_len, hypervisors[i].program))
			continue;
		hypervisors[i].read(a, &who);
		/* VirtualBox's window for all machines is none itself. */
		if (who.id[0] == '\0' &&
		    strcmp(hypervisors[i].program, "VirtualBox") == 0)
			return false;
		if (who.id[0] == '\0' && strlen(who.name) < sizeof(who.id))
			strcpy(who.id, who.name);
		*out = who;
		return true;
	}
	return false;
}
