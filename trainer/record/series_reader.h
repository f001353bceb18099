/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SERIES_READER_H
#define TW_TRAINER_SERIES_READER_H

/*
 * Reads a list of series into a spool, from the events of a JSON parser:
 *
 *	[{"metric":{..},"values":[[seconds,"value"],..]},..]
 *
 * This is data.result of Prometheus' query_range, or one metric of a response file.
 * Unlike trainer/response/prom.h the reader keeps every label and holds no samples in
 * memory.
 *
 * "metric" must come before "values", as all known writers order them. Values that are
 * not finite are counted and left out.
 */

#include "lib/core/strs.h"
#include "lib/json/jsax.h"

#include <stdbool.h>
#include <stdint.h>

struct tw_err;
struct tw_http_answer;
struct tw_spool;

#define TW_SERIES_LABELS_MAX 128

struct tw_series_reader {
	/* Set by the caller; the other members start as 0. */
	struct tw_spool *spool;
	const char *metric;
	/* The list repeats one that was cut short: skip samples that are not later than a
	 * series' last. Else such samples are TW_INVALID. */
	bool again;
	int64_t after_ms; /* skip samples that are not later; 0: take all */
	int64_t to_ms;    /* a later sample is TW_INVALID; 0: take all */

	unsigned depth; /* JSON depth of the list */
	unsigned member;
	unsigned part; /* the part of a sample that is next */
	bool has_labels;
	size_t number;         /* of the series, from 1 */
	size_t series;         /* its number in the spool */
	struct tw_strs labels; /* names and values alternate */
	double time_s;

	uint64_t taken, not_finite; /* numbers of samples */
};

/* Feed one event of the list, from its [ to its ]. */
int tw_series_reader_event(struct tw_series_reader *r, const struct tw_jsax_event *e,
			   struct tw_err *err);

void tw_series_reader_release(struct tw_series_reader *r);

/* Add the series of a response file to the spool. */
int tw_series_read_file(struct tw_spool *spool, const char *path, struct tw_err *err);

/*
 * Add the series of a response in memory. Samples that are not later than a series' last
 * are skipped.
 */
int tw_series_read_text(struct tw_spool *spool, const char *text, size_t len,
			struct tw_err *err);

/* ---- answers of Prometheus' HTTP API ---- */

/*
 * Stream parser of an answer of Prometheus' HTTP API: {"status":"success","data":LIST}
 * or, if nested, {"status":"success","data":{"result":LIST}}. The list's JSON events go
 * to fn.
 */

struct tw_prom_answer {
	/* Set by the caller; the other members start as 0. */
	bool nested;
	tw_jsax_fn *fn;
	void *arg;

	struct tw_jsax *parser;
	bool in_data, in_list, in_error, in_warnings, in_partial, found;
	char error[200]; /* the server's own text */
	/* Why series are missing: the first warning of Prometheus or Thanos, or the
	 * member isPartial of VictoriaMetrics. "": the answer is whole. */
	char partial[200];
	bool refused;   /* malformed, or fn failed */
	bool cut_short; /* incomplete; set by tw_prom_answer_end() */
};

int tw_prom_answer_open(struct tw_prom_answer *a, struct tw_err *err);

/* Feed a piece of the answer's body. arg is the answer; a sink of struct tw_http_call. */
int tw_prom_answer_feed(void *arg, const char *data, size_t len, struct tw_err *err);

/*
 * The body is whole. Fails for a body that ends early, the server's own error and an
 * answer without the list.
 */
int tw_prom_answer_end(struct tw_prom_answer *a, struct tw_err *err);

void tw_prom_answer_release(struct tw_prom_answer *a);

/*
 * Always fails, with the error text of an answer other than 200. TW_DENIED for 401 and
 * 403, TW_NOTFOUND for 404, TW_IO for 429 and 5xx, TW_UNSUPPORTED if the request exceeds
 * a limit of the server.
 */
int tw_prom_answer_fail(const struct tw_http_answer *http, struct tw_err *err);

#endif /* TW_TRAINER_SERIES_READER_H */
