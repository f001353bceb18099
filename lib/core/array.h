/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ARRAY_H
#define TW_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

struct tw_err;

/* Number of entries of an array. Wrong for a pointer. */
#define TW_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/*
 * Point *pointer at `count` zeroed elements of `each` bytes; at least one, so that NULL
 * always means failure. The caller frees them. Without memory *pointer is NULL, and the
 * error has the bytes that were wanted.
 */
int tw_new(void *pointer, size_t count, size_t each, struct tw_err *err);

/* The same for a pointer to the type of the elements. */
#define TW_NEW(pointer, count, err) tw_new(&(pointer), (count), sizeof(*(pointer)), (err))

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
