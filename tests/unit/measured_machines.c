/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/measured_machines.h"

#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "trainer/machines/machine_table.h"
#include "trainer/machines/prior_fit.h"
#include "trainer/machines/prior_learn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char measured_header[] =
	"cpu_name,system_vendor,hw_available,published,nominal_mhz,chips,cores,"
	"threads_per_core,memory_gib,tdp_w_per_chip,psu_rating_w,w_idle,w_10,w_20,w_30,w_"
	"40,"
	"w_50,w_60,w_70,w_80,w_90,w_100\n";

double measured_full(double tdp, double chips)
{
	return 1.5 * tdp * chips + 20;
}

static void add_machine(struct tw_buf *b, const char *name, int cores, int tdp, int chips)
{
	/* Chassis differ by 5 %. */
	const double full = measured_full(tdp, chips) * (1 + 0.05 * sin(tdp * chips));

	tw_buf_addf(b, "%s,Acme,2015-01,2015-02,2500,%d,%d,2,%d,%d,800", name, chips,
		    cores * chips, 64 * chips, tdp);
	for (int l = 0; l <= 10; l++)
		tw_buf_addf(b, ",%.3f", full * (0.25 + 0.075 * l));
	tw_buf_adds(b, "\n");
}

void measured_table(struct tw_machine_table *t)
{
	struct tw_err err = { 0 };
	struct tw_buf b = { 0 };
	char name[64];

	tw_buf_adds(&b, measured_header);
	for (int k = 0; k < 24; k++) {
		snprintf(name, sizeof(name), "Intel Xeon E5-26%02d v3", 10 + k);
		for (int chips = 1; chips <= 2; chips++)
			add_machine(&b, name, 4 + k % 12, 60 + 4 * k, chips);
	}
	assert_int_equal(tw_machine_table_read(b.data, b.len, t, &err), 0);
	assert_int_equal(t->count, 48);
	assert_int_equal(t->processors, 24);
	tw_buf_clear(&b);
}

void measured_prior(struct tw_prior *p)
{
	struct tw_machine_table t = { 0 };
	struct tw_err err = { 0 };
	bool use[48];

	memset(use, true, sizeof(use));
	measured_table(&t);
	assert_int_equal(tw_prior_begin(&t, TW_PRIOR_SHIPPED_VIEWS, p, &err), 0);
	assert_int_equal(tw_prior_learn(p, &t, use, 1, &err), 0);
	tw_machine_table_release(&t);
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
