/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_IN_USE_H
#define TW_TEST_IN_USE_H

#include <stddef.h>

/*
 * The bytes that malloc() has given out, and those that it keeps for the next small
 * blocks: some KiB. Sanitizers, which look for leaks themselves, always answer the same.
 */
size_t bytes_in_use(void);

#endif /* TW_TEST_IN_USE_H */
