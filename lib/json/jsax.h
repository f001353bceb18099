/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_JSAX_H
#define TW_JSAX_H

/*
 * Streaming JSON parser: bytes in, in pieces of any size; events out. Memory is
 * bounded by the nesting and by the longest single text, never by the document.
 * For what is large (Prometheus responses) or has no length (estimator requests,
 * which end where their JSON ends).
 *
 * Strict RFC 8259: UTF-8 is checked, \u escapes are decoded, control characters in
 * strings, lone surrogates, leading zeros, trailing commas are refused. Errors say
 * the offset: "byte 1234: expected ',' or '}'".
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

/* "an object", "a string", .. for errors. */
const char *tw_jsax_type_name(enum tw_jsax_type type);

struct tw_jsax_event {
	enum tw_jsax_type type;
	unsigned depth;   /* containers around it: 0 for the document itself */
	const char *text; /* valid during the call only; not NUL-terminated */
	size_t len;
	double number;
	uint64_t offset; /* of the event's first byte in the document */
};

/* Return 0 to go on, -1 with err set to stop: tw_jsax_feed() returns that failure. */
typedef int tw_jsax_fn(void *arg, const struct tw_jsax_event *e, struct tw_err *err);

struct tw_jsax_limits {
	unsigned depth;    /* at most 64 */
	size_t text_bytes; /* of one string, decoded */
};

int tw_jsax_new(const struct tw_jsax_limits *limits, tw_jsax_fn *fn, void *arg,
		struct tw_jsax **out, struct tw_err *err);

/*
 * Take the next bytes. *used is how many were consumed: all of them, or up to the
 * document's end, after which tw_jsax_done() is true and bytes belong to whatever
 * follows. (A number at top level ends at the byte behind it.) After a failure the
 * parser only takes tw_jsax_reset().
 */
int tw_jsax_feed(struct tw_jsax *p, const char *data, size_t len, size_t *used,
		 struct tw_err *err);

/* Whether a whole document has been seen. */
bool tw_jsax_done(const struct tw_jsax *p);

/* Whether anything but white space has been taken since the last reset. */
bool tw_jsax_started(const struct tw_jsax *p);

/* No more bytes: fails if the document is not whole ("byte 17: cut short in a string").
 */
int tw_jsax_end(struct tw_jsax *p, struct tw_err *err);

/* Ready for the next document; memory is kept. */
void tw_jsax_reset(struct tw_jsax *p);

void tw_jsax_free(struct tw_jsax *p); /* NULL is fine */

/* data[0..len) as one whole document, with nothing but white space behind it. */
int tw_jsax_parse(const struct tw_jsax_limits *limits, tw_jsax_fn *fn, void *arg,
		  const char *data, size_t len, struct tw_err *err);

/* A file as one such document, in pieces: memory does not grow with it. */
int tw_jsax_read(const struct tw_jsax_limits *limits, tw_jsax_fn *fn, void *arg,
		 const char *path, struct tw_err *err);

#endif /* TW_JSAX_H */
