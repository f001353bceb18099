/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_GROWING_H
#define TW_HTTPD_GROWING_H

/*
 * A body that is still being written into a file, for any number of replies. A connection
 * sends the bytes that are there and is suspended until there are more. For servers
 * without threads of their own (callers_thread of lib/http/server/httpd.h): all calls are
 * made on one thread.
 */

#include <stdbool.h>
#include <stdint.h>

struct MHD_Connection;
struct MHD_Response;
struct tw_err;
struct tw_growing;

/* fd is taken, even on failure. *out is a reference: tw_growing_free(). */
int tw_growing_new(int fd, struct tw_growing **out, struct tw_err *err);
struct tw_growing *tw_growing_ref(struct tw_growing *g); /* returns g */
void tw_growing_free(struct tw_growing *g);              /* NULL is fine */

/* Whether a reply or another holder has a reference besides the caller's. */
bool tw_growing_is_shared(const struct tw_growing *g);

/* The file has `bytes` bytes now. */
void tw_growing_grow(struct tw_growing *g, uint64_t bytes);

/* No bytes will follow. whole false: the body is cut, so its connections are closed. */
void tw_growing_end(struct tw_growing *g, bool whole);

/* For the server: a response with the body, for one connection. NULL: no memory. */
struct MHD_Response *tw_growing_response(struct tw_growing *g, struct MHD_Connection *c);

#endif /* TW_HTTPD_GROWING_H */
