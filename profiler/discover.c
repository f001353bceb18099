/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/discover.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "profiler/cpu_identity.h"
#include "profiler/cpuinfo.h"
#include "profiler/name.h"
#include "profiler/spec.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* /proc/cpuinfo has about 1.5 KiB for each CPU. */
#define CPUINFO_MAX (64u << 20)
#define MEMINFO_MAX (1u << 20)
#define SMBIOS "firmware/dmi/entries/4-0/raw"
#define SYSTEM_VENDOR "class/dmi/id/sys_vendor"
#define SMBIOS_MAX 65536
#define KIB_A_GIB (1u << 20)
#define CPU_DIR "devices/system/cpu"
#define CPU_MAX 65535
#define CPU_LIST_MAX 65536
#define FIGURE_BYTES 4096
#define CHIPS_MAX 4096
#define KHZ_MAX 1000000000u

/* Read root/name. *data is NULL if the file is missing or not readable. */
static int read_if_there(const char *root, const char *name, size_t max, char **data,
			 size_t *len, struct tw_err *err)
{
	struct tw_err why = { 0 };
	char *path = NULL;
	int rc = -1;

	*data = NULL;
	*len = 0;
	if (tw_path_join(&path, err, root, name, NULL) < 0)
		goto out;
	if (tw_file_read(path, max, data, len, &why) < 0 && why.code != TW_NOTFOUND &&
	    why.code != TW_DENIED) {
		tw_fail(err, why.code, "%s", why.text);
		goto out;
	}

	rc = 0;
out:
	free(path);
	return rc;
}

/* ---- the CPUs ---- */

struct cpus {
	uint32_t cores; /* logical CPUs, online or not */
	/* Count of the online CPUs; 0 is unknown. */
	uint32_t chips;
	uint32_t threads_per_core;
	uint32_t frequency_mhz; /* highest of all CPUs' maximum frequencies */
};

struct walk {
	struct cpus cpus;
	uint32_t chips[CHIPS_MAX]; /* package ids that the firmware assigned */
};

/* Read a CPU number at *s and advance *s. False without a number up to CPU_MAX. */
static bool take_cpu(const char **s, uint32_t *out)
{
	uint32_t v = 0;
	const char *p = *s;

	while (*p >= '0' && *p <= '9' && v <= CPU_MAX)
		v = v * 10 + (uint32_t)(*p++ - '0');
	if (p == *s || v > CPU_MAX)
		return false;
	*s = p;
	*out = v;
	return true;
}

/* Number of CPUs in a list: 7 in "0-3,5,7-8". 0 unless the list is ascending. */
static uint32_t count_cpus(const char *s)
{
	uint32_t first, last, next = 0, count = 0;

	for (;;) {
		if (!take_cpu(&s, &first))
			return 0;
		last = first;
		if (*s == '-' && (s++, !take_cpu(&s, &last)))
			return 0;
		if (first < next || last < first)
			return 0;
		count += last - first + 1;
		next = last + 1;
		if (*s != ',')
			break;
		s++;
	}
	return *s == '\0' || strcmp(s, "\n") == 0 ? count : 0;
}

int tw_cores_discover(const char *sys, uint32_t *out, struct tw_err *err)
{
	char *path = NULL, *text = NULL;
	uint32_t count;
	size_t len;
	int rc = -1;

	if (tw_path_join(&path, err, sys, CPU_DIR "/present", NULL) < 0)
		goto out;
	if (tw_file_read(path, CPU_LIST_MAX, &text, &len, err) < 0)
		goto out;
	count = strlen(text) == len ? count_cpus(text) : 0;
	if (count == 0) {
		tw_fail(err, TW_PARSE, "'%s': '%.*s' is not a list of CPUs", path,
			(int)strcspn(text, "\n"), text);
		goto out;
	}

	*out = count;
	rc = 0;
out:
	free(text);
	free(path);
	return rc;
}

static int add_chip(struct walk *w, uint32_t number, struct tw_err *err)
{
	for (uint32_t i = 0; i < w->cpus.chips; i++)
		if (w->chips[i] == number)
			return 0;
	if (w->cpus.chips >= CHIPS_MAX)
		return tw_fail(err, TW_INVALID, "more than %d chips", CHIPS_MAX);
	w->chips[w->cpus.chips++] = number;
	return 0;
}

static int take_chip(struct walk *w, const char *text, struct tw_err *err)
{
	uint32_t number;

	/* -1: the firmware does not report packages. Count one. */
	if (strcmp(text, "-1") == 0)
		return add_chip(w, UINT32_MAX, err);
	if (tw_parse_u32(text, 0, UINT32_MAX - 1, &number, err) < 0)
		return -1;
	return add_chip(w, number, err);
}

static int take_siblings(struct walk *w, const char *text, struct tw_err *err)
{
	const uint32_t count = count_cpus(text);

	if (count == 0)
		return tw_fail(err, TW_PARSE, "'%.40s' is not a list of CPUs", text);
	if (count > w->cpus.threads_per_core)
		w->cpus.threads_per_core = count;
	return 0;
}

static int take_frequency(struct walk *w, const char *text, struct tw_err *err)
{
	uint32_t khz;

	if (tw_parse_u32(text, 0, KHZ_MAX, &khz, err) < 0)
		return -1;
	if ((khz + 500) / 1000 > w->cpus.frequency_mhz)
		w->cpus.frequency_mhz = (khz + 500) / 1000;
	return 0;
}

static const struct {
	const char *name;
	int (*take)(struct walk *w, const char *text, struct tw_err *err);
} files[] = {
	{ "topology/physical_package_id", take_chip },
	{ "topology/thread_siblings_list", take_siblings },
	{ "cpufreq/cpuinfo_max_freq", take_frequency },
};

static int take_cpu_dir(struct walk *w, const char *sys, const char *cpu,
			struct tw_err *err)
{
	for (size_t i = 0; i < TW_COUNT(files); i++) {
		char path[512], *text;
		size_t len;
		int failed;

		snprintf(path, sizeof(path), CPU_DIR "/%.255s/%s", cpu, files[i].name);
		if (read_if_there(sys, path, FIGURE_BYTES, &text, &len, err) < 0)
			return -1;
		if (text != NULL)
			text[strcspn(text, "\n")] = '\0';
		failed = text != NULL && files[i].take(w, text, err) < 0;
		free(text);
		if (failed)
			return tw_err_wrap(err, "'%s/%s'", sys, path);
	}
	return 0;
}

static bool is_cpu(const char *name)
{
	return strncmp(name, "cpu", 3) == 0 && name[3] != '\0' &&
	       name[3 + strspn(name + 3, "0123456789")] == '\0';
}

/*
 * All attributes, from <sys>/devices/system/cpu/cpu<n>/{topology,cpufreq}. A missing file
 * leaves its attribute unknown; a malformed file is an error.
 */
static int find_cpus(const char *sys, struct cpus *out, struct tw_err *err)
{
	struct walk *w = calloc(1, sizeof(*w));
	char *path = NULL;
	const struct dirent *e;
	DIR *dir = NULL;
	int rc = -1;

	if (w == NULL) {
		tw_fail(err, TW_NOMEM, "CPUs");
		goto out;
	}
	if (tw_cores_discover(sys, &w->cpus.cores, err) < 0 ||
	    tw_path_join(&path, err, sys, CPU_DIR, NULL) < 0)
		goto out;
	dir = opendir(path);
	if (dir == NULL) {
		tw_fail_errno(err, errno, "cannot read '%s'", path);
		goto out;
	}
	while ((e = readdir(dir)) != NULL)
		if (is_cpu(e->d_name) && take_cpu_dir(w, sys, e->d_name, err) < 0)
			goto out;

	*out = w->cpus;
	rc = 0;
out:
	if (dir != NULL)
		closedir(dir);
	free(path);
	free(w);
	return rc;
}

/* ---- the spec ---- */

/* *out is all zero if the file is missing. */
static int read_cpuinfo(const char *proc, struct tw_cpuinfo *out, struct tw_err *err)
{
	char *data;
	size_t len;

	*out = (struct tw_cpuinfo){ 0 };
	if (read_if_there(proc, "cpuinfo", CPUINFO_MAX, &data, &len, err) < 0)
		return -1;
	if (data != NULL)
		tw_cpuinfo_parse(data, len, out);
	free(data);
	return 0;
}

/*
 * A hypervisor may hide the product: "AMD EPYC Processor", "DO-Regular". The signature
 * still tells the generation, so that "amd_epyc" becomes "amd_epyc_genoa" and
 * "do_regular" "intel_do_regular_skylake_sp". A hypervisor's own model tells it, too:
 * "Intel Xeon Processor (Skylake, IBRS)".
 */
static void add_generation(const struct tw_cpuinfo *info, char name[TW_SPEC_TEXT])
{
	struct tw_cpu_identity id, kept;
	const size_t len = strlen(name);
	char text[2 * TW_SPEC_TEXT];
	const char *vendor = "";
	int n;

	tw_cpu_identify(info->brand, strlen(info->brand), &info->signature, &id);
	tw_cpu_identify(name, len, NULL, &kept);
	if (len == 0 || id.generation[0] == '\0' || kept.generation[0] != '\0' ||
	    kept.cores > 0)
		return;
	/* Arm's cores are named by a table. */
	if (info->signature.implementer == 0 &&
	    strncmp(name, id.vendor, strlen(id.vendor)) != 0)
		vendor = id.vendor;
	n = snprintf(text, sizeof(text), "%s%s%s_%s", vendor,
		     vendor[0] != '\0' ? "_" : "", name, id.generation);
	if (n < TW_SPEC_TEXT)
		memcpy(name, text, (size_t)n + 1);
}

#define ARM 0x41
#define DMI_MAX 4096

/*
 * Clouds' processors with Arm's cores, which /proc/cpuinfo shows alone, by the cloud's
 * text in DMI: the vendors' descriptions of their instance types.
 */
static const struct {
	const char *cloud;
	uint32_t part;
	const char *processor;
} clouds[] = {
	{ "Alibaba Cloud", 0xd0c, "ampere_altra" },
	{ "Alibaba Cloud", 0xd49, "yitian_710" },
	{ "Amazon EC2", 0xd08, "aws_graviton" },
	{ "Amazon EC2", 0xd0c, "aws_graviton2" },
	{ "Amazon EC2", 0xd40, "aws_graviton3" },
	{ "Amazon EC2", 0xd4f, "aws_graviton4" },
	{ "Amazon EC2", 0xd84, "aws_graviton5" },
	{ "Google", 0xd0c, "ampere_altra" },
	{ "Google", 0xd4f, "google_axion" },
	{ "Hetzner", 0xd0c, "ampere_altra" },
	{ "Microsoft Corporation", 0xd0c, "ampere_altra" },
	{ "Microsoft Corporation", 0xd49, "cobalt_100" },
	{ "OracleCloud.com", 0xd0c, "ampere_altra" },
};

/* *out is NULL if the processor is of no cloud of the table. */
static int find_cloud(const char *sys, const struct tw_cpu_signature *sig,
		      const char **out, struct tw_err *err)
{
	static const char *const dmi[] = { SYSTEM_VENDOR,
					   "class/dmi/id/chassis_asset_tag" };

	*out = NULL;
	for (size_t f = 0; sig->implementer == ARM && f < TW_COUNT(dmi); f++) {
		char *text;
		size_t len;

		if (read_if_there(sys, dmi[f], DMI_MAX, &text, &len, err) < 0)
			return -1;
		if (text != NULL)
			text[strcspn(text, "\n")] = '\0';
		for (size_t i = 0; text != NULL && i < TW_COUNT(clouds); i++)
			if (clouds[i].part == sig->part &&
			    strcmp(clouds[i].cloud, text) == 0)
				*out = clouds[i].processor;
		free(text);
	}
	return 0;
}

static int take_cpuinfo(const char *proc, const char *sys, struct tw_machine_spec *s,
			struct tw_err *err)
{
	struct tw_cpuinfo info;
	const char *cloud;

	if (read_cpuinfo(proc, &info, err) < 0 ||
	    find_cloud(sys, &info.signature, &cloud, err) < 0)
		return -1;
	if (cloud != NULL)
		tw_processor_name(cloud, strlen(cloud), info.processor);
	memcpy(s->vendor, info.vendor, sizeof(s->vendor));
	memcpy(s->processor, info.processor, sizeof(s->processor));
	add_generation(&info, s->processor);
	s->frequency_mhz = info.frequency_mhz;
	s->cores = info.cpus;
	s->chips = info.chips;
	s->threads_per_core = info.threads_per_core;
	return 0;
}

/*
 * Take the processor's name from SMBIOS if /proc/cpuinfo has none: an Arm processor that
 * is not in our table. Otherwise do not read it: only root can, and root and an
 * unprivileged daemon must find the same name.
 */
static int take_smbios(const char *sys, struct tw_machine_spec *s, struct tw_err *err)
{
	struct tw_smbios_processor p;
	char *data;
	size_t len;

	if (s->vendor[0] != '\0' && s->processor[0] != '\0')
		return 0;
	if (read_if_there(sys, SMBIOS, SMBIOS_MAX, &data, &len, err) < 0)
		return -1;
	if (data != NULL && tw_smbios_processor_parse(data, len, &p)) {
		if (s->processor[0] == '\0')
			tw_processor_name(p.version, p.version_len, s->processor);
		if (s->vendor[0] == '\0')
			tw_vendor_name(p.vendor, p.vendor_len, s->vendor);
	}
	free(data);
	return 0;
}

static int take_cpus(const char *sys, struct tw_machine_spec *s, struct tw_err *err)
{
	struct tw_err why = { 0 };
	struct cpus cpus = { 0 };

	if (find_cpus(sys, &cpus, &why) < 0 && why.code != TW_NOTFOUND)
		return tw_fail(err, why.code, "%s", why.text);
	/* /proc/cpuinfo has only CPUs that are online. */
	if (cpus.cores != 0)
		s->cores = cpus.cores;
	if (cpus.chips != 0)
		s->chips = cpus.chips;
	if (cpus.threads_per_core != 0)
		s->threads_per_core = cpus.threads_per_core;
	/* Prefer the maximum frequency to the current one of /proc/cpuinfo. */
	if (cpus.frequency_mhz != 0)
		s->frequency_mhz = cpus.frequency_mhz;
	return 0;
}

/* Read "MemTotal:       24684092 kB", rounded down to GiB. False without such a line. */
static bool read_total(const char *data, uint32_t *gib)
{
	static const char key[] = "MemTotal:";
	const char *at = strstr(data, key);
	double kib;
	size_t len;

	if (at == NULL || (at != data && at[-1] != '\n'))
		return false;
	at += strlen(key);
	at += strspn(at, " \t");
	len = strcspn(at, " \n");
	if (!tw_parse_double(at, len, &kib) || strncmp(at + len, " kB", 3) != 0 ||
	    !(kib >= 0 && kib / KIB_A_GIB < 1e9))
		return false;
	*gib = (uint32_t)(kib / KIB_A_GIB);
	return true;
}

static int take_memory(const char *proc, struct tw_machine_spec *s, struct tw_err *err)
{
	char *data;
	size_t len;
	bool ok;

	if (read_if_there(proc, "meminfo", MEMINFO_MAX, &data, &len, err) < 0)
		return -1;
	ok = data == NULL || read_total(data, &s->memory_gib);
	free(data);
	return ok ? 0
		  : tw_fail(err, TW_PARSE, "'%s/meminfo': no line 'MemTotal: N kB'",
			    proc);
}

/* Every user can read it, unlike the rest of SMBIOS. */
static int take_system_vendor(const char *sys, struct tw_machine_spec *s,
			      struct tw_err *err)
{
	char *data;
	size_t len;

	if (read_if_there(sys, SYSTEM_VENDOR, DMI_MAX, &data, &len, err) < 0)
		return -1;
	if (data != NULL)
		tw_vendor_name(data, len, s->system_vendor);
	free(data);
	return 0;
}

int tw_machine_spec_discover(const char *proc, const char *sys,
			     struct tw_machine_spec *out, struct tw_err *err)
{
	struct tw_machine_spec s = { 0 };

	if (take_cpuinfo(proc, sys, &s, err) < 0 || take_cpus(sys, &s, err) < 0 ||
	    take_memory(proc, &s, err) < 0 || take_smbios(sys, &s, err) < 0 ||
	    take_system_vendor(sys, &s, err) < 0)
		return -1;
	if (!tw_machine_spec_known(&s))
		return tw_fail(err, TW_NOTFOUND,
			       "'%s' and '%s' have no file that describes the machine",
			       proc, sys);
	*out = s;
	return 0;
}

int tw_cpu_discover(const char *proc, const char *sys, struct tw_cpu_identity *out,
		    struct tw_err *err)
{
	struct tw_smbios_processor p;
	struct tw_cpuinfo info;
	const char *cloud;
	char *data = NULL;
	size_t len;

	if (read_cpuinfo(proc, &info, err) < 0 ||
	    find_cloud(sys, &info.signature, &cloud, err) < 0)
		return -1;
	/* arm64 prints no brand. */
	if (info.brand[0] == '\0' &&
	    read_if_there(sys, SMBIOS, SMBIOS_MAX, &data, &len, err) < 0)
		return -1;
	if (data != NULL && tw_smbios_processor_parse(data, len, &p) && p.version_len > 0)
		tw_cpu_identify(p.version, p.version_len, &info.signature, out);
	else if (cloud != NULL)
		tw_cpu_identify(cloud, strlen(cloud), &info.signature, out);
	else
		tw_cpu_identify(info.brand, strlen(info.brand), &info.signature, out);
	free(data);
	return 0;
}
