/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SPOOL_H
#define TW_TRAINER_SPOOL_H

/*
 * Series that grow by a few samples at a time and end as a response file
 * (trainer/response/prom.h).
 *
 * Samples are kept in an unnamed temporary file in the directory of the response, which
 * the kernel removes however the program ends. Memory holds the series, their labels, and
 * 1 KiB of samples for each growing series. Not thread safe.
 */

#include "lib/field/exposition.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_spool;

#define TW_SPOOL_SERIES_MAX ((size_t)1 << 20)
#define TW_SPOOL_TEXT_MAX ((size_t)512 << 20) /* bytes of names and labels */

/* path is the response file to be. *out is the caller's: tw_spool_free(). */
int tw_spool_new(const char *path, struct tw_spool **out, struct tw_err *err);
void tw_spool_free(struct tw_spool *s); /* NULL is fine */

/*
 * Number of the series of a metric with these labels; a new series is added. Sorts label.
 * TW_INVALID for two labels of one name. The metric's name is not added to the labels.
 */
int tw_spool_series(struct tw_spool *s, const char *metric,
		    struct tw_exposition_label *label, size_t labels, size_t *out,
		    struct tw_err *err);

/* Time of a series' last sample; false if it has no samples. */
bool tw_spool_last(const struct tw_spool *s, size_t series, int64_t *time_ms);

/* Append a sample. value is finite. TW_INVALID unless it is later than the last sample.
 */
int tw_spool_add(struct tw_spool *s, size_t series, int64_t time_ms, double value,
		 struct tw_err *err);

/* Write the samples of series that did not grow since the last call to the temporary
 * file, and free their memory. */
int tw_spool_settle(struct tw_spool *s, struct tw_err *err);

/* Write all samples as a response, replacing the file. More samples may be added later.
 */
int tw_spool_write(struct tw_spool *s, const char *path, struct tw_err *err);

/* Called in order of metric and labels. The texts live as long as the spool; equal names
 * of metrics have equal addresses. labels is a JSON object. */
struct tw_spool_visitor {
	int (*series)(void *arg, const char *metric, const char *labels,
		      struct tw_err *err);
	/* For each sample of that series; or NULL. */
	int (*sample)(void *arg, int64_t time_ms, double value, struct tw_err *err);
};

int tw_spool_visit(const struct tw_spool *s, const struct tw_spool_visitor *v, void *arg,
		   struct tw_err *err);

/* Number of series with samples, and of samples. */
struct tw_spool_size {
	size_t series;
	uint64_t samples;
};

struct tw_spool_size tw_spool_size(const struct tw_spool *s);

#endif /* TW_TRAINER_SPOOL_H */
