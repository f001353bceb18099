/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_JSAX_H
#define TW_JSAX_H

/*
 * A streaming JSON parser: takes bytes in pieces of any size, reports events. Memory is
 * bounded by the longest string, not by the document. For large documents (Prometheus
 * responses) and streams of documents without a length (estimator requests).
 *
 * Strict RFC 8259: UTF-8 is checked, \u escapes are decoded. Control characters in
 * strings, lone surrogates, leading zeros and trailing commas are rejected. Errors give
 * the offset: "byte 1234: expected ',' or '}'".
 *
 * Own code, because jansson builds a tree of the whole document. On a Prometheus response
 * of 30 MB, jansson 2.14 loads 21 MB/s and this parses 800 MB/s (gcc 12 -O2, an AMD
 * EPYC). The goal for a whole extraction is 150 MB/s (docs/bench.md, "Large responses").
 * Parsing POST /model as events took 0.9 to 2 us, as jansson's tree 3.6 to 7 us. Small
 * documents go through lib/json/json.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_jsax;

enum tw_jsax_type {
	TW_JSAX_OBJECT,     /* { */
	TW_JSAX_OBJECT_END, /* } */
	TW_JSAX_ARRAY,      /* [ */
	TW_JSAX_ARRAY_END,  /* ] */
	TW_JSAX_KEY,        /* text, len */
	TW_JSAX_TEXT,       /* text, len */
	TW_JSAX_NUMBER,     /* number */
	TW_JSAX_TRUE,
	TW_JSAX_FALSE,
	TW_JSAX_NULL,
};

/* "an object", "a string", ...: for errors. */
const char *tw_jsax_type_name(enum tw_jsax_type type);

struct tw_jsax_event {
	enum tw_jsax_type type;
	unsigned depth;   /* number of enclosing containers; 0 for the top value */
	const char *text; /* valid during the callback; not NUL-terminated */
	size_t len;
	double number;
	uint64_t offset; /* of the event's first byte in the document */
};

/* Whether the text of a key or string is exactly this. */
bool tw_jsax_is_text(const struct tw_jsax_event *e, const char *text);

/*
 * Called for each event. Return 0 to continue, or -1 with err set to stop; tw_jsax_feed()
 * then fails with that error.
 */
typedef int tw_jsax_fn(void *arg, const struct tw_jsax_event *e, struct tw_err *err);

struct tw_jsax_limits {
	unsigned depth;    /* of nesting, at most 64 */
	size_t text_bytes; /* of one decoded string */
};

/* Make a parser. *out is yours: tw_jsax_free(). */
int tw_jsax_new(const struct tw_jsax_limits *limits, tw_jsax_fn *fn, void *arg,
		struct tw_jsax **out, struct tw_err *err);

/*
 * Parse the next bytes. *used is the number consumed: all, or those up to the end of the
 * document. At the end tw_jsax_done() becomes true, and the remaining bytes belong to the
 * caller. (A number at top level ends at the byte after it.) After a failure call
 * tw_jsax_reset() or tw_jsax_free() only.
 */
int tw_jsax_feed(struct tw_jsax *p, const char *data, size_t len, size_t *used,
		 struct tw_err *err);

/* As tw_jsax_feed(), for a single document: only white space may follow it. */
int tw_jsax_feed_only(struct tw_jsax *p, const char *data, size_t len,
		      struct tw_err *err);

/* Whether the document is complete. */
bool tw_jsax_done(const struct tw_jsax *p);

/* Whether any byte other than white space was consumed since the last reset. */
bool tw_jsax_started(const struct tw_jsax *p);

/*
 * End the input. Fails if the document is incomplete: "byte 17: cut short in a string".
 */
int tw_jsax_end(struct tw_jsax *p, struct tw_err *err);

/* Prepare for the next document. Memory is kept. */
void tw_jsax_reset(struct tw_jsax *p);

void tw_jsax_free(struct tw_jsax *p); /* NULL is fine */

/* Parse data[0..len) as one document. Only white space may follow it. */
int tw_jsax_parse(const struct tw_jsax_limits *limits, tw_jsax_fn *fn, void *arg,
		  const char *data, size_t len, struct tw_err *err);

/* Parse a file as one document, in pieces of 256 KiB. */
int tw_jsax_read(const struct tw_jsax_limits *limits, tw_jsax_fn *fn, void *arg,
		 const char *path, struct tw_err *err);

#endif /* TW_JSAX_H */
