/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_EXPO_H
#define TW_EXPO_H

/*
 * Metrics in the text format of Prometheus 0.0.4, or in OpenMetrics 1.0 if the scraper
 * asks for it:
 *
 *	struct tw_expo e = { .out = &buf, .format = tw_expo_wanted(accept) };
 *
 *	tw_expo_family(&e, &requests);
 *	tw_expo_sample(&e, labels, 2, 17);
 *	tw_expo_end(&e);
 *
 * All samples of a family follow its tw_expo_family(). A failed allocation marks the
 * buffer (lib/core/buf.h).
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

/* A metric family: a const entry. */
struct tw_expo_family {
	/*
	 * Name of the samples. A counter's ends in "_total", an info's in "_info"; the
	 * unit, if any, comes before that.
	 */
	const char *name;
	enum tw_expo_type type;
	const char *unit; /* "seconds", "bytes", "watts"; NULL: none */
	const char *help; /* one line */
};

/*
 * In a label's value, malformed UTF-8 becomes U+FFFD, and a control character other than
 * a newline becomes text, such as "\x1b".
 */
struct tw_expo_label {
	const char *name;  /* a plain identifier */
	const char *value; /* any text; see below */
};

/* Formatted labels, for use in many samples. */
struct tw_expo_text {
	const char *text; /* a="b",c="d" */
	size_t len;
};

struct tw_expo {
	struct tw_buf *out;
	enum tw_expo_format format;
	const struct tw_expo_family *family; /* of the samples that follow */
	/*
	 * Called now and then, between two lines; it may take the text from out. NULL:
	 * the text stays in out.
	 */
	void (*drain)(void *arg);
	void *drain_arg;
};

/* The format with the larger weight in an Accept header (NULL: none); else text. */
enum tw_expo_format tw_expo_wanted(const char *accept);

/* The Content-Type. */
const char *tw_expo_content_type(enum tw_expo_format format);

/* Write HELP, TYPE and, in OpenMetrics, UNIT. f must live until its last sample. */
void tw_expo_family(struct tw_expo *e, const struct tw_expo_family *f);

/* Write a sample. The family is not a histogram. */
void tw_expo_sample(struct tw_expo *e, const struct tw_expo_label *labels, size_t count,
		    double value);

/* Write a sample of a 64 bit count, exactly. */
void tw_expo_count(struct tw_expo *e, const struct tw_expo_label *labels, size_t count,
		   uint64_t value);

/* Append formatted labels to out, for tw_expo_fixed(). */
void tw_expo_add_labels(struct tw_buf *out, const struct tw_expo_label *labels,
			size_t count);

/*
 * Write a sample of value / 10^decimals, exactly; decimals is at most 18. The labels are
 * the concatenation of texts; empty ones are skipped.
 */
void tw_expo_fixed(struct tw_expo *e, const struct tw_expo_text *texts, size_t count,
		   uint64_t value, unsigned decimals);

/*
 * Write a histogram. count_of[i] observations are at most bound[i] and above bound[i -
 * 1]; count_of[bounds] are above all bounds. The function cumulates them.
 */
void tw_expo_histogram(struct tw_expo *e, const struct tw_expo_label *labels,
		       size_t count, const double *bound, size_t bounds,
		       const uint64_t *count_of, double sum);

/* End the exposition: OpenMetrics has an end marker. */
void tw_expo_end(struct tw_expo *e);

#endif /* TW_EXPO_H */
