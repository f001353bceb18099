/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_ROLLOUT_H
#define TW_SERVER_ROLLOUT_H

/*
 * Staged rollout of a pipeline's version over replicas that share nothing. All replicas
 * read the same file, and each decides for itself (docs/tw-server.md, "Rollouts"):
 *
 *	{"stable": "ec2-1.zip", "next": "ec2-2.zip", "percent": 25, "labels": {"zone":
 * "a"}}
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_strs;

/* Largest file of a rollout, in bytes. */
#define TW_ROLLOUT_MAX 65536

struct tw_replica {
	unsigned place; /* 0..99: takes versions that have a larger percentage */
	const struct tw_strs *labels; /* "key=value"; of the caller */
};

/*
 * name: "I/N" is the I-th of N replicas, whose places are evenly spread; any other name
 * has a place by its hash; NULL or "": the name of the host. TW_INVALID names the option.
 */
int tw_replica_init(const char *name, const struct tw_strs *labels,
		    struct tw_replica *out, struct tw_err *err);

/*
 * The URL or path of the replica's version; *next: it is the next one. Names in the text
 * are relative to `from`, the URL or path of the rollout. A rollout from a URL may name
 * no path of this machine. *out is yours. TW_INVALID, TW_PARSE: the text is wrong.
 */
int tw_rollout_choose(const char *text, size_t len, const char *from,
		      const struct tw_replica *r, char **out, bool *next,
		      struct tw_err *err);

#endif /* TW_SERVER_ROLLOUT_H */
