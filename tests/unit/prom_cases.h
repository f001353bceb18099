/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TESTS_PROM_CASES_H
#define TW_TESTS_PROM_CASES_H

/*
 * Cases of extraction, each a folder: DIR/<case>/input.json, and expect (the warnings, if
 * any, and the table) or error ("code: text").
 */

struct tw_extract_args;

/* Run all cases; print failed ones and fail the test. Returns the number of cases. */
int run_prom_cases(const char *dir, const struct tw_extract_args *args);

#endif /* TW_TESTS_PROM_CASES_H */
