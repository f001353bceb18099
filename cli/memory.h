/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_MEMORY_H
#define TW_CLI_MEMORY_H

/*
 * Memory of commands. A command is short-lived: without memory the program ends, with one
 * line on stderr and the status of a failure. The libraries, which daemons use, too,
 * return TW_NOMEM.
 */

#include <stdbool.h>

/* Return the result of an allocation. NULL ends the program, and false does. */
void *tw_must(void *p) __attribute__((returns_nonnull));
void tw_must_have(bool done);

/* The formatted text, which the caller frees. */
char *tw_must_printf(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), returns_nonnull));

/* The same of what jansson allocates from now on. */
void tw_must_json(void);

#endif /* TW_CLI_MEMORY_H */
