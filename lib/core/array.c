/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_FIRST 16

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
