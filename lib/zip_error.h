/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ZIP_ERROR_H
#define TW_ZIP_ERROR_H

/*
 * libzip's errors as ours. For lib/zip*.c only.
 */

#include <zip.h>

struct tw_err;

/* "what: libzip's text". Returns -1. */
int tw_zip_fail(struct tw_err *err, zip_error_t *e, const char *what);

#endif /* TW_ZIP_ERROR_H */
