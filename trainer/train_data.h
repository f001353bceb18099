/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_DATA_H
#define TW_TRAINER_TRAIN_DATA_H

/*
 * What several trainers train on: the rows of one source, feature group and output,
 * and the power of each row as each fold sees it.
 *
 * Power depends on the fold where an isolator is at work: it learns from the rows that
 * train and is applied to all. A failure is kept with the data, since others go on.
 */

#include "lib/core/err.h"
#include "lib/field/dataset.h"
#include "lib/field/feature.h"
#include "profiler/profile.h"
#include "trainer/fit/folds.h"
#include "trainer/fit/trainer.h"

#include <jansson.h>

struct tw_isolation;
struct tw_train_job;
struct tw_train_machine;
struct tw_train_table;

/* Two rows to train on and one to judge by. */
#define TW_TRAIN_ROWS_MIN 3

/* By workload, and shuffled. */
#define TW_TRAIN_EXTRA_FOLDS 2

struct tw_train_data {
	const struct tw_energy_source *source;
	const struct tw_feature_group *group;
	enum tw_output output;
	const struct tw_train_table *table; /* where it comes from; NULL: responses */
	const struct tw_train_machine *machine;
	const struct tw_isolation *isolation; /* or NULL */
	struct tw_err err;                    /* why there is no data */

	struct tw_profile profile; /* of the rows; trainer/train_profile.h */
	size_t rows;
	int64_t first_ms, last_ms; /* of the rows */
	struct tw_dataset d;       /* one row a time stamp; isolation takes the columns */
	uint32_t *input;      /* which of the job's responses each row is from; or NULL */
	const char **feature; /* those of the group that the data has */
	size_t cols;
	enum tw_component component[TW_COMPONENT_COUNT]; /* whose power d has */
	size_t components;
	size_t folds;                                /* blocks of time */
	struct tw_folds extra[TW_TRAIN_EXTRA_FOLDS]; /* other ways to judge */
	size_t extras;
	struct tw_err extra_err; /* why there is none that was asked for */
	double *x;               /* d.rows * cols */
	double *y;               /* for each view, each component: d.rows */
	size_t overlap; /* rows next to one that have samples in common with it */
	bool from_zero; /* what the isolator left is 0 W at zero use */
	json_t *learnt; /* what it learnt from the whole, or NULL */
};

/* Get d: extract from the response, or copy the table. The first of two steps. */
void tw_train_data_extract(struct tw_train_data *t, const struct tw_train_job *job);

/* Whether two of them differ in their output only, and extraction gives both the same. */
bool tw_train_data_is_twin(const struct tw_train_data *a, const struct tw_train_data *b,
			   const struct tw_train_job *job);

/* Get d from a twin that has been extracted. */
void tw_train_data_copy(struct tw_train_data *t, const struct tw_train_data *twin);

/* Get the rest. */
void tw_train_data_isolate(struct tw_train_data *t, const struct tw_train_job *job);

/*
 * How many views there are of the data: 0 to folds - 1 are those of the blocks of time,
 * `folds` is the whole, and behind it come the folds of each of extra.
 */
size_t tw_train_data_views(const struct tw_train_data *t);

/* Of a view behind the whole: which of extra it is of, and its fold there. */
size_t tw_train_data_extra(const struct tw_train_data *t, size_t view, uint32_t *fold);

/* Samples of a component in a view. Borrowed. */
struct tw_samples tw_train_data_samples(const struct tw_train_data *t, size_t view,
					size_t component);

/* The machine's; 0 where none is told. */
uint32_t tw_train_data_node_type(const struct tw_train_data *t);

/* A column of x: out has room for the rows. */
void tw_train_data_feature(const struct tw_train_data *t, size_t col, double *out);

/* Let go of d, x and y, once they have been used. */
void tw_train_data_drop(struct tw_train_data *t);

void tw_train_data_release(struct tw_train_data *t);

/* "2023-09-19T09:27:43.000Z"; null outside the years of the calendar. NULL without
 * memory. */
json_t *tw_train_data_instant(int64_t ms);

#endif /* TW_TRAINER_TRAIN_DATA_H */
