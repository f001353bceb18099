/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SPOOL_H
#define TW_TRAINER_SPOOL_H

/*
 * Series that grow at their ends, a few samples at a time, and in the end are a response
 * (trainer/extract/prom.h).
 *
 * Samples wait in a file without a name, in the directory of the response: memory is of
 * the series, their labels and, of those that are growing, 1 KiB of samples. Whatever
 * ends the program, the file is gone.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_spool;

#define TW_SPOOL_SERIES_MAX ((size_t)1 << 20)
#define TW_SPOOL_TEXT_MAX ((size_t)512 << 20) /* names and labels of all series */

struct tw_spool_label {
	const char *name, *value;
};

/* path is where the response will be. *out is yours: tw_spool_free(). */
int tw_spool_new(const char *path, struct tw_spool **out, struct tw_err *err);
void tw_spool_free(struct tw_spool *s); /* NULL is fine */

/*
 * Number of the series of a metric with these labels, made if it is new. Sorts label.
 * Two labels of one name are refused. __name__ is among the labels or it is not.
 */
int tw_spool_series(struct tw_spool *s, const char *metric, struct tw_spool_label *label,
		    size_t labels, size_t *out, struct tw_err *err);

/* Time of a series' last sample; false if it has none. */
bool tw_spool_last(const struct tw_spool *s, size_t series, int64_t *time_ms);

/* value is finite. Refused unless it is later than the series' last sample. */
int tw_spool_add(struct tw_spool *s, size_t series, int64_t time_ms, double value,
		 struct tw_err *err);

/* Give up the memory of series that got nothing since this was last called. */
int tw_spool_settle(struct tw_spool *s, struct tw_err *err);

/* Write what there is as a response, replacing the file. More may follow afterwards. */
int tw_spool_write(struct tw_spool *s, const char *path, struct tw_err *err);

/* Series that have samples are counted, and their samples. */
struct tw_spool_size {
	size_t series;
	uint64_t samples;
};

struct tw_spool_size tw_spool_size(const struct tw_spool *s);

#endif /* TW_TRAINER_SPOOL_H */
