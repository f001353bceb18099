/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SERIES_DRAFT_H
#define TW_TRAINER_SERIES_DRAFT_H

/*
 * A series of a response while it is read: its labels and samples, not packed yet.
 *
 * Where in the response it is, the reader knows (trainer/extract/prom_builder.c): so what
 * cannot be taken is told as a text to put behind the place, or NULL where all is well.
 * All zero bytes is an empty draft.
 */

#include "lib/core/err.h"
#include "trainer/extract/prom.h"

#include <stddef.h>

#define TW_SERIES_LABELS_MAX 64

struct tw_series_draft {
	struct tw_label label[TW_SERIES_LABELS_MAX];
	size_t labels;
	double *time_ms; /* whole */
	double *value;
	size_t samples, size;
};

/* Empty again; memory is kept. */
void tw_series_draft_begin(struct tw_series_draft *d);

/* Whether a label of this name can be added: NULL, or what is expected instead. */
const char *tw_series_draft_check_label(const struct tw_series_draft *d,
					const char *name);

/* Both texts are the response's: equal ones are one. The label has been checked. */
void tw_series_draft_add_label(struct tw_series_draft *d, const char *name,
			       const char *value);

/* Whether the next sample can be of this time: NULL, or what is wrong with it. */
const char *tw_series_draft_check_time(const struct tw_series_draft *d, double time_s);

/* Begin a sample with its time, which has been checked. */
int tw_series_draft_add_time(struct tw_series_draft *d, double time_s,
			     struct tw_err *err);

/* End the sample with its value: NULL, or what is wrong with it, and its code. */
const char *tw_series_draft_add_value(struct tw_series_draft *d, const char *text,
				      size_t len, enum tw_code *code);

void tw_series_draft_release(struct tw_series_draft *d);

#endif /* TW_TRAINER_SERIES_DRAFT_H */
