/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/core/err.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Make room for len more bytes and a NUL. False, and failed set, if there is none. */
static bool reserve(struct tw_buf *b, size_t len)
{
	size_t need, size;
	char *data;

	if (b->failed)
		return false;
	if (len > SIZE_MAX - b->len - 1)
		goto fail;
	need = b->len + len + 1;
	if (b->limit != 0 && need > b->limit)
		goto fail;
	if (need <= b->size)
		return true;

	size = b->size != 0 ? b->size : 64;
	while (size < need)
		size = size > SIZE_MAX / 2 ? need : size * 2;
	if (b->limit != 0 && size > b->limit)
		size = b->limit;
	data = realloc(b->data, size);
	if (data == NULL)
		goto fail;
	b->data = data;
	b->size = size;
	return true;

fail:
	b->failed = true;
	return false;
}

void tw_buf_grow_add(struct tw_buf *b, const void *data, size_t len)
{
	if (!reserve(b, len))
		return;
	if (len > 0)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void tw_buf_addf(struct tw_buf *b, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		b->failed = true;
	else if (reserve(b, (size_t)n)) {
		vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
}

bool tw_buf_failed(const struct tw_buf *b)
{
	return b->failed;
}

int tw_buf_check(const struct tw_buf *b, struct tw_err *err)
{
	return b->failed ? tw_fail(err, TW_NOMEM, "text of %zu bytes", b->len) : 0;
}

char *tw_buf_detach(struct tw_buf *b, size_t *len)
{
	char *data = NULL;

	if (!b->failed && reserve(b, 0)) {
		b->data[b->len] = '\0';
		if (len != NULL)
			*len = b->len;
		data = b->data;
		b->data = NULL;
	}
	tw_buf_clear(b);
	return data;
}

void tw_buf_clear(struct tw_buf *b)
{
	free(b->data);
	b->data = NULL;
	b->len = 0;
	b->size = 0;
	b->failed = false;
}
