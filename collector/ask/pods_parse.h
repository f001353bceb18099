/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_PODS_PARSE_H
#define TW_COLLECTOR_PODS_PARSE_H

/*
 * Parser of a v1.PodList from the kubelet (/pods) or the API server (/api/v1/pods): the
 * names for the ids in cgroup paths. Takes input in pieces of any size. Its memory
 * depends on the largest pod, not on the list.
 */

#include "lib/ask/ask.h"

#include <stddef.h>

struct tw_pods_parser; /* opaque */

/* Containers of all kinds in one pod; those beyond it have no name of their own. */
#define TW_POD_CONTAINERS_MAX 16384

/*
 * Called for each pod by its uid, and for a mirror of a static pod also by the uid in its
 * cgroup. Then called for each container, including init and ephemeral ones and those
 * from before a restart. -1 with err set ends the parsing.
 */
typedef int tw_pods_fn(void *arg, const struct tw_ask_names *names, struct tw_err *err);

/* *out is yours: tw_pods_parser_free(). */
int tw_pods_parser_new(tw_pods_fn *fn, void *arg, struct tw_pods_parser **out,
		       struct tw_err *err);

/* Parse the next bytes. Fits as sink of struct tw_http_call, with the parser as arg. */
int tw_pods_parser_feed(void *parser, const char *data, size_t len, struct tw_err *err);

/* End of input: fails if the list is incomplete. */
int tw_pods_parser_end(struct tw_pods_parser *p, struct tw_err *err);

void tw_pods_parser_free(struct tw_pods_parser *p); /* NULL is fine */

#endif /* TW_COLLECTOR_PODS_PARSE_H */
