/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_STD_FILES_H
#define TW_STD_FILES_H

#include <stdbool.h>

/*
 * Open /dev/null in place of standard input, output and error where they are closed, so
 * that no socket and no model gets the number of standard error, and the log with it. To
 * read such an input or to write such an output remains an error. Call it first in
 * main(). False if there is no /dev/null.
 */
bool tw_std_files_open(void);

#endif /* TW_STD_FILES_H */
