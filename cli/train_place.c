/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/train_place.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As TW_WORKERS_MAX of trainer/workers/tracker.h, which builds without XGBoost lack. */
#define SIZE_LIMIT 1024

/* Environment variables of engines, in order of precedence. */
static const struct {
	const char *rank, *size;
} engines[] = {
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" }, /* Open MPI */
	{ "PMI_RANK", "PMI_SIZE" },                         /* MPICH, Intel MPI */
	{ "SLURM_PROCID", "SLURM_NTASKS" },                 /* srun */
	{ "RANK", "WORLD_SIZE" },                           /* Kubeflow, torchrun */
	{ "JOB_COMPLETION_INDEX", NULL },                   /* Kubernetes, Indexed Job */
};

static int parse(const char *what, const char *text, uint32_t min, uint32_t max,
		 uint32_t *out, struct tw_err *err)
{
	if (tw_parse_u32(text, min, max, out, err) == 0)
		return 0;
	return tw_err_wrap(err, "%s '%.40s'", what, text);
}

/* Take what the options leave open from the first engine that has set a rank. */
static int ask_engine(const char **rank, uint32_t *size, struct tw_err *err)
{
	for (size_t i = 0; i < TW_COUNT(engines); i++) {
		const char *r = getenv(engines[i].rank);
		const char *n = engines[i].size != NULL ? getenv(engines[i].size) : NULL;

		if (r == NULL)
			continue;
		if (*rank == NULL)
			*rank = r;
		if (*size == 0 && n != NULL)
			return parse(engines[i].size, n, 1, SIZE_LIMIT, size, err);
		return 0;
	}
	return 0;
}

/* Names and IPv4 addresses; the text becomes part of the communicator's settings. */
static int split_tracker(const char *text, struct tw_train_place *p, struct tw_err *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
	const char *colon = strrchr(text, ':');
	const size_t len = colon != NULL ? (size_t)(colon - text) : 0;
	uint32_t port;

	if (len == 0 || len >= sizeof(p->host) || strspn(text, allowed) != len)
		return tw_fail(err, TW_INVALID,
			       "--tracker '%.80s': want HOST:PORT, a name or an IPv4 "
			       "address",
			       text);
	if (parse("--tracker: port", colon + 1, 1, UINT16_MAX, &port, err) < 0)
		return -1;
	snprintf(p->host, sizeof(p->host), "%.*s", (int)len, text);
	p->port = (uint16_t)port;
	return 0;
}

int tw_train_place_find(const char *tracker, const char *rank, uint32_t size,
			struct tw_train_place *out, struct tw_err *err)
{
	uint32_t number;

	if (split_tracker(tracker, out, err) < 0)
		return -1;
	if ((rank == NULL || size == 0) && ask_engine(&rank, &size, err) < 0)
		return -1;
	if (size == 0)
		return tw_fail(err, TW_INVALID,
			       "--workers is missing, and the environment has no number "
			       "of workers");
	if (rank == NULL)
		return tw_fail(err, TW_INVALID,
			       "--rank is missing, and the environment has no rank");
	if (parse("rank", rank, 0, size - 1, &number, err) < 0)
		return -1;
	out->rank = number;
	out->size = size;
	return 0;
}

bool tw_train_place_has(const struct tw_train_place *p, size_t k, size_t inputs)
{
	return k * p->size / inputs == p->rank;
}
