/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"

#include "lib/core/array.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
	[TW_OK] = "ok",
	[TW_NOMEM] = "no-memory",
	[TW_IO] = "io",
	[TW_PARSE] = "parse",
	[TW_INVALID] = "invalid",
	[TW_NOTFOUND] = "not-found",
	[TW_UNSUPPORTED] = "unsupported",
	[TW_DENIED] = "denied",
};

_Static_assert(TW_COUNT(names) == TW_CODE_COUNT, "every tw_code needs a name");

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

const char *tw_code_name(enum tw_code code)
{
	if ((unsigned)code >= TW_CODE_COUNT)
		return "unknown";
	return names[code];
}

/*
 * Replace control bytes: texts quote untrusted input, and an error must stay one line.
 * Remove a UTF-8 sequence that truncation cut.
 */
static void keep_one_line(char text[TW_ERR_TEXT])
{
	size_t len = strlen(text), cut = len;

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			text[i] = '?';
	if (len + 1 < TW_ERR_TEXT)
		return;
	while (cut > 0 && ((unsigned char)text[cut - 1] & 0xc0) == 0x80)
		cut--;
	if (cut > 0 && (unsigned char)text[cut - 1] >= 0xc0)
		text[cut - 1] = '\0';
}

/* A text copied from another TW_NOMEM error already has the words. */
static void add_no_memory(char text[TW_ERR_TEXT])
{
	static const char why[] = "out of memory";
	const size_t used = strlen(text);

	if (strstr(text, why) == NULL)
		snprintf(text + used, TW_ERR_TEXT - used, ": %s", why);
}

int tw_fail(struct tw_err *err, enum tw_code code, const char *fmt, ...)
{
	va_list ap;

	assert(err != NULL && code != TW_OK);
	if (err->code != TW_OK)
		return -1;

	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	if (code == TW_NOMEM)
		add_no_memory(err->text);
	keep_one_line(err->text);
	return -1;
}

int tw_fail_errno(struct tw_err *err, int errnum, const char *fmt, ...)
{
	size_t used;
	va_list ap;

	assert(err != NULL);
	if (err->code != TW_OK)
		return -1;

	err->code = code_from_errno(errnum);
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);

	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", strerror(errnum));
	keep_one_line(err->text);
	return -1;
}

int tw_err_wrap(struct tw_err *err, const char *fmt, ...)
{
	char inner[TW_ERR_TEXT];
	size_t used;
	va_list ap;

	assert(err != NULL && err->code != TW_OK);
	memcpy(inner, err->text, sizeof(inner));

	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);

	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", inner);
	keep_one_line(err->text);
	return -1;
}
