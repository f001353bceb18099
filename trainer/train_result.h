/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_RESULT_H
#define TW_TRAINER_TRAIN_RESULT_H

/*
 * The result of a training: the files of the pipeline and a row for each model.
 */

#include "lib/core/buf.h"
#include "lib/zip/fileset.h"

#include <stddef.h>
#include <stdint.h>

/* A model, or the reason why it could not be made. */
struct tw_train_row {
	/* Static texts. "-" in all four: the machine has no data. */
	const char *source, *output, *group, *trainer;
	const char *machine; /* text of the response or the job; NULL: no name */
	size_t node_type;
	double mae_w, mape_percent; /* largest of the components, as in the metadata */
	/* The same, of the rows after the job's share; NaN: there are none. */
	double later_mae_w, later_mape_percent;
	size_t rows;
	char failure[256]; /* "" if there is a model */
	char note[256];    /* why alternative validation failed, or "" */
};

struct tw_train_result {
	struct tw_fileset pipeline; /* layout: model-db/pipeline.h */
	struct tw_train_row *row;
	size_t rows;
	size_t models;   /* rows without a failure */
	size_t machines; /* node types */
	/* Wall time of the stages, ns. Fit and validate run on several threads. */
	uint64_t extract_ns, isolate_ns, fit_ns, pack_ns;
	/* Quality of the recordings of each machine, as text for people. */
	struct tw_buf quality;
};

void tw_train_result_release(struct tw_train_result *r);

/* Wall times of the stages around tw_train(), ns. */
struct tw_train_times {
	uint64_t parse_ns, publish_ns, total_ns;
};

/*
 * Append the result as text for people: a line for each row, and a line with the times of
 * the stages.
 */
void tw_train_result_report(const struct tw_train_result *r,
			    const struct tw_train_times *t, struct tw_buf *out);

/* Append the rows as a JSON list. A failed allocation marks the buffer. */
void tw_train_result_json(const struct tw_train_result *r, struct tw_buf *out);

#endif /* TW_TRAINER_TRAIN_RESULT_H */
