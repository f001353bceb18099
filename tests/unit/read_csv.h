/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_READ_CSV_H
#define TW_TEST_READ_CSV_H

struct tw_dataset;

/* *out must be all zero; release it. The test fails if the text is no CSV. */
void read_csv(const char *text, struct tw_dataset *out);

#endif /* TW_TEST_READ_CSV_H */
