/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DOWNLOAD_FILE_H
#define TW_DOWNLOAD_FILE_H

/*
 * The file of a download (lib/http/client/download.h). Its first line is the entity tag
 * of the resource, empty if the server sent no strong tag; the received bytes follow. So
 * any process can resume the download later: it requests the missing range on condition
 * that the tag still holds. This module does not need libcurl.
 */

#include "lib/http/client/http_answer.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;

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

#endif /* TW_DOWNLOAD_FILE_H */
