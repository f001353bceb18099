/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_SCRAPES_H
#define TW_ESTIMATOR_SCRAPES_H

/*
 * An HTTP/1.1 server for GET /metrics only. An HTTP library would need more memory than
 * the rest of the daemon. A connection is for one answer. One connection too many closes
 * the oldest, so that idle connections cannot block a scraper.
 */

#include "lib/http/expo.h"

#include <stddef.h>

struct tw_buf;
struct tw_err;
struct tw_scrapes;

#define TW_SCRAPES_MAX 16
/* Bytes of the head of a request. */
#define TW_SCRAPE_HEAD_MAX 4096

/* Write all metrics to e. */
typedef void tw_scrapes_write_fn(void *arg, struct tw_expo *e);

/* Listen on address, such as "127.0.0.1:9103". Free *out with tw_scrapes_close(). */
int tw_scrapes_open(const char *address, tw_scrapes_write_fn *write, void *arg,
		    struct tw_scrapes **out, struct tw_err *err);

/* An epoll descriptor, readable when tw_scrapes_run() has work. */
int tw_scrapes_fd(const struct tw_scrapes *s);

/* Accept, read and write what is possible without blocking. */
void tw_scrapes_run(struct tw_scrapes *s);

/* The bound address. Lives as long as s. */
const char *tw_scrapes_address(const struct tw_scrapes *s);

void tw_scrapes_close(struct tw_scrapes *s); /* NULL is fine */

/* Write the answer to the head of a request, which ends in an empty line. Pure. */
void tw_scrape_answer(const char *head, size_t len, tw_scrapes_write_fn *write, void *arg,
		      struct tw_buf *out);

#endif /* TW_ESTIMATOR_SCRAPES_H */
