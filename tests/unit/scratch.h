/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_SCRATCH_H
#define TW_TEST_SCRATCH_H

/* A new empty directory below TMPDIR. The test fails if there can be none. */
char *scratch_new(void);

/* Remove the directory with all that is in it, and free its name. NULL is fine. */
void scratch_free(char *dir);

/* Set-up and tear-down of tests whose state is such a directory. */
int scratch_set_up(void **state);
int scratch_tear_down(void **state);

/* The path of a name in a directory; yours. */
char *scratch_path(const char *dir, const char *name);

#endif /* TW_TEST_SCRATCH_H */
