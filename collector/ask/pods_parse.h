/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_PODS_PARSE_H
#define TW_COLLECTOR_PODS_PARSE_H

/*
 * A v1.PodList, as the kubelet (/pods) and the API server (/api/v1/pods) tell it: the
 * names behind the ids that cgroups have. In pieces of any size; memory is bounded by the
 * largest pod, not by the list.
 */

#include "collector/ask/ask_message.h"

#include <stddef.h>

struct tw_err;
struct tw_pods_parser; /* opaque */

/* Of all kinds together, in one pod. */
#define TW_POD_CONTAINERS_MAX 512

/*
 * Told for each pod: once by its uid, again by the one that its cgroup has where it is a
 * static pod's mirror, then each container, also init and ephemeral ones, and those that
 * ran before a restart. -1 with err set ends the parsing.
 */
typedef int tw_pods_fn(void *arg, const struct tw_ask_names *names, struct tw_err *err);

/* *out is yours: tw_pods_parser_free(). */
int tw_pods_parser_new(tw_pods_fn *fn, void *arg, struct tw_pods_parser **out,
		       struct tw_err *err);

/* The next bytes. A struct tw_http_call's sink, with the parser as its arg. */
int tw_pods_parser_feed(void *parser, const char *data, size_t len, struct tw_err *err);

/* No more bytes: fails if the list is not whole. */
int tw_pods_parser_end(struct tw_pods_parser *p, struct tw_err *err);

void tw_pods_parser_free(struct tw_pods_parser *p); /* NULL is fine */

#endif /* TW_COLLECTOR_PODS_PARSE_H */
