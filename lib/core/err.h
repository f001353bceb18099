/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ERR_H
#define TW_ERR_H

/*
 * Error values.
 *
 * A function that can fail takes a `struct tw_err *` as its last parameter. It returns 0
 * on success and -1 on failure, and no other value. On failure the error has a code, for
 * the caller, and one line of text, for a person. Bytes of control characters in the
 * text, and of those that turn its direction, become '?'. On success the error is left
 * untouched. All zero bytes is "no error": struct tw_err err = { 0 };
 *
 * The first failure wins. A later tw_fail() on the same error is ignored, so cleanup code
 * cannot hide the cause. Callers add context with tw_err_wrap().
 */

enum tw_code {
	TW_OK = 0,
	TW_NOMEM,       /* allocation failed */
	TW_IO,          /* read, write or network failure */
	TW_PARSE,       /* input violates its format */
	TW_INVALID,     /* well-formed, but not acceptable */
	TW_NOTFOUND,    /* no such model, file, device or name */
	TW_UNSUPPORTED, /* the kernel, CPU or build lacks it */
	TW_DENIED,      /* not permitted */
	TW_CODE_COUNT
};

/* Size of the text, NUL included. A longer text ends after a whole word, with "..". */
#define TW_ERR_TEXT 256

struct tw_err {
	enum tw_code code;
	char text[TW_ERR_TEXT];
};

/* Reset to "no error". Faster than { 0 }, which writes the whole text: for hot paths. */
static inline void tw_err_clear(struct tw_err *err)
{
	err->code = TW_OK;
	err->text[0] = '\0';
}

/*
 * Record a failure. Always returns -1, so that callers can return it as is. With
 * TW_NOMEM the text names the object to allocate; ": out of memory" is added.
 */
int tw_fail(struct tw_err *err, enum tw_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* As tw_fail(), with the code and ": strerror" of a saved errno value. */
int tw_fail_errno(struct tw_err *err, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Put "context: " before the text of an error already recorded. Returns -1. */
int tw_err_wrap(struct tw_err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Compilers and analyzers see only declarations: show them the value that all three
 * return. */
static inline int tw_failed(int rc)
{
	(void)rc;
	return -1;
}

#define tw_fail(...) tw_failed((tw_fail)(__VA_ARGS__))
#define tw_fail_errno(...) tw_failed((tw_fail_errno)(__VA_ARGS__))
#define tw_err_wrap(...) tw_failed((tw_err_wrap)(__VA_ARGS__))

#endif /* TW_ERR_H */
