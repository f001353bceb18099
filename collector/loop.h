/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_LOOP_H
#define TW_COLLECTOR_LOOP_H

/*
 * The main loop: one thread runs ticks by a timer, and serves HTTP requests and kernel
 * events between them.
 */

#include <stdbool.h>

struct tw_collector;
struct tw_err;
struct tw_httpd;
struct tw_loop; /* opaque */

/*
 * Start the timers. powercap starts the timer of the steps of powercap trees, too; their
 * directories may be set later. *out is yours: tw_loop_close().
 */
int tw_loop_open(struct tw_collector *c, struct tw_httpd *httpd, int signal_fd,
		 bool powercap, struct tw_loop **out, struct tw_err *err);
void tw_loop_close(struct tw_loop *l);

/*
 * Run until a stop signal. After a failed tick, call failed and continue with the next
 * tick.
 */
int tw_loop_run(struct tw_loop *l, void (*failed)(const struct tw_err *why),
		struct tw_err *err);

#endif /* TW_COLLECTOR_LOOP_H */
