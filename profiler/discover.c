/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/discover.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "profiler/cpu_identity.h"
#include "profiler/cpuinfo.h"
#include "profiler/cpus.h"
#include "profiler/name.h"
#include "profiler/smbios.h"
#include "profiler/spec.h"

#include <stdlib.h>
#include <string.h>

/* /proc/cpuinfo has about 1.5 KiB for each CPU. */
#define CPUINFO_MAX (64u << 20)
#define MEMINFO_MAX (1u << 20)
#define SMBIOS "firmware/dmi/entries/4-0/raw"
#define SMBIOS_MAX 65536
#define KIB_A_GIB (1u << 20)

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
 * A hypervisor may hide the product: "AMD EPYC Processor". The signature still tells the
 * generation, so that "amd_epyc" becomes "amd_epyc_genoa".
 */
static void add_generation(const struct tw_cpuinfo *info, char name[TW_SPEC_TEXT])
{
	struct tw_cpu_identity named, both;
	const size_t len = strlen(name), brand_len = strlen(info->brand);
	size_t more;

	tw_cpu_identify(info->brand, brand_len, NULL, &named);
	tw_cpu_identify(info->brand, brand_len, &info->signature, &both);
	more = strlen(both.generation) + 1;
	if (len == 0 || named.how[TW_CPU_GENERATION] != TW_CPU_UNKNOWN ||
	    both.how[TW_CPU_GENERATION] != TW_CPU_BY_SIGNATURE ||
	    len + more >= TW_SPEC_TEXT)
		return;
	name[len] = '_';
	memcpy(name + len + 1, both.generation, more);
}

static int take_cpuinfo(const char *proc, struct tw_machine_spec *s, struct tw_err *err)
{
	struct tw_cpuinfo info;

	if (read_cpuinfo(proc, &info, err) < 0)
		return -1;
	memcpy(s->vendor, info.vendor, sizeof(s->vendor));
	memcpy(s->processor, info.processor, sizeof(s->processor));
	add_generation(&info, s->processor);
	s->frequency_mhz = info.frequency_mhz;
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
	struct tw_cpus cpus = { 0 };

	if (tw_cpus_discover(sys, &cpus, &why) < 0 && why.code != TW_NOTFOUND)
		return tw_fail(err, why.code, "%s", why.text);
	s->cores = cpus.cores;
	s->chips = cpus.chips;
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
	int rc = -1;

	if (read_if_there(proc, "meminfo", MEMINFO_MAX, &data, &len, err) < 0)
		return -1;
	if (data != NULL && !read_total(data, &s->memory_gib)) {
		tw_fail(err, TW_PARSE, "'%s/meminfo': no line 'MemTotal: N kB'", proc);
		goto out;
	}

	rc = 0;
out:
	free(data);
	return rc;
}

int tw_machine_spec_discover(const char *proc, const char *sys,
			     struct tw_machine_spec *out, struct tw_err *err)
{
	struct tw_machine_spec s = { 0 };

	if (take_cpuinfo(proc, &s, err) < 0 || take_cpus(sys, &s, err) < 0 ||
	    take_memory(proc, &s, err) < 0 || take_smbios(sys, &s, err) < 0)
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
	char *data = NULL;
	size_t len;

	if (read_cpuinfo(proc, &info, err) < 0)
		return -1;
	/* arm64 prints no brand. */
	if (info.brand[0] == '\0' &&
	    read_if_there(sys, SMBIOS, SMBIOS_MAX, &data, &len, err) < 0)
		return -1;
	if (data != NULL && tw_smbios_processor_parse(data, len, &p) && p.version_len > 0)
		tw_cpu_identify(p.version, p.version_len, &info.signature, out);
	else
		tw_cpu_identify(info.brand, strlen(info.brand), &info.signature, out);
	free(data);
	return 0;
}
