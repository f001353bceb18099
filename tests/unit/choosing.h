/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_CHOOSING_H
#define TW_TEST_CHOOSING_H

/* A database of two pipelines, "lab" and "alt", and requests to choose from it. */

#include "model-db/index/choose.h"

struct tw_err;
struct tw_index;
struct tw_index_entry;

#define COUNTERS "cache_miss,cpu_cycles,cpu_instructions"
#define BPF "bpf_cpu_time_ms,bpf_page_cache_hit"

/* A request; what is 0 or NULL is as a client leaves it. */
struct choosing {
	const char *metrics; /* NULL: counters and BPF */
	const char *source;  /* NULL: rapl-sysfs */
	const char *trainer, *pipeline, *filter;
	enum tw_output output;
	long long node_type; /* 0 stands for any, -2 for node type 0 */
	bool strict;
	bool weight;
	bool ensembles;
	bool no_classes;      /* model_classes is not given */
	bool default_trainer; /* of a zip; weights follow from the other fields */
	bool trees;
	enum tw_client client;
	struct tw_machine_spec spec;
};

/* The state of a group of tests is a struct tw_index. */
int choosing_set_up(void **state);
int choosing_tear_down(void **state);

/* tw_choose(); what is chosen is borrowed from the index. */
int choosing_ask(const struct tw_index *x, const struct choosing *q,
		 const struct tw_index_entry **out, struct tw_err *err);

#endif /* TW_TEST_CHOOSING_H */
