/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_SCRAPES_H
#define TW_ESTIMATOR_SCRAPES_H

/*
 * GET /metrics over HTTP/1.1, and nothing else: a server's library would bring more
 * memory than the whole daemon has. A few connections at a time, each for one answer;
 * one more closes the oldest, so that none can hold up the next.
 */

#include "lib/http/expo.h"

#include <stddef.h>

struct tw_buf;
struct tw_err;
struct tw_scrapes;

#define TW_SCRAPES_MAX 16
/* Of a request's head. */
#define TW_SCRAPE_HEAD_MAX 4096

/* Write the metrics. */
typedef void tw_scrapes_write_fn(void *arg, struct tw_expo *e);

/* address: "127.0.0.1:9103" and the like. *out is yours: tw_scrapes_close(). */
int tw_scrapes_open(const char *address, tw_scrapes_write_fn *write, void *arg,
		    struct tw_scrapes **out, struct tw_err *err);

/* Readable when tw_scrapes_run() has work. */
int tw_scrapes_fd(const struct tw_scrapes *s);

/* Does not wait. */
void tw_scrapes_run(struct tw_scrapes *s);

/* The address that was bound. Lives as long as s. */
const char *tw_scrapes_address(const struct tw_scrapes *s);

void tw_scrapes_close(struct tw_scrapes *s); /* NULL is fine */

/*
 * The whole answer to a request's head, which ends in an empty line. Pure: for the
 * fuzzer.
 */
void tw_scrape_answer(const char *head, size_t len, tw_scrapes_write_fn *write, void *arg,
		      struct tw_buf *out);

#endif /* TW_ESTIMATOR_SCRAPES_H */
