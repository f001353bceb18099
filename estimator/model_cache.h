/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_MODEL_CACHE_H
#define TW_ESTIMATOR_MODEL_CACHE_H

/*
 * A directory with the last good model of each lookup at a server. After a restart they
 * serve while a server does not answer. Files are untrusted, like answers of servers.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_err;

/* Files in the directory; one more removes the oldest. */
#define TW_MODEL_CACHE_FILES_MAX 128
#define TW_MODEL_CACHE_KEY_MAX ((size_t)64 * 1024)

/* Write data under a key, and replace older data. Makes the directory if needed. */
int tw_model_cache_write(const char *dir, const char *key, const void *data, size_t len,
			 struct tw_err *err);

/*
 * Read the data of a key, at most max bytes. *data is yours: free(). *time_s is when it
 * was written, in seconds of the epoch. TW_NOTFOUND: there is none.
 */
int tw_model_cache_read(const char *dir, const char *key, size_t max, char **data,
			size_t *len, int64_t *time_s, struct tw_err *err);

#endif /* TW_ESTIMATOR_MODEL_CACHE_H */
