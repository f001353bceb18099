/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ERR_H
#define TW_ERR_H

/*
 * Error values.
 *
 * A function that can fail takes a `struct tw_err *` as its last parameter and
 * returns 0 on success or -1 on failure. It never returns any other value. On
 * failure the error has a code (what the caller may act upon) and one line of
 * text (what a person reads; control bytes in what it quotes become '?'). On success the
 * error is left untouched. All zero bytes is "no error": struct tw_err err = { 0 };
 *
 * The first failure wins: a later tw_fail() on the same error is ignored, so
 * cleanup code cannot hide the cause. Callers add context with tw_err_wrap().
 */

#include <stddef.h>

enum tw_code {
	TW_OK = 0,
	TW_NOMEM,       /* allocation failed */
	TW_IO,          /* read, write or network failure */
	TW_PARSE,       /* input is not what its format says */
	TW_INVALID,     /* well-formed, but not acceptable */
	TW_NOTFOUND,    /* no such model, file, device, name */
	TW_UNSUPPORTED, /* kernel, CPU or build lacks it */
	TW_DENIED,      /* not permitted */
	TW_CODE_COUNT
};

#define TW_ERR_TEXT 256

struct tw_err {
	enum tw_code code;
	char text[TW_ERR_TEXT];
};

/* No error again. The same as { 0 }, and faster: for what runs for each request. */
static inline void tw_err_clear(struct tw_err *err)
{
	err->code = TW_OK;
	err->text[0] = '\0';
}

/*
 * Record a failure. Always returns -1, so that it can be returned as is. With TW_NOMEM
 * the text is for what there was no memory; ": out of memory" is added.
 */
int tw_fail(struct tw_err *err, enum tw_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* As tw_fail(), with a code and ": strerror" made from a saved errno value. */
int tw_fail_errno(struct tw_err *err, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Put "context: " before the text of an error already recorded. Returns -1. */
int tw_err_wrap(struct tw_err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Short stable word for a code: "not-found". Test cases name what they expect by it. */
const char *tw_code_name(enum tw_code code);

#endif /* TW_ERR_H */
