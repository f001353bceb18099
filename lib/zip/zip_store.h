/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ZIP_STORE_H
#define TW_ZIP_STORE_H

/*
 * Writes a small zip whose files are stored, not compressed. Programs without libzip use
 * it, for models that are made in memory.
 */

struct tw_buf;
struct tw_err;
struct tw_fileset;

/*
 * Append the zip. The time of each file is 1980-01-01, so that equal files make equal
 * bytes. TW_INVALID for more than 1000 files or 64 MiB.
 */
int tw_zip_store(const struct tw_fileset *s, struct tw_buf *out, struct tw_err *err);

#endif /* TW_ZIP_STORE_H */
