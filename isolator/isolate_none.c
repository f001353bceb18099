/* SPDX-License-Identifier: Apache-2.0 */
/* NoneIsolator: attribute all of the node's power to its workloads. */
#include "isolator/isolator.h"

static int fit_nothing(const struct tw_isolator_args *args, const struct tw_dataset *d,
		       const struct tw_energy_source *source, void **state,
		       struct tw_err *err)
{
	(void)args;
	(void)d;
	(void)source;
	(void)err;
	*state = NULL;
	return 0;
}

static int apply_nothing(const void *state, struct tw_dataset *d, struct tw_err *err)
{
	(void)state;
	(void)d;
	(void)err;
	return 0;
}

static void free_nothing(void *state)
{
	(void)state;
}

const struct tw_isolator tw_isolator_none = {
	.name = "NoneIsolator",
	.summary = "leaves power as it is",
	.fit = fit_nothing,
	.apply = apply_nothing,
	.free = free_nothing,
};
