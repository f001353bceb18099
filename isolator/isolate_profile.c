/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ProfileBackgroundIsolator: subtract the power of a profile, a recording of the machine
 *at rest, when only its background ran:
 *
 *	P'[i] = P[i] - (minimum at rest + maximum at rest) / 2
 *
 * The formula is kepler-model-server's. The profile's workloads are background. Nothing
 *is learnt from the rows.
 */
#include "isolator/isolator.h"
#include "isolator/workload_name.h"
#include "lib/core/err.h"
#include "profiler/profile.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct rest {
	const struct tw_energy_source *source;
	double watts[TW_COMPONENT_COUNT]; /* in the source's order */
};

static bool ran_at_rest(const struct tw_isolator_args *args, const char *id)
{
	size_t len;
	const char *part = tw_workload_name(id, &len);
	char *name = strndup(part, len);
	bool ran;

	/* Without memory this returns false; the next allocation reports the failure. */
	ran = name != NULL &&
	      tw_profile_is_background(args->profile, args->node_type, name);
	free(name);
	return ran;
}

static int fit_profile(const struct tw_isolator_args *args, const struct tw_dataset *d,
		       const struct tw_energy_source *source, void **state,
		       struct tw_err *err)
{
	double *watts[TW_COMPONENT_COUNT];
	struct rest *rest = NULL;
	int rc = -1;

	assert(args->profile != NULL);
	if (tw_isolate_power(d, source, watts, err) < 0)
		goto out;
	rest = calloc(1, sizeof(*rest));
	if (rest == NULL) {
		tw_fail(err, TW_NOMEM, "power at rest");
		goto out;
	}
	rest->source = source;
	for (size_t k = 0; k < source->count; k++) {
		const enum tw_component c = source->components[k];
		const struct tw_profile_power *p =
			tw_profile_find(args->profile, source, c, args->node_type);

		if (watts[k] == NULL)
			continue;
		if (p == NULL) {
			tw_fail(err, TW_NOTFOUND,
				"the profile has no %s of %s for node type %u",
				tw_component_name(c), source->name,
				(unsigned)args->node_type);
			goto out;
		}
		rest->watts[k] = (p->min_w + p->max_w) / 2;
	}

	*state = rest;
	rest = NULL;
	rc = 0;
out:
	free(rest);
	return rc;
}

static int apply_profile(const void *state, struct tw_dataset *d, struct tw_err *err)
{
	const struct rest *rest = state;
	double *watts[TW_COMPONENT_COUNT];

	if (tw_isolate_power(d, rest->source, watts, err) < 0)
		return -1;
	for (size_t k = 0; k < rest->source->count; k++)
		for (size_t r = 0; watts[k] != NULL && r < d->rows; r++)
			watts[k][r] -= rest->watts[k];
	return 0;
}

const struct tw_isolator tw_isolator_profile = {
	.name = "ProfileBackgroundIsolator",
	.summary =
		"subtracts the power of a recording at rest and excludes its workloads",
	.from_zero = true,
	.needs_profile = true,
	.is_background = ran_at_rest,
	.fit = fit_profile,
	.apply = apply_profile,
	.free = free,
};
