/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DOWNLOAD_PART_H
#define TW_DOWNLOAD_PART_H

/*
 * What is in a download's file. For lib/download*.c, which are two because only one of
 * them wants an HTTP client.
 */

#include "lib/http/http.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* For errors. */
#define TW_DOWNLOAD_WHAT "download"

struct tw_download_part {
	char etag[TW_HTTP_ETAG_MAX];
	size_t line;    /* the first line with its newline; 0: the file has none */
	uint64_t bytes; /* behind it */
};

int tw_download_look(int fd, struct tw_download_part *out, struct tw_err *err);

#endif /* TW_DOWNLOAD_PART_H */
