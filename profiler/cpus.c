/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/cpus.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CPU_DIR "devices/system/cpu"
#define CPU_MAX 65535
#define CPU_LIST_MAX 65536
#define FIGURE_BYTES 4096
#define CHIPS_MAX 4096
#define KHZ_MAX 1000000000u

struct walk {
	struct tw_cpus cpus;
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

/*
 * The text of <sys>/devices/system/cpu/<cpu>/<name> without its newline. *out is NULL if
 * the file is missing, as for an offline CPU.
 */
static int read_text(const char *sys, const char *cpu, const char *name, char **out,
		     struct tw_err *err)
{
	struct tw_err why = { 0 };
	char *path = NULL, *text = NULL;
	size_t len;
	int rc = -1;

	if (tw_path_join(&path, err, sys, CPU_DIR, cpu, name, NULL) < 0)
		goto out;
	if (tw_file_read(path, FIGURE_BYTES, &text, &len, &why) < 0) {
		if (why.code != TW_NOTFOUND) {
			tw_fail(err, why.code, "%s", why.text);
			goto out;
		}
	} else {
		text[strcspn(text, "\n")] = '\0';
	}

	*out = text;
	text = NULL;
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
		char *text = NULL;
		int failed;

		if (read_text(sys, cpu, files[i].name, &text, err) < 0)
			return -1;
		failed = text != NULL && files[i].take(w, text, err) < 0;
		free(text);
		if (failed)
			return tw_err_wrap(err, "'%s/" CPU_DIR "/%s/%s'", sys, cpu,
					   files[i].name);
	}
	return 0;
}

static bool is_cpu(const char *name)
{
	return strncmp(name, "cpu", 3) == 0 && name[3] != '\0' &&
	       name[3 + strspn(name + 3, "0123456789")] == '\0';
}

int tw_cpus_discover(const char *sys, struct tw_cpus *out, struct tw_err *err)
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
