/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/extract/rows_fixture.h"

#include "lib/core/err.h"
#include "tests/unit/tw_test.h"

void rows_set(struct rows_fixture *f, size_t row, double cpus)
{
	f->cpu_ms[row] = f->feature[0][row] = 1000 * cpus;
	f->watts[0][row] = REST_W + CPU_W * cpus;
}

void rows_write(struct rows_fixture *f)
{
	static const double load[] = { 0, 2, 1, 0.5 };

	*f = (struct rows_fixture){
		.features = { f->feature[0], f->feature[1] },
		.metric = { { .kind = TW_METRIC_FEATURE }, { .kind = TW_METRIC_LEVEL } },
		.series = { { .metric = &f->metric[0] }, { .metric = &f->metric[1] } },
		.column = { { .component = TW_PACKAGE, .watts = f->watts[0] },
			    { .component = TW_DRAM, .watts = f->watts[1] } },
		.power = { .times = ROWS,
			   .from_ms = f->from_ms,
			   .time_ms = f->time_ms,
			   .column = f->column,
			   .columns = 2,
			   .grown_j = 1e6 },
		.rows = { .rows = ROWS,
			  .features = 2,
			  .feature = f->features,
			  .filled = f->filled,
			  .cpu_ms = f->cpu_ms },
		.rates = { .times = ROWS,
			   .time_ms = f->time_ms,
			   .end = ROWS,
			   .feature = f->series,
			   .args = &f->args,
			   .clock = &f->clock },
	};
	for (size_t i = 0; i < ROWS; i++) {
		f->from_ms[i] = (int64_t)i * 1000;
		f->time_ms[i] = f->from_ms[i] + 1000;
		f->filled[i] = true;
		f->feature[1][i] = 1;
		f->watts[1][i] = 5;
		rows_set(f, i, load[i / 6 % 4]);
	}
}

void rows_judge(struct rows_fixture *f)
{
	struct tw_err err = { 0 };

	if (tw_judged_open(&f->j, &f->power, &f->rows, &f->rates, &err) < 0)
		fail_msg("%s", err.text);
	tw_judged_find_load(&f->j);
	if (f->j.count > 0 && tw_judged_find_line(&f->j, &err) < 0)
		fail_msg("%s", err.text);
}
