/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_QUICK_H
#define TW_TEST_QUICK_H

#include <stdbool.h>

/* Whether tests take smaller inputs: TW_TEST_QUICK is set (tests/checks.mk). */
bool quick(void);

#endif /* TW_TEST_QUICK_H */
