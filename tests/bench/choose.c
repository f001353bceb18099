/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose DB: microseconds of a choice in a database of make_database, for requests by
 * node type, by machine spec, for any machine, for a machine whose processor the database
 * does not have, and for a trainer that it does not have. The median of rounds.
 */
#include "lib/core/err.h"
#include "model-db/index/choose.h"
#include "model-db/index/index.h"
#include "model-db/index/index_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 15
#define CHOICES 2000

enum by { BY_NODE_TYPE, BY_SPEC, BY_NOTHING, BY_STRANGER, BY_MISS, BY_COUNT };

static const char *const names[] = { "node type", "machine spec", "any",
				     "strange machine", "not found" };

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void describe(struct tw_wanted *w, enum by by, const struct tw_index_machine *m)
{
	w->node_type = by == BY_NODE_TYPE ? m->node_type : -1;
	w->spec = (struct tw_machine_spec){ 0 };
	if (by == BY_SPEC || by == BY_STRANGER)
		w->spec = m->spec;
	if (by == BY_STRANGER)
		snprintf(w->spec.processor, sizeof(w->spec.processor), "sparc_t8");
	w->trainer = by == BY_MISS ? strdup("NoSuchTrainer") : NULL;
}

static double time_round(const struct tw_index *x, struct tw_wanted *w, enum by by)
{
	const size_t machines = tw_index_machine_count(x);
	double us = 0;

	for (size_t i = 0; i < CHOICES; i++) {
		struct tw_choice choice;
		struct tw_err err = { 0 };
		double start;
		int rc;

		describe(w, by, tw_index_machine_at(x, i * 7919 % machines));
		w->weight = i % 2 == 0;
		start = now_us();
		rc = tw_choose(x, w, &choice, &err);
		us += now_us() - start;
		if ((rc == 0) != (by != BY_MISS)) {
			fprintf(stderr, "choose: %s\n", err.text);
			exit(1);
		}
		free(w->trainer);
		w->trainer = NULL;
	}
	return us / CHOICES;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
	struct tw_wanted w = { .source = tw_energy_source_find("rapl-sysfs"),
			       .loose_node_type = true };
	struct tw_index *x;
	struct tw_err err = { 0 };

	if (argc != 2) {
		fprintf(stderr, "usage: choose DB\n");
		return 2;
	}
	if (tw_index_load(argv[1], NULL, NULL, &x, &err) < 0 ||
	    tw_strs_split(&w.metrics,
			  "cpu_cycles,cpu_instructions,cache_miss,bpf_cpu_time_ms,"
			  "bpf_page_cache_hit,cpu_architecture",
			  &err) < 0) {
		fprintf(stderr, "choose: %s\n", err.text);
		return 1;
	}
	printf("models %zu\n", tw_index_count(x));
	for (int by = 0; by < BY_COUNT; by++) {
		double us[ROUNDS];

		for (int r = 0; r < ROUNDS; r++)
			us[r] = time_round(x, &w, (enum by)by);
		qsort(us, ROUNDS, sizeof(us[0]), compare);
		printf("%s %.3f\n", names[by], us[ROUNDS / 2]);
	}
	tw_wanted_release(&w);
	tw_index_unref(x);
	return 0;
}
