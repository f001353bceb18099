/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DOWNLOAD_H
#define TW_DOWNLOAD_H

/*
 * A download into a file that resumes an interrupted one.
 *
 * The file's first line is the entity tag of the resource, empty if the server sent no
 * strong tag; the received bytes follow. So any process can resume the download later: it
 * requests the missing range on condition that the tag still holds. If the tag changed,
 * the download starts again.
 */

#include "lib/http/client/http.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;

/*
 * Make the call, which must have no body, and write the answer to fd. The caller has fd
 * open for reading and writing, and nobody else writes to the file. call->answer_max
 * limits the whole resource.
 *
 * Success with status 200 or 206: the file is complete. Success with another status: the
 * file is unchanged. Failure: the file keeps the bytes received so far. *out is yours:
 * tw_http_answer_release(). Its body is empty unless the server sent an error; its etag
 * is the tag of the resource.
 */
int tw_download(const struct tw_http_call *call, int fd, struct tw_http_answer *out,
		struct tw_err *err);

/* ---- the file: download_file.c, which does not need libcurl ---- */

struct tw_download_file {
	char etag[TW_HTTP_ETAG_MAX];
	size_t line_len; /* first line with its newline; 0: the file has no such line */
	uint64_t bytes;  /* received so far */
};

/* Read the first line and the size of the file behind fd. */
int tw_download_file_inspect(int fd, struct tw_download_file *out, struct tw_err *err);

/*
 * Read the downloaded bytes, at most max. *data is yours (free()), NUL-terminated. It
 * fails with TW_INVALID if the file is empty or larger.
 */
int tw_download_file_read(int fd, size_t max, char **data, size_t *len,
			  struct tw_err *err);

#endif /* TW_DOWNLOAD_H */
