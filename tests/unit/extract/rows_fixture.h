/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_ROWS_FIXTURE_H
#define TW_TEST_ROWS_FIXTURE_H

/*
 * Rows of power and work that a test writes: 30 W and 20 W a busy CPU. A row has a
 * second. Load changes each 6 rows: 0, 2, 1 and 0.5 CPUs.
 */

#include "trainer/extract/clock.h"
#include "trainer/extract/extract.h"
#include "trainer/extract/judged_rows.h"
#include "trainer/extract/node_rows.h"
#include "trainer/extract/power_series.h"
#include "trainer/extract/rates.h"
#include "trainer/response/schema.h"

#define ROWS 60
#define REST_W 30
#define CPU_W 20

struct rows_fixture {
	int64_t from_ms[ROWS], time_ms[ROWS];
	double watts[2][ROWS], feature[2][ROWS], cpu_ms[ROWS];
	bool filled[ROWS];
	double *features[2];
	struct tw_schema_metric metric[2];
	struct tw_metric_series series[2];
	struct tw_power_column column[2]; /* package; dram, of 5 W */
	struct tw_power_series power;
	struct tw_node_rows rows; /* a counter, and another one that stands at 1 */
	struct tw_extract_args args;
	struct tw_clock clock;
	struct tw_rates rates;
	struct tw_judged_rows j;
};

/* Write the rows; power is a counter's. The fixture must stay where it is. */
void rows_write(struct rows_fixture *f);

/* A row's CPUs, and its power by the law. */
void rows_set(struct rows_fixture *f, size_t row, double cpus);

/* Open f->j, with load and line. The caller closes it. */
void rows_judge(struct rows_fixture *f);

#endif /* TW_TEST_ROWS_FIXTURE_H */
