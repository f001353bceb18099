/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_TRAIN_PLACE_H
#define TW_CLI_TRAIN_PLACE_H

/*
 * Which of several workers this `tallywatt train` is: by its options, else by the
 * environment that an engine sets (Slurm, MPI, Kubernetes).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;

#define TW_TRAIN_HOST_MAX 254

struct tw_train_place {
	unsigned rank, size;
	char host[TW_TRAIN_HOST_MAX]; /* of the tracker */
	uint16_t port;
};

/*
 * tracker: "HOST:PORT". rank: text, or NULL and size 0: not given. TW_INVALID names what
 * is missing or wrong.
 */
int tw_train_place_find(const char *tracker, const char *rank, uint32_t size,
			struct tw_train_place *out, struct tw_err *err);

/* Whether the k-th of so many inputs is this worker's. Each worker has adjacent ones. */
bool tw_train_place_has(const struct tw_train_place *p, size_t k, size_t inputs);

#endif /* TW_CLI_TRAIN_PLACE_H */
