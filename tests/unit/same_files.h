/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_SAME_FILES_H
#define TW_TEST_SAME_FILES_H

struct tw_fileset;

/* The same names with the same bytes in the same order, or the test fails. */
void same_files(const struct tw_fileset *a, const struct tw_fileset *b);

#endif /* TW_TEST_SAME_FILES_H */
