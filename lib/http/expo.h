/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_EXPO_H
#define TW_EXPO_H

/*
 * What Prometheus scrapes: metrics as its text format 0.0.4, or as OpenMetrics 1.0 where
 * the scraper asks for that. One writer knows how the two differ:
 *
 *	struct tw_expo e = { .out = &buf, .format = tw_expo_wanted(accept) };
 *
 *	tw_expo_family(&e, &requests);
 *	tw_expo_sample(&e, labels, 2, 17);
 *	tw_expo_end(&e);
 *
 * Families are written whole, one after the other. Failures stick to the buffer.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_buf;

enum tw_expo_format {
	TW_EXPO_TEXT,
	TW_EXPO_OPENMETRICS,
};

enum tw_expo_type {
	TW_EXPO_COUNTER,
	TW_EXPO_GAUGE,
	TW_EXPO_HISTOGRAM,
	TW_EXPO_INFO, /* a gauge that is always 1, for its labels */
};

/* A metric: a const entry. */
struct tw_expo_family {
	/*
	 * As scraped: a counter's ends in "_total", an info's in "_info", and before that
	 * with the unit, if any.
	 */
	const char *name;
	enum tw_expo_type type;
	const char *unit; /* "seconds", "bytes", "watts"; NULL: none */
	const char *help; /* one line */
};

struct tw_expo_label {
	const char *name;  /* a plain identifier */
	const char *value; /* any text; bytes that are no UTF-8 become U+FFFD */
};

/* Labels as they are written, made once for many samples. */
struct tw_expo_text {
	const char *text; /* a="b",c="d" */
	size_t len;
};

struct tw_expo {
	struct tw_buf *out;
	enum tw_expo_format format;
	const struct tw_expo_family *family; /* the last one begun */
};

/* The format that an Accept header (NULL: none) likes best; text if it likes neither. */
enum tw_expo_format tw_expo_wanted(const char *accept);

/* The Content-Type. */
const char *tw_expo_content_type(enum tw_expo_format format);

/* Begin a family: its HELP, TYPE and, in OpenMetrics, UNIT. f must outlive its samples.
 */
void tw_expo_family(struct tw_expo *e, const struct tw_expo_family *f);

/* A sample of the family, which is no histogram. */
void tw_expo_sample(struct tw_expo *e, const struct tw_expo_label *labels, size_t count,
		    double value);

/* The same for a count, exact to 64 bits. */
void tw_expo_count(struct tw_expo *e, const struct tw_expo_label *labels, size_t count,
		   uint64_t value);

/* Append the text of labels to out. */
void tw_expo_add_labels(struct tw_buf *out, const struct tw_expo_label *labels,
			size_t count);

/* A sample of value / 10^decimals (at most 18), exact, with labels in several texts;
 * those that are empty are left out. */
void tw_expo_fixed(struct tw_expo *e, const struct tw_expo_text *texts, size_t count,
		   uint64_t value, unsigned decimals);

/*
 * A histogram: count_of[i] observations were at most bound[i] and above the one before;
 * count_of[bounds] were above all. Written as Prometheus wants it: summed up.
 */
void tw_expo_histogram(struct tw_expo *e, const struct tw_expo_label *labels,
		       size_t count, const double *bound, size_t bounds,
		       const uint64_t *count_of, double sum);

/* The end of the exposition; OpenMetrics wants it said. */
void tw_expo_end(struct tw_expo *e);

#endif /* TW_EXPO_H */
