/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_LIBRARY_H
#define TW_COLLECTOR_LIBRARY_H

/*
 * A library of a driver, loaded at run time: builds need no file of it. A table says
 * which of its functions become which members of a struct.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_err;

/* Alternative names of a member: the first that the library has is used. */
struct tw_symbol {
	const char *name;
	size_t offset; /* of the member, a pointer to a function */
	bool needed;   /* without it the library is of no use */
};

#define TW_SYMBOL(type, member, name, needed)        \
	{                                            \
		name, offsetof(type, member), needed \
	}

/*
 * Load the library (file as in dlopen()) and set the members of *into, which are NULL.
 * *library is yours: tw_library_close(). A wanted function that is missing stays NULL.
 */
int tw_library_open(const char *file, const struct tw_symbol *symbols, size_t count,
		    void *into, void **library, struct tw_err *err);
void tw_library_close(void *library); /* NULL is fine */

#endif /* TW_COLLECTOR_LIBRARY_H */
