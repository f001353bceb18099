/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DOWNLOAD_H
#define TW_DOWNLOAD_H

/*
 * A download into a file, which is gone on with where it was cut off.
 *
 * The file tells what it is a part of: its first line is the entity tag of what is
 * downloaded, empty where the server gave none that a range can be asked by; behind it
 * are the bytes, as many as came. So a file of any age, by any process, is gone on with
 * if the server still has the same, and begun again if not.
 */

#include <stddef.h>

struct tw_err;
struct tw_http_answer;
struct tw_http_call;

/*
 * Make the call, which has no body, with the file behind fd (read and write, nobody
 * else's). answer_max is of the whole. A status of 200 or 206: the file is whole. Any
 * other is a success of the call as well, and the file is as it was. After a failure it
 * has what came. *out is yours: tw_http_answer_release(); its body is only that of a
 * refusal, its etag of what is in the file.
 */
int tw_download(const struct tw_http_call *call, int fd, struct tw_http_answer *out,
		struct tw_err *err);

/*
 * What was downloaded, at most max bytes. *data is yours (free()), NUL-terminated.
 */
int tw_download_read(int fd, size_t max, char **data, size_t *len, struct tw_err *err);

#endif /* TW_DOWNLOAD_H */
