/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_LOOP_H
#define TW_COLLECTOR_LOOP_H

/*
 * The one thread: ticks by a timer, requests and events of the kernel in between.
 */

struct tw_collector;
struct tw_err;
struct tw_httpd;
struct tw_loop; /* opaque */

/* The timer starts. *out is yours: tw_loop_close(). */
int tw_loop_open(struct tw_collector *c, struct tw_httpd *httpd, int signal_fd,
		 struct tw_loop **out, struct tw_err *err);
void tw_loop_close(struct tw_loop *l);

/* Until a signal says stop. A tick that fails is told to failed and the next one tried.
 */
int tw_loop_run(struct tw_loop *l, void (*failed)(const struct tw_err *why),
		struct tw_err *err);

#endif /* TW_COLLECTOR_LOOP_H */
