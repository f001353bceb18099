/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_PODS_H
#define TW_COLLECTOR_PODS_H

/*
 * Names of pods and containers, by the ids in cgroup paths. tw-ask polls the kubelet or
 * the API server, or the container engines of this machine; the last answer stays valid
 * until the next one. The table is bounded; an id that an answer lacks is removed with
 * the next answer.
 */

#include "lib/ask/ask.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_pods; /* opaque */
struct tw_pods_options;

/* Ids in the table. */
#define TW_PODS_MAX 16384

/* "": unknown. */
struct tw_pod_names {
	const char *pod, *name_space;
	const char *container; /* set for the id of a container */
};

/* node: this node's name, for an API server. Free *out with tw_pods_close(). */
int tw_pods_open(const struct tw_pods_options *o, const char *node,
		 const struct tw_ask_config *ask, struct tw_pods **out,
		 struct tw_err *err);

/*
 * The names of containers in no pod, by the API sockets of Docker and podman. choice:
 * "auto" (those that are there), "off", or the path of a socket. *out is NULL if there is
 * nothing to ask, else tw_pods_close().
 */
int tw_pods_open_engines(const char *choice, const struct tw_ask_config *ask,
			 struct tw_pods **out, struct tw_err *err);
void tw_pods_close(struct tw_pods *p); /* NULL is allowed */

/* Call tw_pods_drain() when it is readable; -1: the helper is gone. */
int tw_pods_fd(const struct tw_pods *p);

/* Take the helper's messages. When the helper is gone, its descriptor is closed. */
void tw_pods_drain(struct tw_pods *p);

/*
 * Find the names of a container id or a pod uid. False: unknown. The texts are valid
 * until the next drain.
 */
bool tw_pods_find(const struct tw_pods *p, const char *id, struct tw_pod_names *out);

/* Have the helper ask again soon, because an id is unknown. */
void tw_pods_want(struct tw_pods *p);

struct tw_pods_stats {
	bool up;              /* the last request was answered */
	char why[TW_ASK_WHY]; /* why not; "" if up */
	size_t known;         /* ids in the table */
	uint64_t rounds, failures;
	uint64_t left_out; /* ids left out for want of room or memory */
};

const struct tw_pods_stats *tw_pods_stats(const struct tw_pods *p);

#endif /* TW_COLLECTOR_PODS_H */
