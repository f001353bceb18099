/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/measured_machines.h"

#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "model-db/prior/prior_file.h"

double measured_full(double tdp, double chips)
{
	return 1.5 * tdp * chips + 20;
}

void measured_prior(struct tw_prior *p)
{
	struct tw_err err = { 0 };

	if (tw_prior_load("tests/data", p, &err) < 0)
		fail_msg("%s", err.text);
}

void measured_other(struct tw_prior_machine *m, int cores, int tdp, int chips)
{
	tw_prior_machine_of_name("Intel Xeon E5-2687W v3", m);
	m->number[TW_PRIOR_CORES] = cores;
	m->number[TW_PRIOR_TDP] = tdp;
	m->number[TW_PRIOR_CHIPS] = chips;
	m->number[TW_PRIOR_MHZ] = 2500;
	m->number[TW_PRIOR_MEMORY] = 64 * chips;
	m->number[TW_PRIOR_THREADS] = 2;
}

int measured_set_up(void **state)
{
	static struct tw_prior p;

	measured_prior(&p);
	*state = &p;
	return 0;
}

int measured_tear_down(void **state)
{
	tw_prior_release(*state);
	return 0;
}
