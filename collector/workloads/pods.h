/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_PODS_H
#define TW_COLLECTOR_PODS_H

/*
 * Names of pods and their containers, by the ids that cgroups have. tw-ask gets them from
 * the kubelet or the API server, again and again; what was told last stays while there is
 * no answer. Bounded; what is no longer told is forgotten a round later.
 */

#include "collector/ask/ask_message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_ask_config;
struct tw_err;
struct tw_pods; /* opaque */
struct tw_pods_options;

/* Ids that are known at a time. */
#define TW_PODS_MAX 16384

/* Texts are "" where they are not known. */
struct tw_pod_names {
	const char *pod, *name_space;
	const char *container; /* of a container's id */
};

/* node: its name, for an API server. *out is yours: tw_pods_close(). */
int tw_pods_open(const struct tw_pods_options *o, const char *node,
		 const struct tw_ask_config *ask, struct tw_pods **out,
		 struct tw_err *err);
void tw_pods_close(struct tw_pods *p); /* NULL is fine */

/* tw_pods_drain() when it is readable; -1: never again. */
int tw_pods_fd(const struct tw_pods *p);

/* Take what has come. Once the helper is gone its descriptor is closed. */
void tw_pods_drain(struct tw_pods *p);

/* By the id of a container or the uid of a pod. False: not known. Until the next drain.
 */
bool tw_pods_find(const struct tw_pods *p, const char *id, struct tw_pod_names *out);

/* Have them asked for soon: somebody is not known. */
void tw_pods_want(struct tw_pods *p);

struct tw_pods_stats {
	bool up;      /* the last asking was answered */
	char why[96]; /* why not; "" if it was */
	size_t known; /* ids */
	uint64_t rounds, failures;
	uint64_t left_out; /* ids for which there was no room or memory */
};

const struct tw_pods_stats *tw_pods_stats(const struct tw_pods *p);

#endif /* TW_COLLECTOR_PODS_H */
