/* SPDX-License-Identifier: Apache-2.0 */
/* The link between workers in builds without XGBoost: there is none. */
#include "trainer/workers/communicator.h"

int tw_communicator_open(const struct tw_communicator_config *config,
			 struct tw_communicator *out, struct tw_err *err)
{
	(void)config;
	(void)out;
	return tw_fail(err, TW_UNSUPPORTED,
		       "workers: this build has no XGBoost library, which links them");
}

void tw_communicator_unwatch(struct tw_communicator *c)
{
	(void)c;
}

void tw_communicator_close(struct tw_communicator *c)
{
	(void)c;
}
