/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_OPT_FILE_H
#define TW_OPT_FILE_H

/*
 * Files with lines "name = value". Blank lines and lines that start with '#' are skipped.
 */

#include <stddef.h>

struct tw_err;
struct tw_strs;

/*
 * Read a file into a list of name, value, name, value. names, which ends with NULL, are
 * the allowed ones. Unknown and repeated names are rejected: "etc/x.conf:7: unknown
 * option 'lisen'".
 */
int tw_opt_file_read(const char *path, const char *const *names, struct tw_strs *out,
		     struct tw_err *err);

/* As tw_opt_file_read(), from text in memory. path is used in errors only. */
int tw_opt_file_parse(const char *path, const char *data, size_t len,
		      const char *const *names, struct tw_strs *out, struct tw_err *err);

/* The value of a name, or NULL. Borrowed from the list. */
const char *tw_opt_file_find(const struct tw_strs *file, const char *name);

#endif /* TW_OPT_FILE_H */
