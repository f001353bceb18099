/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/rest.h"

#include "isolator/idle_power.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/field/feature.h"
#include "trainer/fit/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The lowest loads: a fiftieth of the rows. */
#define LOW_SHARE 50
/* The machine rested if the lowest loads are at most this share of the largest. */
#define REST_LOAD 0.1
/* Rows of at least this share of the most cycles are busy. */
#define BUSY 0.1
/* No processor runs faster, Hz. */
#define TOP_HZ 6e9
#define CONTRADICTED_SHARE 0.05

static double lowest(const double *v, size_t n)
{
	double least = v[0];

	for (size_t i = 1; i < n; i++)
		least = fmin(least, v[i]);
	return least;
}

bool tw_rest_contradicts(const double *cycles, const double *cpu_ms, size_t rows)
{
	size_t busy = 0, beyond = 0;
	double most = 0.0;

	for (size_t r = 0; r < rows; r++)
		most = fmax(most, cycles[r]);
	for (size_t r = 0; r < rows; r++) {
		if (most == 0.0 || cycles[r] < BUSY * most)
			continue;
		busy++;
		beyond += cycles[r] > TOP_HZ * cpu_ms[r] / 1000.0;
	}
	return busy > 0 && (double)beyond >= CONTRADICTED_SHARE * (double)busy;
}

static int find_contradiction(const struct tw_samples *s, bool *out, struct tw_err *err)
{
	const size_t rows = s->rows;
	size_t cycles = s->cols, cpu = s->cols;
	double *v;

	for (size_t c = 0; c < s->cols; c++) {
		if (strcmp(s->features[c], "cpu_cycles") == 0)
			cycles = c;
		if (strcmp(s->features[c], "bpf_cpu_time_ms") == 0)
			cpu = c;
	}
	if (cycles == s->cols || cpu == s->cols)
		return 0;
	if (TW_NEW(v, 2 * rows, err) < 0)
		return -1;
	tw_samples_column(s, cycles, v);
	tw_samples_column(s, cpu, v + rows);
	*out = tw_rest_contradicts(v, v + rows, rows);
	free(v);
	return 0;
}

/* Mean power of the rows up to the given load. */
static double mean_power(const double *watts, const double *load, size_t rows,
			 double most)
{
	double sum = 0.0, count = 0.0;

	for (size_t r = 0; r < rows; r++) {
		if (load[r] > most)
			continue;
		sum += watts[r];
		count += 1.0;
	}
	return sum / count;
}

/* low_watts: the mean power of the lowest loads. The lowest power of all is below it by
 * the noise of a meter. */
static void set_interval(const struct tw_idle_power *idle, const double *watts,
			 size_t rows, double low_watts, struct tw_rest *r)
{
	const double least = fmax(idle->by_use ? low_watts : lowest(watts, rows), 0.0);

	r->shown = idle->by_use;
	r->watts = idle->watts;
	if (r->rested && idle->by_use && isfinite(idle->low)) {
		r->low = fmin(idle->low, idle->watts);
		r->high = fmax(idle->high, idle->watts);
		return;
	}
	r->low = 0.0;
	r->high = r->rested ? fmax(least, idle->watts) : least;
	r->watts = fmin(r->watts, r->high);
}

double tw_rest_limit(const struct tw_rest *r, double watts)
{
	return fmin(fmax(watts, r->low), r->high);
}

int tw_rest_find(const struct tw_samples *s, struct tw_rest *out, struct tw_err *err)
{
	const size_t rows = s->rows;
	const double *watts = s->y;
	double *load, *sorted;
	struct tw_rest r = { .load = tw_load_feature(s->features, s->cols) };
	struct tw_idle_power idle;
	int rc = -1;

	if (s->rest != NULL) {
		*out = *s->rest;
		return 0;
	}
	if (TW_NEW(load, 2 * rows, err) < 0)
		goto out;
	sorted = load + rows;
	tw_samples_column(s, r.load, load);
	if (find_contradiction(s, &r.contradicted, err) < 0)
		goto out;
	memcpy(sorted, load, rows * sizeof(*sorted));
	qsort(sorted, rows, sizeof(*sorted), tw_compare_doubles);
	r.low_load = sorted[rows / LOW_SHARE];
	r.rested = r.low_load <= REST_LOAD * sorted[rows - 1];
	if (tw_idle_power_find(load, watts, rows, &idle, err) < 0)
		goto out;
	r.low_watts = mean_power(watts, load, rows, r.low_load);
	set_interval(&idle, watts, rows, r.low_watts, &r);
	if (s->from_zero)
		r.watts = r.low = r.high = 0.0;
	r.low_watts = fmax(r.low_watts, r.watts);

	*out = r;
	rc = 0;
out:
	free(load);
	return rc;
}
