/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_CONNECTOR_H
#define TW_COLLECTOR_CONNECTOR_H

/*
 * A process that connects to Unix sockets of root for one that has given up root.
 *
 * Whoever may speak to a container engine's socket can become root by it. So the process
 * that parses the engine's answer may not: the connector has kept its user, though no
 * capability. It sends each service the one request that was set at the start, reads
 * nothing, and passes on the socket with the answer. A request of HTTP/1.0 has the
 * service read nothing more from it.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_aside;
struct tw_err;
struct tw_strs;

/* Longest path of a socket. */
#define TW_SOCKET_PATH_MAX 107

/*
 * paths and request live as long as this process. filter: refuse other system calls.
 * tw_aside_close() ends it.
 */
int tw_connector_open(const struct tw_strs *paths, const char *request, bool filter,
		      struct tw_aside *out, struct tw_err *err);

/*
 * Send the request to the service of paths[place]. *answer is yours: the socket of which
 * the answer is read; reads do not block.
 */
int tw_connector_ask(const struct tw_aside *c, const struct tw_strs *paths, size_t place,
		     int *answer, struct tw_err *err);

#endif /* TW_COLLECTOR_CONNECTOR_H */
