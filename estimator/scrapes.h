/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_SCRAPES_H
#define TW_ESTIMATOR_SCRAPES_H

/*
 * GET /metrics of the estimator: an HTTP server without threads of its own, which the
 * loop of estimator.c runs.
 */

#include "lib/http/server/expo.h"

#include <stdint.h>

struct tw_err;
struct tw_scrapes;

/* Write all metrics to e. */
typedef void tw_scrapes_write_fn(void *arg, struct tw_expo *e);

/*
 * Listen on address, such as "127.0.0.1:9103". web_config: file with TLS and users
 * (lib/http/web/web_config.h), or NULL. Free *out with tw_scrapes_close().
 */
int tw_scrapes_open(const char *address, const char *web_config,
		    tw_scrapes_write_fn *write, void *arg, struct tw_scrapes **out,
		    struct tw_err *err);

/*
 * Call tw_scrapes_run() when this descriptor is readable, and at the time of
 * tw_scrapes_due_ms() (tw_now_ms(); UINT64_MAX: never), which each run changes.
 */
int tw_scrapes_fd(const struct tw_scrapes *s);
uint64_t tw_scrapes_due_ms(const struct tw_scrapes *s);
void tw_scrapes_run(struct tw_scrapes *s);

/* The bound address. Lives as long as s. */
const char *tw_scrapes_address(const struct tw_scrapes *s);

/* Finish answers in progress, and close. */
void tw_scrapes_close(struct tw_scrapes *s); /* NULL is fine */

#endif /* TW_ESTIMATOR_SCRAPES_H */
