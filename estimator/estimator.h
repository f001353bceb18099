/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_ESTIMATOR_H
#define TW_ESTIMATOR_ESTIMATOR_H

/*
 * The event loop of tw-estimator: listening sockets, clients, models and signals in one
 * thread with epoll. The loop has no timer ticks; it wakes for events and deadlines.
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
	const struct tw_strs *sockets; /* paths; at least one if passed is 0 */
	struct tw_listener_rights rights;
	/* Sockets passed by systemd, used instead of paths: first descriptor, count. */
	int passed_first;
	unsigned passed;
	const char *metrics;    /* "ADDR:PORT" of GET /metrics, or NULL */
	const char *web_config; /* file with TLS and users of GET /metrics, or NULL */
	const struct tw_strs *host_names; /* of GET /metrics, or NULL */
	/* Users who may send requests. NULL: everybody who may write to the socket. */
	const struct tw_users *users;
	size_t connections;     /* limit; a new one closes the one idle longest */
	uint64_t idle_ms;       /* close a connection without traffic after this */
	uint64_t request_ms;    /* time limit of a request, from its first byte */
	uint64_t model_wait_ms; /* longest wait of a request for a model */
	size_t series_bytes;    /* memory for the rows of named series */
	struct tw_models_config models;
};

/*
 * Bind the sockets and start the threads of the models. Clients are accepted by
 * tw_estimator_run(). What c points to must outlive *out, except sockets.
 */
int tw_estimator_open(const struct tw_estimator_config *c, struct tw_estimator **out,
		      struct tw_err *err);

/* The bound address of GET /metrics, or NULL. Lives as long as e. */
const char *tw_estimator_metrics(const struct tw_estimator *e);

/*
 * Serve until signal_fd (lib/program/daemon.h) delivers a stop signal. A test may pass
 * any other descriptor: the loop stops once it is readable.
 */
int tw_estimator_run(struct tw_estimator *e, int signal_fd, struct tw_err *err);

/* Close everything and remove the socket files. NULL is fine. */
void tw_estimator_close(struct tw_estimator *e);

#endif /* TW_ESTIMATOR_ESTIMATOR_H */
