/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_OPT_FILE_H
#define TW_OPT_FILE_H

/*
 * A configuration file: lines "name = value", with the names of the options. Blank
 * lines and lines that start with '#' are passed over; a value ends with its line.
 */

#include "lib/core/strs.h"

struct tw_err;
struct tw_opts;

/*
 * Read path into a list of name, value, name, value. An unknown or repeated name is
 * refused: "etc/x.conf:7: no option 'lisen'".
 */
int tw_opt_file_read(const char *path, const struct tw_opts *o, struct tw_strs *out,
		     struct tw_err *err);

/* The same from text in memory; path is for errors. */
int tw_opt_file_parse(const char *path, const char *data, size_t len,
		      const struct tw_opts *o, struct tw_strs *out, struct tw_err *err);

/* The value, or NULL. Lives as long as the list. */
const char *tw_opt_file_find(const struct tw_strs *file, const char *name);

#endif /* TW_OPT_FILE_H */
