/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_SHARED_H
#define TW_TEST_SHARED_H

#include <stddef.h>

/*
 * The recorded data and golden results, which are not part of the project: the
 * directory that TW_SHARED names, else ../shared.
 *
 * Puts the path of `name` in it into out. Where it is not there, says so loudly and
 * skips the running test, or fails it if TW_REQUIRE has "shared".
 */
void shared_path(char *out, size_t size, const char *name);

#endif /* TW_TEST_SHARED_H */
