/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_DAEMON_H
#define TW_ESTIMATOR_DAEMON_H

/*
 * The estimator's loop: listening sockets, connections, models, signals, in one thread
 * with epoll. It wakes only when something happens.
 */

#include "estimator/listen.h"
#include "estimator/models.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_estimator;
struct tw_strs;
struct tw_users;

struct tw_estimator_config {
	const struct tw_strs *sockets; /* paths, one at least if none are passed */
	struct tw_listener_rights rights;
	/* Descriptors of listening sockets that are used instead of paths. */
	int passed_first;
	unsigned passed;
	const char *metrics;          /* "ADDR:PORT" of GET /metrics, or NULL */
	const struct tw_users *users; /* who may ask; NULL: who may write to the socket */
	size_t connections;           /* at most; the one idle longest makes room */
	uint64_t idle_ms;
	uint64_t request_ms; /* a request that has begun is whole in this time */
	uint64_t model_wait_ms;
	size_t series_bytes; /* for the last rows of series that clients name */
	struct tw_models_config models;
};

/* Bind the sockets and start. Clients are accepted once it runs. */
int tw_estimator_open(const struct tw_estimator_config *c, struct tw_estimator **out,
		      struct tw_err *err);

/* Where metrics are, or NULL. Lives as long as e. */
const char *tw_estimator_metrics(const struct tw_estimator *e);

/* Until signal_fd (lib/program/daemon.h) says stop, or is readable and no signalfd. */
int tw_estimator_run(struct tw_estimator *e, int signal_fd, struct tw_err *err);

/* Close all and remove the sockets' files. NULL is fine. */
void tw_estimator_close(struct tw_estimator *e);

#endif /* TW_ESTIMATOR_DAEMON_H */
