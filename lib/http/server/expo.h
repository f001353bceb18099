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
 *
 * A program declares its families in const tables, so that it can also list them
 * (tw_expo_list()).
 */

#include "lib/core/array.h"
#include "lib/core/num.h"

#include <stdbool.h>
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
	 * unit, if any, comes before that. At most TW_EXPO_NAME bytes.
	 */
	const char *name;
	enum tw_expo_type type;
	const char *unit; /* "seconds", "bytes", "watts"; NULL: none */
	const char *help; /* one line of at most TW_EXPO_HELP bytes */
};

#define TW_EXPO_NAME 95
#define TW_EXPO_HELP 255

/* A family whose samples are numbers of objects: TW_EXPO_ROW(). */
struct tw_expo_row {
	struct tw_expo_family family;
	size_t at; /* of the number in the object */
	enum {
		TW_EXPO_U64, /* and size_t */
		TW_EXPO_U32,
		TW_EXPO_I64,
		TW_EXPO_DOUBLE, /* NaN: no sample */
		TW_EXPO_BOOL,
	} number;
	double per; /* units of the number in a unit of the sample: 1e9 for ns */
};

/* type and unit are those of struct tw_expo_family; per 1: the number as it is. */
#define TW_EXPO_ROW(name, type, unit, help, object, member, per)      \
	{                                                             \
		{ name, type, unit, help }, offsetof(object, member), \
			_Generic(((object *)NULL)->member, uint64_t   \
				 : TW_EXPO_U64, uint32_t              \
				 : TW_EXPO_U32, int64_t               \
				 : TW_EXPO_I64, double                \
				 : TW_EXPO_DOUBLE, bool               \
				 : TW_EXPO_BOOL),                     \
			per                                           \
	}

/* Replaces each '*' in the name and the help of a family. */
struct tw_expo_level {
	const char *name; /* "container" */
	const char *what; /* "a container" */
};

/* Families of a program, once for each level. */
struct tw_expo_table {
	const struct tw_expo_family *first;
	size_t count, size; /* size: of the rows, which begin with a family */
	const struct tw_expo_level *level;
	size_t levels; /* 0: the families have no level */
};

/* A table of an array of families, or of structs that begin with one. */
#define TW_EXPO_TABLE(rows) TW_EXPO_TABLE_OF(rows, NULL, 0)
#define TW_EXPO_TABLE_OF(rows, of_level, level_count)                                    \
	{                                                                                \
		.first = (const struct tw_expo_family *)(rows), .count = TW_COUNT(rows), \
		.size = sizeof((rows)[0]), .level = (of_level), .levels = (level_count)  \
	}

/*
 * In a label's value, malformed UTF-8 becomes U+FFFD, and a control character other than
 * a newline becomes text, such as "\x1b".
 */
struct tw_expo_label {
	const char *name;  /* a plain identifier */
	const char *value; /* any text; see below */
};

#define TW_LABELS_MAX 16

/* The labels of a sample. */
struct tw_labels {
	struct tw_expo_label at[TW_LABELS_MAX];
	size_t count;
	char text[2][24]; /* room for values */
};

/* Append a label; value NULL: "". Those beyond TW_LABELS_MAX are left out. */
void tw_labels_add(struct tw_labels *l, const char *name, const char *value);

/* Formatted labels, for use in many samples. */
struct tw_expo_text {
	const char *text; /* a="b",c="d" */
	size_t len;
};

struct tw_expo {
	struct tw_buf *out;
	enum tw_expo_format format;
	/* The family of the samples that follow; set by tw_expo_family(). */
	const struct tw_expo_family *family;
	char name[TW_EXPO_NAME + 1];
	size_t name_len;
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

/* As tw_expo_family(), for a level. */
void tw_expo_family_of(struct tw_expo *e, const struct tw_expo_family *f,
		       const struct tw_expo_level *level);

/* Write a sample. The family is not a histogram. */
void tw_expo_sample(struct tw_expo *e, const struct tw_expo_label *labels, size_t count,
		    double value);

/* Write a sample of a 64 bit count, exactly. */
void tw_expo_count(struct tw_expo *e, const struct tw_expo_label *labels, size_t count,
		   uint64_t value);

/* Write a family with one sample, without labels. */
void tw_expo_single(struct tw_expo *e, const struct tw_expo_family *f, uint64_t value);

/* Write the sample of a row, whose family was written. */
void tw_expo_number(struct tw_expo *e, const struct tw_expo_row *r,
		    const struct tw_labels *l, const void *object);

/* Write families of one sample each, without labels: the numbers of object. */
void tw_expo_numbers(struct tw_expo *e, const struct tw_expo_row *r, size_t count,
		     const void *object);

/* Write a sample of a count with one label. */
void tw_expo_count_by(struct tw_expo *e, const char *label, const char *value,
		      uint64_t count);

/* Append formatted labels to out, for tw_expo_fixed(). */
void tw_expo_add_labels(struct tw_buf *out, const struct tw_expo_label *labels,
			size_t count);

/*
 * Write a sample of value / 10^decimals, exactly; decimals is at most 18. The labels are
 * the concatenation of texts; empty ones are skipped.
 */
void tw_expo_fixed(struct tw_expo *e, const struct tw_expo_text *texts, size_t count,
		   tw_u128 value, unsigned decimals);

/*
 * Write a histogram. count_of[i] observations are at most bound[i] and above bound[i -
 * 1]; count_of[bounds] are above all bounds. The function cumulates them.
 */
void tw_expo_histogram(struct tw_expo *e, const struct tw_expo_label *labels,
		       size_t count, const double *bound, size_t bounds,
		       const uint64_t *count_of, double sum);

/*
 * Append a line of each family of tables, which end with a first that is NULL: name,
 * type, unit ("-": none) and help, with tabs between them.
 */
void tw_expo_list(struct tw_buf *out, const struct tw_expo_table *tables);

/* End the exposition: OpenMetrics has an end marker. */
void tw_expo_end(struct tw_expo *e);

#endif /* TW_EXPO_H */
