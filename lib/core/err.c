/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Defined here: the functions themselves. */
#undef tw_fail
#undef tw_fail_errno
#undef tw_err_wrap

static enum tw_code code_from_errno(int errnum)
{
	switch (errnum) {
	case ENOMEM:
		return TW_NOMEM;
	case ENOENT:
	case ENODEV:
	case ENXIO:
		return TW_NOTFOUND;
	case EACCES:
	case EPERM:
		return TW_DENIED;
	case ENOSYS:
	case EOPNOTSUPP:
		return TW_UNSUPPORTED;
	default:
		return TW_IO;
	}
}

/*
 * The bytes of a control character: of ASCII, of C1 (U+0080 to U+009F), which terminals
 * obey, too, or one that turns the direction of text, and so shows another text. 0: none.
 */
static size_t control_length(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;

	if (c[0] < 0x20 || c[0] == 0x7f)
		return 1;
	if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
		return 2;
	/* U+061C; U+200E, U+200F, U+202A to U+202E; U+2066 to U+2069. */
	if (c[0] == 0xd8 && c[1] == 0x9c)
		return 2;
	if (c[0] == 0xe2 && c[1] == 0x80 &&
	    (c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xaa && c[2] <= 0xae)))
		return 3;
	return c[0] == 0xe2 && c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9 ? 3 : 0;
}

/* Replace control characters: texts quote untrusted input, and an error is one line. */
static void keep_one_line(char text[TW_ERR_TEXT])
{
	for (size_t i = 0; text[i] != '\0'; i++)
		for (size_t n = control_length(text + i); n > 0; n--)
			text[i + n - 1] = '?';
}

/*
 * End a text that did not fit after a whole word, with "..". A word that fills half of
 * the text is cut between two characters.
 */
static void mark_cut(char text[TW_ERR_TEXT])
{
	static const char mark[] = " ..";
	size_t end = TW_ERR_TEXT - sizeof(mark), at = end;

	while (at > TW_ERR_TEXT / 2 && text[at] != ' ')
		at--;
	if (text[at] == ' ')
		end = at;
	while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
		end--;
	strcpy(text + end, mark);
}

/* Append to a text of used bytes, and finish it. */
static void finish(char text[TW_ERR_TEXT], size_t used, const char *more)
{
	const size_t len = strlen(more);

	if (used < TW_ERR_TEXT && used + len < TW_ERR_TEXT) {
		memcpy(text + used, more, len + 1);
	} else {
		if (used < TW_ERR_TEXT)
			snprintf(text + used, TW_ERR_TEXT - used, "%s", more);
		mark_cut(text);
	}
	keep_one_line(text);
}

/* The length that the text would have without a limit; 0 if fmt is invalid. */
static size_t format(char text[TW_ERR_TEXT], const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

static size_t format(char text[TW_ERR_TEXT], const char *fmt, va_list ap)
{
	const int len = vsnprintf(text, TW_ERR_TEXT, fmt, ap);

	return len > 0 ? (size_t)len : 0;
}

int tw_fail(struct tw_err *err, enum tw_code code, const char *fmt, ...)
{
	static const char no_memory[] = "out of memory";
	char more[sizeof(no_memory) + 2] = "";
	size_t used;
	va_list ap;

	assert(err != NULL && code != TW_OK);
	if (err->code != TW_OK)
		return -1;

	err->code = code;
	va_start(ap, fmt);
	used = format(err->text, fmt, ap);
	va_end(ap);
	/* A text copied from another TW_NOMEM error already has the words. */
	if (code == TW_NOMEM && strstr(err->text, no_memory) == NULL)
		snprintf(more, sizeof(more), ": %s", no_memory);
	finish(err->text, used, more);
	return -1;
}

int tw_fail_errno(struct tw_err *err, int errnum, const char *fmt, ...)
{
	char more[128];
	size_t used;
	va_list ap;

	assert(err != NULL);
	if (err->code != TW_OK)
		return -1;

	err->code = code_from_errno(errnum);
	va_start(ap, fmt);
	used = format(err->text, fmt, ap);
	va_end(ap);
	snprintf(more, sizeof(more), ": %s", strerror(errnum));
	finish(err->text, used, more);
	return -1;
}

int tw_err_wrap(struct tw_err *err, const char *fmt, ...)
{
	char more[TW_ERR_TEXT + 2];
	size_t used;
	va_list ap;

	assert(err != NULL && err->code != TW_OK);
	snprintf(more, sizeof(more), ": %s", err->text);

	va_start(ap, fmt);
	used = format(err->text, fmt, ap);
	va_end(ap);
	finish(err->text, used, more);
	return -1;
}
