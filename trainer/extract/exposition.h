/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_EXPOSITION_H
#define TW_TRAINER_EXPOSITION_H

/*
 * What an exporter answers at /metrics: Prometheus' text format 0.0.4, and OpenMetrics
 * 1.0, which ends with "# EOF". Names in quotes (UTF-8) are read in both.
 *
 * Types and help texts are not read, time stamps and exemplars are checked and not
 * told: a sample is of the time when it was asked for.
 */

#include "trainer/extract/spool.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;

#define TW_EXPOSITION_LINE_MAX ((size_t)64 << 10)
#define TW_EXPOSITION_LABELS_MAX 128

/* Valid during the call only; there is room for four more labels behind. */
struct tw_exposition_sample {
	const char *name;
	struct tw_spool_label *label;
	size_t labels;
	double value; /* perhaps NaN or infinite */
};

typedef int tw_exposition_fn(void *arg, struct tw_exposition_sample *s,
			     struct tw_err *err);

/* fn may be NULL: then it is only checked. Errors say the line. */
int tw_exposition_parse(const char *data, size_t len, bool openmetrics,
			tw_exposition_fn *fn, void *arg, struct tw_err *err);

#endif /* TW_TRAINER_EXPOSITION_H */
