/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DOWNLOAD_H
#define TW_DOWNLOAD_H

/*
 * A download into a file (lib/http/client/download_file.h) that resumes an interrupted
 * one. If the server's entity tag changed since, the download starts again.
 */

struct tw_err;
struct tw_http_answer;
struct tw_http_call;

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

#endif /* TW_DOWNLOAD_H */
