/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_CONTAINERS_PARSE_H
#define TW_COLLECTOR_CONTAINERS_PARSE_H

/*
 * Parser of a container engine's answer to GET /containers/json, by HTTP/1.0: names by
 * ids. Docker and podman give the same form. Takes input in pieces of any size; its
 * memory does not depend on the list.
 */

#include "lib/ask/ask.h"

#include <stddef.h>

struct tw_containers_parser; /* opaque */

/* The request whose answer this is. */
#define TW_CONTAINERS_REQUEST                                          \
	"GET /containers/json HTTP/1.0\r\nHost: localhost\r\nAccept: " \
	"application/json\r\n\r\n"

/*
 * Called for each container that has a name: only `id` and `container` are set. -1 with
 * err set ends the parsing.
 */
typedef int tw_containers_fn(void *arg, const struct tw_ask_names *names,
			     struct tw_err *err);

/* *out is yours: tw_containers_parser_free(). */
int tw_containers_parser_new(tw_containers_fn *fn, void *arg,
			     struct tw_containers_parser **out, struct tw_err *err);
int tw_containers_parser_feed(struct tw_containers_parser *p, const char *data,
			      size_t len, struct tw_err *err);

/* End of input: fails if the answer is incomplete. */
int tw_containers_parser_end(struct tw_containers_parser *p, struct tw_err *err);

void tw_containers_parser_free(struct tw_containers_parser *p); /* NULL is fine */

#endif /* TW_COLLECTOR_CONTAINERS_PARSE_H */
