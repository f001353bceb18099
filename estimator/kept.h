/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_KEPT_H
#define TW_ESTIMATOR_KEPT_H

/*
 * The last good copies of what servers sent, in a directory: what to go on with after a
 * restart while a server does not answer. A file for each thing that was asked, which its
 * key tells; what is in a file is as little trusted as what the server sends.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_err;

/* Beyond so many the oldest is removed. */
#define TW_KEPT_FILES_MAX 128
#define TW_KEPT_KEY_MAX ((size_t)64 * 1024)

/* Keep data under a key, instead of what was kept there. */
int tw_kept_write(const char *dir, const char *key, const void *data, size_t len,
		  struct tw_err *err);

/*
 * *data is yours (free()), *time_s is when it was kept (of the epoch). TW_NOTFOUND if
 * there is none.
 */
int tw_kept_read(const char *dir, const char *key, size_t max, char **data, size_t *len,
		 int64_t *time_s, struct tw_err *err);

#endif /* TW_ESTIMATOR_KEPT_H */
