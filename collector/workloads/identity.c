/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/workloads/identity.h"

#include "lib/core/array.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define CONTAINER_ID 64

/* Text that is not NUL-terminated: an element of a path, or an argument. */
struct text {
	const char *at;
	size_t len;
};

static bool starts_with(struct text p, const char *text)
{
	return p.len >= strlen(text) && memcmp(p.at, text, strlen(text)) == 0;
}

static bool ends_with(struct text p, const char *text)
{
	const size_t n = strlen(text);

	return p.len >= n && memcmp(p.at + p.len - n, text, n) == 0;
}

static bool equals(struct text p, const char *text)
{
	return p.len == strlen(text) && starts_with(p, text);
}

static bool contains(struct text p, const char *text)
{
	return memmem(p.at, p.len, text, strlen(text)) != NULL;
}

static struct text without_end(struct text p, const char *end)
{
	if (ends_with(p, end))
		p.len -= strlen(end);
	return p;
}

static struct text skip(struct text p, size_t n)
{
	return (struct text){ p.at + n, p.len - n };
}

/*
 * Copy printable ASCII; false, with out unchanged, for text that is empty, too long or
 * not printable.
 */
static bool copy(struct text p, char *out, size_t size)
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

static bool all_hex(struct text p)
{
	for (size_t i = 0; i < p.len; i++)
		if (hex_digit(p.at[i]) < 0)
			return false;
	return true;
}

/* Undo systemd's escapes of unit names: "a\x2db" is "a-b". */
static bool copy_unescaped(struct text p, char *out, size_t size)
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
	return n < sizeof(text) && copy((struct text){ text, n }, out, size);
}

/* ---- paths ---- */

/* The element of a path that ends at end; elements begin behind a slash. */
static struct text last_element(const char *path, size_t end)
{
	const char *slash = memrchr(path, '/', end);
	const size_t begin = slash != NULL ? (size_t)(slash - path) + 1 : 0;

	return (struct text){ path + begin, end - begin };
}

static size_t parent_end(const char *path, struct text p)
{
	return p.at > path ? (size_t)(p.at - path) - 1 : 0;
}

/* ---- containers ---- */

/* Runtimes by the text before the id; the first match counts. */
static const struct {
	const char *text, *runtime;
} runtimes[] = {
	{ "containerd", "containerd" }, { "nerdctl", "containerd" },
	{ "docker", "docker" },         { "crio", "crio" },
	{ "libpod", "podman" },         { "kata", "kata" },
};

static const char *find_runtime(struct text p)
{
	for (size_t i = 0; i < TW_COUNT(runtimes); i++)
		if (contains(p, runtimes[i].text))
			return runtimes[i].runtime;
	return NULL;
}

/*
 * 64 hex digits at the end, alone or after a runtime's name and one of "-:_". Podman's
 * conmon is the monitor of a container, not a container.
 */
static bool read_hex_container(struct text p, struct text parent, struct tw_identity *out)
{
	struct text name = without_end(p, ".scope"), before;

	if (name.len < CONTAINER_ID)
		return false;
	before = (struct text){ name.at, name.len - CONTAINER_ID };
	if (!all_hex(skip(name, before.len)) ||
	    (before.len > 0 && strchr("-:_", before.at[before.len - 1]) == NULL) ||
	    contains(before, "conmon"))
		return false;
	copy(skip(name, before.len), out->id, sizeof(out->id));
	out->kind = TW_OWNER_CONTAINER;
	out->runtime = find_runtime(before.len > 0 ? before : parent);
	return true;
}

/* "/lxc/web", "/lxc.payload/web" and "/lxc.payload.web"; "lxc.monitor" is the monitor. */
static bool read_lxc(struct text p, struct text parent, struct tw_identity *out)
{
	struct text name = p;

	if (starts_with(p, "lxc.payload."))
		name = skip(p, strlen("lxc.payload."));
	else if (!equals(parent, "lxc") && !equals(parent, "lxc.payload"))
		return false;
	if (!copy(name, out->id, sizeof(out->id)))
		return false;
	out->kind = TW_OWNER_CONTAINER;
	out->runtime = "lxc";
	return true;
}

/* ---- virtual machines, and machines of systemd-machined ---- */

/* libvirt writes "3-name" for the third machine since its start. */
static struct text without_number(struct text p)
{
	size_t digits = 0;

	while (digits < p.len && isdigit((unsigned char)p.at[digits]))
		digits++;
	return digits > 0 && digits < p.len && p.at[digits] == '-' ? skip(p, digits + 1)
								   : p;
}

static bool set_vm(struct text name, const char *runtime, struct tw_identity *out)
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

/*
 * Whether only the machine's administrator can have made the element p of a path: above
 * it are slices, partitions of libvirt without systemd, and ".." of a cgroup namespace. A
 * service, a scope or a container may give the cgroups below it to a user, who names them
 * as they like.
 */
static bool is_of_machine(const char *path, struct text p)
{
	struct text above;

	for (size_t end = parent_end(path, p); end > 0; end = parent_end(path, above)) {
		above = last_element(path, end);
		if (equals(above, "user.slice") ||
		    (!ends_with(above, ".slice") && !ends_with(above, ".partition") &&
		     !equals(above, "machine") && !equals(above, "firecracker") &&
		     !equals(above, "..")))
			return false;
	}
	return true;
}

/* Drivers of libvirt, by the begin of the machine's name. */
static const struct {
	const char *text, *runtime;
	bool vm;
} drivers[] = {
	{ "qemu-", "qemu", true },
	{ "ch-", "cloud-hypervisor", true },
	{ "lxc-", "lxc", false },
};

/*
 * Units of systemd-machined: machine-qemu\x2d3\x2dname.scope, machine-lxc\x2d...,
 * machine-name.scope of nspawn; systemd-nspawn@name.service, and container@name.service
 * of NixOS.
 */
static bool read_machine_unit(const char *path, struct text p, struct text parent,
			      struct tw_identity *out)
{
	char text[TW_NAME_TEXT];
	struct text name = { 0 };

	if (starts_with(p, "machine-") && ends_with(p, ".scope"))
		name = without_end(skip(p, 8), ".scope");
	else if (equals(parent, "machine.slice") && ends_with(p, ".service") &&
		 (starts_with(p, "systemd-nspawn@") || starts_with(p, "container@")))
		name = without_end(skip(p, strcspn(p.at, "@") + 1), ".service");
	if (!copy_unescaped(name, text, sizeof(text)))
		return false;
	name = (struct text){ text, strlen(text) };
	out->runtime = "systemd-nspawn";
	for (size_t i = 0; i < TW_COUNT(drivers) && ends_with(p, ".scope"); i++) {
		if (!starts_with(name, drivers[i].text))
			continue;
		name = without_number(skip(name, strlen(drivers[i].text)));
		out->runtime = drivers[i].runtime;
		if (drivers[i].vm && is_of_machine(path, p) &&
		    set_vm(name, out->runtime, out))
			return true;
		if (drivers[i].vm)
			name.len = 0;
		break;
	}
	if (!copy(name, out->id, sizeof(out->id))) {
		out->runtime = NULL;
		return false;
	}
	out->kind = TW_OWNER_CONTAINER;
	return true;
}

/* /machine/qemu-3-name.libvirt-qemu, /qemu.slice/100.scope of Proxmox, /firecracker/id */
static bool read_vm(const char *path, struct text p, struct text parent,
		    struct tw_identity *out)
{
	if (!is_of_machine(path, p))
		return false;
	if (ends_with(p, ".libvirt-qemu")) {
		p = without_end(p, ".libvirt-qemu");
		return set_vm(starts_with(p, "qemu-") ? without_number(skip(p, 5)) : p,
			      "qemu", out);
	}
	if (equals(parent, "qemu.slice") && ends_with(p, ".scope"))
		return set_vm(without_end(p, ".scope"), "qemu", out);
	if (equals(parent, "firecracker"))
		return set_vm(p, "firecracker", out);
	return false;
}

/*
 * Containers of other programs, by the cgroups before them: nomad names an allocation and
 * a task, "ctr run" a name. A task of ECS on Fargate is "/ecs/TASK/TASK-NUMBER".
 */
static const struct {
	const char *before, *runtime;
} places[] = {
	{ "/nomad.slice/share.slice/", "nomad" },
	{ "/nomad.slice/reserve.slice/", "nomad" },
	{ "/nomad/share/", "nomad" },
	{ "/nomad/reserve/", "nomad" },
	{ "/default/", "containerd" },
	{ "/buildkit/", "buildkit" },
};

static bool read_place(const char *path, struct text p, struct text parent,
		       struct tw_identity *out)
{
	const struct text before = { path, (size_t)(p.at - path) };
	const char *runtime = NULL;
	struct text top = p;

	for (size_t i = 0; i < TW_COUNT(places) && runtime == NULL; i++)
		if (ends_with(before, places[i].before)) {
			runtime = places[i].runtime;
			top.at -= strlen(places[i].before) - 1;
		}
	if (parent.len == 32 && all_hex(parent) && p.len > 33 &&
	    memcmp(p.at, parent.at, 32) == 0 && p.at[32] == '-' &&
	    ends_with((struct text){ path, (size_t)(parent.at - path) }, "/ecs/")) {
		runtime = "ecs";
		top.at = parent.at - strlen("ecs/");
	}
	if (runtime == NULL || !is_of_machine(path, top) ||
	    !copy(without_end(p, ".scope"), out->id, sizeof(out->id)))
		return false;
	out->kind = TW_OWNER_CONTAINER;
	out->runtime = runtime;
	return true;
}

/* ---- pods and units ---- */

/* 8-4-4-4-12 hex digits, with '_' for '-' in a slice's name; or 32 of a static pod. */
static void read_uid(struct text p, char out[TW_UID_TEXT])
{
	if (p.len == 32 && all_hex(p))
		copy(p, out, TW_UID_TEXT);
	if (p.len != 36)
		return;
	for (size_t i = 0; i < p.len; i++) {
		const bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? p.at[i] != '-' && p.at[i] != '_' : hex_digit(p.at[i]) < 0)
			return;
	}
	copy(p, out, TW_UID_TEXT);
	for (char *c = strchr(out, '_'); c != NULL; c = strchr(c, '_'))
		*c = '-';
}

/* "pod<uid>", "kubepods-burstable-pod<uid>.slice", "...slice:cri-containerd:<id>" */
static void read_pod(struct text p, struct tw_identity *out)
{
	const char *colon = memchr(p.at, ':', p.len);

	if (colon != NULL)
		p.len = (size_t)(colon - p.at);
	p = without_end(p, ".slice");
	if (starts_with(p, "pod")) {
		read_uid(skip(p, 3), out->pod_uid);
		return;
	}
	for (size_t n = 36; n >= 32; n -= 4)
		if (p.len > n + 4 && memcmp(p.at + p.len - n - 4, "-pod", 4) == 0)
			read_uid(skip(p, p.len - n), out->pod_uid);
}

static bool is_unit(struct text p)
{
	return ends_with(p, ".service") || ends_with(p, ".scope") ||
	       ends_with(p, ".socket") || ends_with(p, ".mount") || ends_with(p, ".swap");
}

/* ---- jobs of Slurm ---- */

/* False, with *out unchanged, unless p is the prefix and a number. */
static bool read_number(struct text p, const char *prefix, char out[TW_JOB_TEXT])
{
	const size_t n = strlen(prefix);

	if (!starts_with(p, prefix))
		return false;
	for (size_t i = n; i < p.len; i++)
		if (!isdigit((unsigned char)p.at[i]))
			return false;
	return copy(skip(p, n), out, TW_JOB_TEXT);
}

/* Slurm 26.05 and later name a job by "s" and 13 digits of base 32. */
static bool read_sluid(struct text p, struct text parent, char out[TW_JOB_TEXT])
{
	if (p.len != 14 || !ends_with(parent, "slurmstepd.scope") || p.at[0] != 's')
		return false;
	for (size_t i = 1; i < p.len; i++)
		if (!isdigit((unsigned char)p.at[i]) && !isupper((unsigned char)p.at[i]))
			return false;
	return copy(p, out, TW_JOB_TEXT);
}

/*
 * slurm/uid_1000/job_12/step_0/task_0 (v1),
 * slurmstepd.scope/job_12/step_batch/user/task_0 (v2), or with a SLUID for job_12. p is
 * an element of path[0..len) and parent the element before it.
 */
static void read_job(const char *path, size_t len, struct text p, struct text parent,
		     struct tw_identity *out)
{
	const struct text before = { path, (size_t)(p.at - path) };
	struct text step = { p.at + p.len, len - before.len - p.len };
	size_t n = 0;

	if (!contains(before, "slurm") ||
	    (!read_number(p, "job_", out->job) && !read_sluid(p, parent, out->job)))
		return;
	read_number(parent, "uid_", out->user);
	if (!starts_with(step, "/step_"))
		return;
	step = skip(step, strlen("/step_"));
	while (n < step.len && isalnum((unsigned char)step.at[n]))
		n++;
	if (n > 0 && (n == step.len || step.at[n] == '/') &&
	    n + strlen(out->job) + 2 <= TW_STEP_TEXT)
		snprintf(out->step, sizeof(out->step), "%s.%.*s", out->job, (int)n,
			 step.at);
}

void tw_identity_of_path(const char *path, size_t len, struct tw_identity *out)
{
	struct text slice = { 0 }, p;
	struct tw_identity who = { 0 };

	for (size_t end = len; end > 0; end = parent_end(path, p)) {
		struct text parent;

		p = last_element(path, end);
		parent = last_element(path, parent_end(path, p));
		if (who.kind == TW_OWNER_NONE &&
		    (read_hex_container(p, parent, &who) || read_lxc(p, parent, &who) ||
		     read_machine_unit(path, p, parent, &who) ||
		     read_vm(path, p, parent, &who) || read_place(path, p, parent, &who)))
			who.owner_len = end;
		if (who.pod_uid[0] == '\0')
			read_pod(p, &who);
		if (who.job[0] == '\0')
			read_job(path, len, p, parent, &who);
		if (who.unit[0] == '\0' && is_unit(p))
			copy(p, who.unit, sizeof(who.unit));
		if (slice.len == 0 && ends_with(p, ".slice"))
			slice = p;
	}
	if (who.unit[0] == '\0')
		copy(slice, who.unit, sizeof(who.unit));
	*out = who;
}

/* ---- virtual machines by their command lines ---- */

/* Take the next of NUL-terminated arguments; `at` is NULL at the end. */
static struct text next(struct text *args)
{
	const char *nul = args->len > 0 ? memchr(args->at, '\0', args->len) : NULL;
	struct text arg = { args->len > 0 ? args->at : NULL, args->len };

	if (nul != NULL)
		arg.len = (size_t)(nul - args->at);
	*args = skip(*args, arg.len + (nul != NULL));
	return arg;
}

static struct text file_name(struct text path)
{
	const char *slash = memrchr(path.at, '/', path.len);

	return slash != NULL ? skip(path, (size_t)(slash + 1 - path.at)) : path;
}

/*
 * The value of an option: "-name x", "--name x" or "--name=x". False if arg is another
 * one.
 */
static bool value_of(struct text *args, struct text arg, const char *option,
		     struct text *value)
{
	const size_t n = strlen(option);

	if (!starts_with(arg, "-"))
		return false;
	arg = skip(arg, starts_with(arg, "--") ? 2 : 1);
	if (equals(arg, option)) {
		*value = next(args);
		return value->at != NULL;
	}
	/* A text as long as the option would be equal to it. */
	if (!starts_with(arg, option) || arg.at[n] != '=')
		return false;
	*value = skip(arg, n + 1);
	return true;
}

static void take_id(struct text value, struct tw_identity *out)
{
	copy(value, out->id, sizeof(out->id));
}

static void take_name(struct text value, struct tw_identity *out)
{
	copy(value, out->name, sizeof(out->name));
}

/* The name of "guest=web,debug-threads=on" and of "web,process=x" is web. */
static void take_qemu_name(struct text value, struct tw_identity *out)
{
	const char *comma;

	if (starts_with(value, "guest="))
		value = skip(value, 6);
	comma = memchr(value.at, ',', value.len);
	if (comma != NULL)
		value.len = (size_t)(comma - value.at);
	take_name(value, out);
}

/*
 * The uuid of "type=1,manufacturer=a,,b,uuid=U", as Proxmox gives it. Two commas are a
 * comma of a value.
 */
static void take_smbios(struct text list, struct tw_identity *out)
{
	bool system = false;
	struct text uuid = { 0 };

	while (list.len > 0) {
		size_t n = 0;

		while (n < list.len &&
		       (list.at[n] != ',' || (n + 1 < list.len && list.at[n + 1] == ',')))
			n += list.at[n] == ',' ? 2 : 1;
		if (equals((struct text){ list.at, n }, "type=1"))
			system = true;
		else if (starts_with((struct text){ list.at, n }, "uuid="))
			uuid = (struct text){ list.at + 5, n - 5 };
		list = skip(list, n < list.len ? n + 1 : n);
	}
	if (system)
		copy(uuid, out->id, sizeof(out->id));
}

static void take_xen(struct text value, struct tw_identity *out)
{
	(void)value;
	out->runtime = "xen";
}

/* The last operand is the configuration file: /vm/web/web.vmx. */
static void take_vmx(struct text arg, struct tw_identity *out)
{
	if (ends_with(arg, ".vmx"))
		take_name(without_end(file_name(arg), ".vmx"), out);
}

/*
 * The VM has no name: use the file name of its API socket, without suffix; of
 * "/run/vc/vm/ID/clh-api.sock", which each VM has, that of the directory.
 */
static void take_socket(struct text value, struct tw_identity *out)
{
	struct text file, dir;
	const char *dot;

	if (starts_with(value, "path="))
		value = skip(value, 5);
	file = file_name(value);
	dir = (struct text){ value.at, (size_t)(file.at - value.at) };
	value = file;
	if (dir.len > 1 && (starts_with(file, "api") || starts_with(file, "clh-api") ||
			    starts_with(file, "cloud-hypervisor"))) {
		dir.len--;
		take_name(file_name(dir), out);
		return;
	}
	dot = memrchr(value.at, '.', value.len);
	if (dot != NULL)
		value.len = (size_t)(dot - value.at);
	take_name(value, out);
}

/* The options that identify a VM, by runtime; name NULL: each argument is looked at. */
static const struct {
	const char *runtime, *name;
	void (*take)(struct text value, struct tw_identity *out);
} options[] = {
	{ "qemu", "uuid", take_id },
	{ "qemu", "name", take_qemu_name },
	{ "qemu", "smbios", take_smbios },
	{ "qemu", "xen-domid", take_xen },
	{ "virtualbox", "startvm", take_id },
	{ "virtualbox", "comment", take_name },
	{ "vmware", NULL, take_vmx },
	{ "firecracker", "id", take_id },
	{ "cloud-hypervisor", "api-socket", take_socket },
};

static void read_arguments(struct text args, const char *runtime, struct tw_identity *out)
{
	struct text arg;

	out->runtime = runtime;
	while ((arg = next(&args)).at != NULL) {
		struct text value = arg;

		for (size_t i = 0; i < TW_COUNT(options); i++)
			if (strcmp(options[i].runtime, runtime) == 0 &&
			    (options[i].name == NULL ||
			     value_of(&args, arg, options[i].name, &value))) {
				options[i].take(value, out);
				break;
			}
	}
}

/*
 * Hypervisors by file name; a '*' at the end matches any rest. Distributions rename the
 * programs of qemu.
 */
static const struct {
	const char *program, *runtime;
} hypervisors[] = {
	{ "qemu-system-*", "qemu" },
	{ "qemu-kvm", "qemu" },
	{ "kvm", "qemu" },
	{ "qemu-dm", "qemu" },
	{ "VBoxHeadless", "virtualbox" },
	{ "VirtualBoxVM", "virtualbox" },
	{ "VirtualBox", "virtualbox" },
	{ "vmware-vmx", "vmware" },
	{ "vmware-vmx-debug", "vmware" },
	{ "firecracker", "firecracker" },
	{ "cloud-hypervisor", "cloud-hypervisor" },
};

static bool is_program(struct text name, const char *pattern)
{
	const size_t n = strlen(pattern);

	if (pattern[n - 1] == '*')
		return name.len >= n && memcmp(name.at, pattern, n - 1) == 0;
	return equals(name, pattern);
}

bool tw_identity_of_command(const char *args, size_t len, struct tw_identity *out)
{
	struct text rest = { args, len }, program = next(&rest);
	struct tw_identity who = { .kind = TW_OWNER_VM };

	if (program.at == NULL)
		return false;
	program = file_name(program);
	for (size_t i = 0; i < TW_COUNT(hypervisors); i++) {
		if (!is_program(program, hypervisors[i].program))
			continue;
		read_arguments(rest, hypervisors[i].runtime, &who);
		/* VirtualBox without --startvm is the manager window, not a VM. */
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
