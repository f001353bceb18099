/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_STATS_H
#define TW_ESTIMATOR_STATS_H

/*
 * Counters of the estimator, and its metrics (docs/tw-estimator.md, "Metrics"). For the
 * thread that answers requests. All zero bytes is a valid start.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;
struct tw_expo;
struct tw_history;
struct tw_models;
struct tw_node_series;

#define TW_STATS_BOUNDS 10

enum tw_refusal {
	TW_REFUSED_MALFORMED, /* invalid JSON, or invalid values */
	TW_REFUSED_NO_MODEL,  /* no usable model, or its prediction failed */
	TW_REFUSED_LATE,      /* incomplete at the deadline */
	TW_REFUSED_COUNT
};

struct tw_stats {
	uint64_t connections, denied, crowded_out;
	uint64_t answers, rows;
	uint64_t refused[TW_REFUSED_COUNT];
	/* Histogram of the time from the last byte of a request to that of its answer. */
	uint64_t took[TW_STATS_BOUNDS + 1];
	double took_s;
};

/* Count an answer that took ns. */
void tw_stats_took(struct tw_stats *s, uint64_t ns);

/* Write all metrics. open: the number of open connections. */
void tw_stats_write(const struct tw_stats *s, size_t open, const struct tw_history *h,
		    const struct tw_node_series *nodes, struct tw_models *m,
		    struct tw_expo *e);

/* For --list-metrics. */
void tw_stats_list(struct tw_buf *out);

/*
 * GET /metrics: an HTTP server without threads of its own, which the loop of estimator.c
 * runs. The function writes all metrics.
 */
struct tw_scrapes;
struct tw_strs;

typedef void tw_scrapes_write_fn(void *arg, struct tw_expo *e);

/*
 * Listen on address, such as "127.0.0.1:9103". web_config: file with TLS and users
 * (lib/http/web/web_config.h), or NULL; host_names: of lib/http/server/httpd.h, or NULL.
 * Free *out with tw_scrapes_close().
 */
int tw_scrapes_open(const char *address, const char *web_config,
		    const struct tw_strs *host_names, tw_scrapes_write_fn *write,
		    void *arg, struct tw_scrapes **out, struct tw_err *err);

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

#endif /* TW_ESTIMATOR_STATS_H */
