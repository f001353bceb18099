/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_SCRATCH_H
#define TW_TEST_SCRATCH_H

/* A new empty directory below TMPDIR. The test fails if there can be none. */
char *scratch_new(void);

/* Remove the directory with all that is in it, and free its name. NULL is fine. */
void scratch_free(char *dir);

#endif /* TW_TEST_SCRATCH_H */
