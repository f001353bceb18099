/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"

#include "lib/core/err.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_FIRST 16

int tw_new(void *pointer, size_t count, size_t each, struct tw_err *err)
{
	void *at = calloc(count > 0 ? count : 1, each);

	/* The pointer has another type than void *: copy its bytes. */
	memcpy(pointer, &at, sizeof(at));
	return at != NULL ? 0 : tw_fail(err, TW_NOMEM, "%zu x %zu bytes", count, each);
}

bool tw_resize(void *array, size_t count, size_t each)
{
	void *at;

	if (count > SIZE_MAX / each)
		return false;
	/* The pointer has another type than void *: copy its bytes. */
	memcpy(&at, array, sizeof(at));
	at = realloc(at, count * each);
	if (at == NULL)
		return false;
	memcpy(array, &at, sizeof(at));
	return true;
}

bool tw_grow(void *array, size_t *size, size_t count, size_t each)
{
	const size_t more = *size > 0 ? 2 * *size : SIZE_FIRST;

	if (count < *size)
		return true;
	if (!tw_resize(array, more, each))
		return false;
	*size = more;
	return true;
}
