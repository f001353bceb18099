/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PROM_STORE_H
#define TW_TRAINER_PROM_STORE_H

/*
 * A Prometheus response in memory: metrics with their series, labels and packed samples.
 * trainer/response/prom.h reads one.
 */

#include "lib/core/arena.h"
#include "lib/core/intern.h"
#include "trainer/response/schema.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;
struct tw_strs;

/* ---- packed numbers ---- */

/*
 * Lossless compression of a sequence of numbers, for counters and time stamps: multiples
 * of a power of ten that grow in small steps.
 *
 * Multiples of 10^-digits are stored as integers: the first number, then the differences
 * between neighbours, minus the smallest difference. All differences have the width of
 * the largest; 0 bytes if all are equal, as for regular time stamps. Other sequences are
 * stored as doubles. Each number is restored bit for bit.
 */

#define TW_PACKED_COUNT_MAX UINT32_MAX

/* All zero bytes is an empty sequence. */
struct tw_packed {
	const unsigned char *data; /* in the arena */
	int64_t first;             /* first number, times 10^digits */
	int64_t least;             /* smallest difference */
	uint32_t count;
	uint8_t width;  /* bytes of a difference */
	uint8_t digits; /* decimals */
	bool as_is;     /* data has doubles */
};

/* Pack count finite numbers, at most TW_PACKED_COUNT_MAX. The result lives as long as the
 * arena. */
int tw_pack(const double *v, size_t count, struct tw_arena *arena, struct tw_packed *out,
	    struct tw_err *err);

/* Whether no number is smaller than its predecessor. Constant time unless as_is. */
bool tw_packed_rises(const struct tw_packed *p);

/*
 * Whether a fall of a counter is not a reset: it lost at most a hundredth, such as a
 * rounding step or the time that a kernel corrects.
 */
bool tw_counter_dips(double before, double value);

/* The first and the last number; the sequence is not empty. */
double tw_packed_first(const struct tw_packed *p);
double tw_packed_last(const struct tw_packed *p); /* linear time */

/* Reads a sequence from its start. */
struct tw_unpack {
	const struct tw_packed *packed;
	size_t at; /* number of values read */
	int64_t whole;
	uint64_t mask;
	double scale;
};

struct tw_unpack tw_unpack_begin(const struct tw_packed *p);

/* The next number. Call it at most count times. */
double tw_unpack_next(struct tw_unpack *u);

/* ---- the response ---- */

struct tw_label {
	const char *name, *value;
};

/*
 * A series with at least one sample. Lives as long as its response. Equal label texts are
 * stored once: comparing addresses compares texts.
 */
struct tw_series {
	const struct tw_label *label;
	uint32_t labels;
	bool guest; /* of a VM: its job is "vm", or VM_JOB_NAME of the environment */
	struct tw_packed time_ms, value; /* of equal length */
};

/* Environment variables of the Kepler programs that are read here, for
 * tw_kepler_keys_load(); ends with NULL. */
extern const char *const tw_guest_keys[];

struct tw_prom_metric {
	const char *name;
	struct tw_series *series;
	size_t count, size;
	struct tw_schema_metric thirdparty; /* the metric as a feature of its own name */
};

struct tw_prom {
	struct tw_intern shared; /* texts and lists of labels */
	struct tw_arena arena;   /* samples */
	struct tw_prom_metric *metric;
	size_t count;
	char partial[128]; /* why series may be missing, as the server said; "": none are
			    */
};

/* An empty response; NULL, with an error, without memory. */
struct tw_prom *tw_prom_new(struct tw_err *err);

/* A metric without series. The name is borrowed. */
struct tw_prom_metric tw_prom_metric(const char *name);

/* Index of the metric of that name, which is added if new. */
int tw_prom_add_metric(struct tw_prom *p, const char *name, size_t len, size_t *out,
		       struct tw_err *err);

/* Append a series to a metric. Label texts are interned in p->shared, times are whole. */
int tw_prom_add_series(struct tw_prom *p, size_t metric, const struct tw_label *label,
		       size_t labels, const double *time_ms, const double *value,
		       size_t samples, struct tw_err *err);

/* Series of a metric; NULL and *count 0 where the response has none. */
const struct tw_series *tw_prom_series(const struct tw_prom *p, const char *metric,
				       size_t *count);

/* Number of samples of the longest series. */
size_t tw_prom_longest(const struct tw_prom *p);

/*
 * Declare third-party metrics gauges, whatever their names end in: their features are
 * means over each row. To be called before machines are told apart.
 */
void tw_prom_declare_gauges(struct tw_prom *p, const struct tw_strs *names);

/*
 * The metric as a feature of its own name, independent of schemas: the mean of a declared
 * gauge; else the rate of a counter if the name ends in _total, else the value of a
 * gauge. NULL if the response has no series of it. Lives as long as the response.
 */
const struct tw_schema_metric *tw_prom_thirdparty_metric(const struct tw_prom *p,
							 const char *metric);

/* Text of a label, or NULL. Labels that no schema uses are not stored. */
const char *tw_series_label(const struct tw_series *s, const char *name);

/* Labels that identify the series in an error: "container_id=051435f9456b mode=idle". */
void tw_series_describe(const struct tw_series *s, char *out, size_t size);

void tw_prom_free(struct tw_prom *p); /* NULL is fine */

/* Append the response as text, which trainer/response/prom.h reads. A failed allocation
 * marks the buffer. */
void tw_prom_text(const struct tw_prom *p, struct tw_buf *out);

#endif /* TW_TRAINER_PROM_STORE_H */
