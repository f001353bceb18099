/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_OPT_FILE_H
#define TW_OPT_FILE_H

/*
 * Configuration files: lines "name = value" with the names of an option table. Blank
 * lines and lines that start with '#' are skipped.
 */

#include <stddef.h>

struct tw_err;
struct tw_opts;
struct tw_strs;

/*
 * Read a configuration file into a list of name, value, name, value. Unknown and repeated
 * names are rejected: "etc/x.conf:7: unknown option 'lisen'".
 */
int tw_opt_file_read(const char *path, const struct tw_opts *o, struct tw_strs *out,
		     struct tw_err *err);

/* As tw_opt_file_read(), from text in memory. path is used in errors only. */
int tw_opt_file_parse(const char *path, const char *data, size_t len,
		      const struct tw_opts *o, struct tw_strs *out, struct tw_err *err);

/* The value of a name, or NULL. Borrowed from the list. */
const char *tw_opt_file_find(const struct tw_strs *file, const char *name);

#endif /* TW_OPT_FILE_H */
