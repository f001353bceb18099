/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_DATA_H
#define TW_TRAINER_TRAIN_DATA_H

/*
 * The rows that several trainers train on: those of one machine, energy source, feature
 * group and output type, with the power of each row for each split.
 *
 * A split divides the rows into training rows and held-out rows. An isolator learns from
 * the training rows and is applied to all rows, so DynPower differs between splits. A
 * failure is kept in ->err, and the training goes on with other data.
 */

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/field/dataset.h"
#include "lib/field/feature.h"
#include "profiler/profile.h"
#include "trainer/fit/trainer.h"
#include "trainer/fit/validate.h"

#include <jansson.h>

struct tw_isolation;
struct tw_fits;
struct tw_rest;
struct tw_train_job;
struct tw_train_machine;
struct tw_train_table;

/* Two rows to train on and one to validate with. */
#define TW_TRAIN_ROWS_MIN 3

/* Folds beside the blocks of time: by workload, and shuffled. */
#define TW_TRAIN_ALT_FOLDS_MAX 2

struct tw_train_data {
	const struct tw_train_job *job;
	const struct tw_energy_source *source;
	const struct tw_feature_group *group;
	enum tw_output output;
	const struct tw_train_table *table; /* NULL: the machine's recordings */
	const struct tw_train_machine *machine;
	const struct tw_isolation *isolation; /* or NULL */
	struct tw_err err;                    /* the reason if there are no rows */

	struct tw_profile profile; /* idle power and largest features of the rows */
	size_t rows;               /* of d; known after d is dropped, too */
	int64_t first_ms, last_ms; /* of the rows */
	struct tw_dataset d;       /* one row a time stamp; isolation frees the columns */
	struct tw_dataset later;   /* rows after the share of the job, isolated like d */
	uint32_t *input;           /* index of each row's response in the job; or NULL */
	const char **feature;      /* features of the group that the data has */
	size_t cols;
	enum tw_component component[TW_COMPONENT_COUNT]; /* whose power d has */
	size_t components;
	size_t folds;                                /* blocks of time */
	struct tw_folds alt[TW_TRAIN_ALT_FOLDS_MAX]; /* alternative folds */
	size_t alts;
	struct tw_err alt_err; /* the reason if requested folds are missing */
	double *x;             /* d.rows * cols */
	double *y;             /* for each split, each component: d.rows */
	struct tw_rest *rest;  /* for each split, each component: of the training rows */
	/*
	 * Fits of AbsPower, shared by splits. Isolated power differs by split, so its
	 * fits cannot be shared.
	 */
	struct tw_fits *fits;
	/* The recorded cycles do not fit into the group's CPU time (trainer/fit/rest.h).
	 */
	bool cpu_time_incomplete;
	bool unbalanced;   /* CPU time of a recording is not the node's */
	bool step_uneven;  /* of a recording: it does not divide the scrape interval */
	bool times_differ; /* of a recording: a meter's are not those of its rows */
	bool work_unseen;  /* of a recording: its workloads ran before they appeared */
	bool by_readings;  /* power of a recording is not the energy of its rows */
	json_t *learnt;    /* metadata of the isolator fitted on all rows, or NULL */
	json_t *quality;   /* a list: of each recording, trainer/extract/quality.h */
	struct tw_buf quality_text;
};

/*
 * After trainer/train_rows.h has filled d: find the features and components of its
 * columns; make folds, isolation, x, y and the profile.
 */
void tw_train_data_isolate(struct tw_train_data *t);

/*
 * Number of splits. Splits 0 to folds - 1 hold out a block of time each. Split `folds`
 * holds out nothing: it fits the model that is published. The folds of each of ->alt
 * follow.
 */
size_t tw_train_data_splits(const struct tw_train_data *t);

/* Index in ->alt of a split beyond split `folds`, and its fold there. */
size_t tw_train_data_alt(const struct tw_train_data *t, size_t split, uint32_t *fold);

/* The first split of the alternative folds ->alt[alt]. */
size_t tw_train_data_alt_first(const struct tw_train_data *t, size_t alt);

/*
 * Samples of a component in a split; all rows. Their rest is that of the training rows of
 * the split, so that not each trainer has to find it. Borrowed.
 */
struct tw_samples tw_train_data_samples(const struct tw_train_data *t, size_t split,
					size_t component);

/* Free d, alt, input, x, y and rest after the models are made. */
void tw_train_data_drop(struct tw_train_data *t);

void tw_train_data_release(struct tw_train_data *t);

/*
 * "2023-09-19T09:27:43.000Z", or JSON null for a time that tw_format_date_ms() rejects.
 * NULL without memory.
 */
json_t *tw_train_data_instant(int64_t ms);

#endif /* TW_TRAINER_TRAIN_DATA_H */
