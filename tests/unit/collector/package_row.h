/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_PACKAGE_ROW_H
#define TW_TEST_PACKAGE_ROW_H

#include "lib/ask/ask.h"

/* A row of an agent's answer: energy of its package by rapl-sysfs, and 5 W. */
struct tw_ask_row package_row(const char *level, const char *id, uint64_t uj);

#endif /* TW_TEST_PACKAGE_ROW_H */
