/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ARRAY_H
#define TW_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Number of entries of an array. Wrong for a pointer. */
#define TW_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/*
 * Arrays that grow. `array` is the address of the pointer to the elements, `each` the
 * size of an element in bytes. New elements are not set. Without memory the functions
 * return false and change nothing.
 */

/* Make room for count elements, at least 1. */
bool tw_resize(void *array, size_t count, size_t each);

/* Make room for one more than count elements; *size, the room so far, doubles. */
bool tw_grow(void *array, size_t *size, size_t count, size_t each);

#endif /* TW_ARRAY_H */
