/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_CODE_NAME_H
#define TW_TEST_CODE_NAME_H

#include "lib/core/err.h"

/* The word of a code in cases: "not-found". */
const char *code_name(enum tw_code code);

#endif /* TW_TEST_CODE_NAME_H */
