/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/workloads/schedule.h"

#include "collector/system/roots.h"
#include "collector/workloads/workload.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX (1 << 20)

/* ---- CPUs ---- */

/* Moves behind the number. */
static bool read_number(const char **at, uint64_t *out)
{
	const size_t digits = strspn(*at, "0123456789");
	const bool is = tw_parse_u64(*at, digits, out) && *out < NUMBER_MAX;

	*at += digits;
	return is;
}

/*
 * A number, and another behind one of the separators; without it, *second = *first. Moves
 * behind them.
 */
static bool read_pair(const char **at, const char *separators, uint64_t *first,
		      uint64_t *second)
{
	if (!read_number(at, first))
		return false;
	*second = *first;
	if (**at == '\0' || strchr(separators, **at) == NULL)
		return true;
	(*at)++;
	return read_number(at, second);
}

/* The first number of a file of a CPU, and the second. False: no number. */
static bool read_numbers(const struct tw_roots *roots, size_t cpu, const char *name,
			 uint64_t *first, uint64_t *second)
{
	struct tw_err ignored = { 0 };
	char path[64], *file = NULL, *text = NULL;
	size_t len;
	bool found = false;

	snprintf(path, sizeof(path), "devices/system/cpu/cpu%zu/topology", cpu);
	if (tw_path_join(&file, &ignored, roots->sys, path, name, NULL) == 0 &&
	    tw_file_read(file, 4096, &text, &len, &ignored) == 0) {
		const char *at = text;

		found = read_pair(&at, ",-", first, second);
	}
	free(text);
	free(file);
	return found;
}

/* The place of a package; s->packages: it is new. */
static size_t place_of(const struct tw_schedule *s, int number)
{
	size_t p = 0;

	while (p < s->packages && s->package[p] != number)
		p++;
	return p;
}

static int add_cpu(struct tw_schedule *s, const struct tw_roots *roots, size_t cpu,
		   struct tw_err *err)
{
	struct tw_schedule_cpu *c = &s->cpu[cpu];
	uint64_t package, first, second;
	size_t place;

	if (!read_numbers(roots, cpu, "physical_package_id", &package, &first))
		return 0;
	place = place_of(s, (int)package);
	if (place == TW_SCHEDULE_PACKAGES)
		return tw_fail(err, TW_UNSUPPORTED, "more than %d packages",
			       TW_SCHEDULE_PACKAGES);
	s->package[place] = (int)package;
	s->packages += place == s->packages;
	s->cpus_of[place]++;
	*c = (struct tw_schedule_cpu){ .package = (uint16_t)place,
				       .sibling = (uint16_t)cpu,
				       .known = true };
	if (read_numbers(roots, cpu, "thread_siblings_list", &first, &second) &&
	    first < s->cpus && second < s->cpus)
		c->sibling = (uint16_t)(first == cpu ? second : first);
	return 0;
}

/* Small cores of Intel's hybrid processors are a PMU of their own: "16-23,25". */
static void find_small(struct tw_schedule *s, const struct tw_roots *roots)
{
	struct tw_err ignored = { 0 };
	char *file = NULL, *text = NULL;
	uint64_t first, last;
	size_t len;

	if (tw_path_join(&file, &ignored, roots->sys, "devices/cpu_atom/cpus", NULL) ==
		    0 &&
	    tw_file_read(file, 4096, &text, &len, &ignored) == 0)
		for (const char *at = text; read_pair(&at, "-", &first, &last);
		     at += *at == ',')
			for (size_t c = first; c <= last && c < s->cpus; c++)
				s->cpu[c].small = true;
	free(text);
	free(file);
}

int tw_schedule_open(struct tw_schedule *s, const struct tw_roots *roots, size_t cpus,
		     struct tw_err *err)
{
	*s = (struct tw_schedule){ .cpus = cpus };
	s->cpu = calloc(cpus, sizeof(*s->cpu));
	s->sharer = calloc(cpus, sizeof(*s->sharer));
	s->sharer_of = calloc(cpus, sizeof(*s->sharer_of));
	if (s->cpu == NULL || s->sharer == NULL || s->sharer_of == NULL) {
		tw_schedule_close(s);
		return tw_fail(err, TW_NOMEM, "%zu CPUs", cpus);
	}
	for (size_t cpu = 0; cpu < cpus; cpu++)
		if (add_cpu(s, roots, cpu, err) < 0) {
			tw_schedule_close(s);
			return -1;
		}
	find_small(s, roots);
	return 0;
}

void tw_schedule_close(struct tw_schedule *s)
{
	free(s->cpu);
	free(s->use);
	free(s->sharer);
	free(s->sharer_of);
	*s = (struct tw_schedule){ .cpu = NULL };
}

/* ---- samples ---- */

void tw_schedule_begin(struct tw_schedule *s, size_t slices)
{
	const size_t all = slices * s->packages;

	s->ns = 0;
	s->slices = 0;
	if (s->size < all && !tw_resize(&s->use, all + all / 2, sizeof(*s->use)))
		return;
	if (s->size < all)
		s->size = all + all / 2;
	if (all > 0)
		memset(s->use, 0, all * sizeof(*s->use));
	s->slices = slices;
}

/*
 * The workload that shares the time in which a package is awake: the container, else the
 * cgroup.
 */
static const struct tw_workload *sharer(const struct tw_slice *s)
{
	return s->owner != NULL ? s->owner : s->cgroup;
}

static bool runs_on(const struct tw_schedule *s, const uint32_t *runs, size_t cpu,
		    size_t package)
{
	return s->cpu[cpu].known && s->cpu[cpu].package == package &&
	       runs[cpu] < s->slices;
}

/* Find who runs on a package, and where; how many they are. */
static size_t find_sharers(struct tw_schedule *s, const struct tw_slice *slice,
			   const uint32_t *runs, size_t package)
{
	size_t count = 0;

	for (size_t c = 0; c < s->cpus; c++) {
		const struct tw_workload *who;
		size_t k = 0;

		if (!runs_on(s, runs, c, package))
			continue;
		who = sharer(&slice[runs[c]]);
		while (k < count && s->sharer[k].who != who)
			k++;
		if (k == count)
			s->sharer[count++] = (struct tw_schedule_sharer){ .who = who };
		s->sharer[k].cpus++;
		s->sharer_of[c] = (uint32_t)k;
	}
	return count;
}

static void take_package(struct tw_schedule *s, const struct tw_slice *slice,
			 const uint32_t *runs, size_t package, uint64_t ns)
{
	const size_t sharers = find_sharers(s, slice, runs, package);

	for (size_t c = 0; c < s->cpus; c++) {
		const size_t sibling = s->cpu[c].sibling;
		struct tw_package_use *u;

		if (!runs_on(s, runs, c, package))
			continue;
		u = &s->use[runs[c] * s->packages + package];
		if (s->cpu[c].small)
			u->small_ns += ns;
		else if (sibling != c && runs_on(s, runs, sibling, package))
			u->shared_ns += ns;
		else
			u->alone_ns += ns;
		u->awake_ns += ns / sharers / s->sharer[s->sharer_of[c]].cpus;
	}
}

void tw_schedule_take(struct tw_schedule *s, const struct tw_slice *slice,
		      const uint32_t *runs, uint64_t ns)
{
	s->ns += s->slices > 0 ? ns : 0;
	for (size_t p = 0; p < s->packages; p++)
		take_package(s, slice, runs, p, ns);
}

static uint64_t part_of(uint64_t all, double part)
{
	return (uint64_t)((double)all * part);
}

uint64_t tw_package_use_ns(const struct tw_package_use *u)
{
	return u->alone_ns + u->shared_ns + u->small_ns;
}

static uint64_t time_on_all(const struct tw_schedule *s, const struct tw_package_use *use)
{
	uint64_t ns = 0;

	for (size_t p = 0; p < s->packages; p++)
		ns += tw_package_use_ns(&use[p]);
	return ns;
}

/* A slice without samples is taken to run as all that have some did. */
static void divide(const struct tw_schedule *s, const struct tw_slice *slice,
		   struct tw_package_use *use)
{
	const uint64_t *count = slice->used.counter;
	uint64_t sampled_ns = time_on_all(s, use);

	if (sampled_ns == 0) {
		memcpy(use, s->all, s->packages * sizeof(*use));
		sampled_ns = time_on_all(s, use);
	}
	for (size_t p = 0; p < s->packages && sampled_ns > 0; p++) {
		struct tw_package_use *u = &use[p];
		const double part = (double)tw_package_use_ns(u) / (double)sampled_ns,
			     times = (double)slice->used.cpu_ns / (double)sampled_ns;

		u->alone_ns = part_of(u->alone_ns, times);
		u->shared_ns = part_of(u->shared_ns, times);
		u->small_ns = part_of(u->small_ns, times);
		u->awake_ns = part_of(u->awake_ns, times);
		u->cycles = part_of(count[TW_COUNTER_CYCLES], part);
		u->instructions = part_of(count[TW_COUNTER_INSTRUCTIONS], part);
		u->misses = part_of(count[TW_COUNTER_CACHE_MISSES], part);
	}
}

void tw_schedule_end(struct tw_schedule *s, const struct tw_slice *slice)
{
	memset(s->all, 0, sizeof(s->all));
	for (size_t i = 0; i < s->slices; i++)
		for (size_t p = 0; p < s->packages; p++) {
			const struct tw_package_use *u = &s->use[i * s->packages + p];

			s->all[p].alone_ns += u->alone_ns;
			s->all[p].shared_ns += u->shared_ns;
			s->all[p].small_ns += u->small_ns;
			s->all[p].awake_ns += u->awake_ns;
		}
	for (size_t i = 0; i < s->slices; i++)
		divide(s, &slice[i], &s->use[i * s->packages]);
}
