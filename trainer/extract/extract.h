/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_EXTRACT_H
#define TW_TRAINER_EXTRACT_H

/*
 * Extraction: from a Prometheus response to a dataset of rates and watts.
 * docs/pipelines.md describes each step.
 */

#include "lib/field/dataset.h"
#include "trainer/extract/metric_series.h"

struct tw_err;

/* Names of enum tw_resets, in its order, for options; ends with NULL. */
extern const char *const tw_resets_names[];

/*
 * Extract a dataset. *out must be empty; the caller releases it.
 *
 * TW_NOTFOUND: the response lacks a metric of the group or the source; the text names it.
 * Also if no row is left in the spans of time.
 * TW_INVALID: no row is left, a counter was reset, the response has several machines and
 * args name none, or containers are asked for of a node's group.
 */
int tw_extract(const struct tw_prom *p, const struct tw_extract_args *a,
	       struct tw_dataset *out, struct tw_err *err);

#endif /* TW_TRAINER_EXTRACT_H */
