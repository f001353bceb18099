/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TESTS_TRAIN_FIXTURE_H
#define TW_TESTS_TRAIN_FIXTURE_H

/*
 * Data, jobs and results of trainings under test.
 */

#include "lib/field/dataset.h"
#include "trainer/train.h"

#include <jansson.h>
#include <stddef.h>

/* Package power is 20 W and 3 nW a cycle, dram 5 W; nothing else draws any. */
void train_make_table(struct tw_dataset *d, size_t rows);

/* d as a table of rapl-sysfs and CounterOnly. */
struct tw_train_table train_make_counters(const struct tw_dataset *d);

/* A job on one table, without trainers; ends with train_release_job(). */
struct tw_train_job train_make_job(const struct tw_train_table *table);
void train_release_job(struct tw_train_job *job);

/* A job on that table of this many rows. */
struct training {
	struct tw_dataset d;
	struct tw_train_table table;
	struct tw_train_job job;
};

/* The addresses within it are kept: it stays where it is. */
void train_set_up(struct training *t, size_t rows);
void train_tear_down(struct training *t);

/* The job's only response, until another is set for any job. */
void train_set_response(struct tw_train_job *job, const struct tw_prom *p);

/* Every trainer of this build. */
void train_add_all(struct tw_strs *l);

/* The trainers that "all" means to the command: not the slow ones. Returns their number.
 */
size_t train_add_quick(struct tw_strs *l);

/* The same, or every trainer where TW_TEST_QUICK is not set (tests/checks.mk). */
size_t train_add_most(struct tw_strs *l);

/*
 * A response with the load and the platform power of machine a, of b, or of both; of c
 * there is no power. Each has a law of its own.
 */
struct tw_prom *train_make_machines(const char *names);

/* A JSON file of the pipeline; yours. */
json_t *train_parse_file(const struct tw_train_result *r, const char *name);

/* The same files with the same bytes. */
void train_assert_same(const struct tw_train_result *a, const struct tw_train_result *b);

/* The job fails, and text is in the reason. */
void train_assert_refused(const struct tw_train_job *job, const char *text);

#endif /* TW_TESTS_TRAIN_FIXTURE_H */
