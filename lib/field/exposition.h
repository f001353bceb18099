/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_EXPOSITION_H
#define TW_EXPOSITION_H

/*
 * Parser of an exporter's answer at /metrics: Prometheus' text format 0.0.4, and
 * OpenMetrics 1.0, which ends with "# EOF". Quoted (UTF-8) names are accepted in both.
 *
 * Types and help texts are skipped. Time stamps and exemplars are checked and dropped: a
 * sample gets the time of its scrape.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_err;

#define TW_EXPOSITION_LINE_MAX ((size_t)64 << 10)
#define TW_EXPOSITION_LABELS_MAX 128

struct tw_exposition_label {
	const char *name, *value; /* the name first, for tw_compare_texts() */
};

/* Valid during the call only. The callee may append four labels. */
struct tw_exposition_sample {
	const char *name;
	struct tw_exposition_label *label;
	size_t labels;
	double value; /* may be NaN or infinite */
};

/* The value of a label; "" without the label. */
const char *tw_exposition_value(const struct tw_exposition_sample *s, const char *label);

typedef int tw_exposition_fn(void *arg, struct tw_exposition_sample *s,
			     struct tw_err *err);

/* Call fn for each sample. With fn NULL the text is only checked. Errors name the line.
 */
int tw_exposition_parse(const char *data, size_t len, bool openmetrics,
			tw_exposition_fn *fn, void *arg, struct tw_err *err);

#endif /* TW_EXPOSITION_H */
