/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-machines: errors of the prior for machines that it was not trained on.
 *
 *	machines TABLE.csv [VIEWS]
 *
 * VIEWS has a bit for each kind of view; default: all.
 *
 * Each line is "protocol method n all idle half full median p90 coverage": mean absolute
 * percentage errors over eleven load points, at idle, 50 and 100 %; the median and the
 *90th percentile of machines; and the coverage of 90 % intervals, with one weight a
 * processor. "processor": each processor left out, variances learned without it, too.
 * "2016": learned from hardware up to 2016, judged by later hardware. "calibrated": as
 * "processor", with readings of the machine itself.
 */

#include "lib/core/err.h"
#include "lib/core/num.h"
#include "trainer/machines/machine_table.h"
#include "trainer/machines/posterior.h"
#include "trainer/machines/prior_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDS 12
#define SPLIT_YEAR 2016
#define METHODS (TW_PRIOR_VIEW_KINDS + 2)
#define ALL_VIEWS ((1u << TW_PRIOR_VIEW_KINDS) - 1)
#define LAST (TW_PRIOR_LOADS - 1)

struct figures {
	const char *name;
	double w[TW_PRIOR_ROWS_MAX][TW_PRIOR_LOADS]; /* NaN: no prediction */
	double inside[TW_PRIOR_ROWS_MAX];            /* share of the loads */
};

/* Readings of a calibration, by load, as a view knows the machine. */
static const struct calibration {
	const char *name, *view;
	double load[TW_PRIOR_READINGS_MAX];
	size_t readings;
} calibrations[] = {
	{ "system,idle,full", "system", { 0, 1 }, 2 },
	{ "system,half", "system", { 0.5 }, 1 },
	{ "name,idle,full", "name", { 0, 1 }, 2 },
	{ "name,half", "name", { 0.5 }, 1 },
};

#define CALIBRATIONS (sizeof(calibrations) / sizeof(calibrations[0]))

static struct tw_machine_table table;
static struct figures figures[METHODS], calibrated[CALIBRATIONS];

static void die(const struct tw_err *err)
{
	fprintf(stderr, "machines: %s\n", err->text);
	exit(1);
}

static void clear(void)
{
	static const char *const other[] = { "nearest-machine", "tdp-ratios" };

	for (size_t k = 0; k < METHODS; k++) {
		if (k >= TW_PRIOR_VIEW_KINDS)
			figures[k].name = other[k - TW_PRIOR_VIEW_KINDS];
		for (size_t i = 0; i < table.count; i++)
			figures[k].w[i][0] = NAN;
	}
	for (size_t k = 0; k < CALIBRATIONS; k++) {
		calibrated[k].name = calibrations[k].name;
		for (size_t i = 0; i < table.count; i++)
			calibrated[k].w[i][0] = NAN;
	}
}

static double units(const struct tw_prior_view *v, const struct tw_prior_machine *m)
{
	const double chips = m->number[TW_PRIOR_CHIPS];

	return v->unit == TW_PRIOR_OF_MACHINE ? 1
	       : v->unit == TW_PRIOR_OF_CHIP  ? chips
					      : chips * m->number[TW_PRIOR_CORES];
}

static bool has_needs(const struct tw_prior_view *v, const struct tw_prior_machine *m)
{
	for (size_t n = 0; n < TW_PRIOR_NUMBERS; n++)
		if ((v->needs >> n & 1) != 0 && isnan(m->number[n]))
			return false;
	return true;
}

static void take(struct figures *f, size_t i, const struct tw_prior_curve *c,
		 double times)
{
	const double *w = table.machine[i].w;

	f->inside[i] = 0;
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		f->w[i][l] = c->w[l] * times;
		/* An interval at a reading may be empty. */
		f->inside[i] += (w[l] >= c->low[l] * times * (1 - 1e-9) &&
				 w[l] <= c->high[l] * times * (1 + 1e-9)) /
				(double)TW_PRIOR_LOADS;
	}
}

static void predict(const struct tw_prior *p, size_t i)
{
	const struct tw_measured_machine *m = &table.machine[i];

	for (size_t v = 0; v < p->views; v++) {
		struct tw_prior_curve c;
		const double times = units(&p->view[v], &m->machine);

		figures[v].name = p->view[v].name;
		if (!has_needs(&p->view[v], &m->machine))
			continue;
		tw_prior_answer(p, &p->view[v], &m->machine, &c);
		take(&figures[v], i, &c, times);
	}
}

/* ---- calibrations ---- */

static void calibrate(const struct tw_prior *p, const struct tw_prior_view *v,
		      const struct calibration *k, const bool *use, struct figures *out)
{
	struct tw_reading r[TW_PRIOR_READINGS_MAX] = { { 0 } };
	struct tw_posterior q = { 0 };
	struct tw_err err = { 0 };

	for (size_t n = 0; n < k->readings; n++)
		r[n].load = k->load[n];
	if (tw_posterior_learn(p, v, r, k->readings, 0, &q, &err) < 0)
		die(&err);
	for (size_t i = 0; i < table.count; i++) {
		const struct tw_measured_machine *m = &table.machine[i];
		struct tw_prior_curve c;

		if (use[i] || !has_needs(v, &m->machine))
			continue;
		for (size_t n = 0; n < k->readings; n++)
			r[n].w = m->w[(size_t)lround(k->load[n] * LAST)];
		tw_posterior_answer(&q, &m->machine, r, &c);
		take(out, i, &c, 1);
	}
	tw_posterior_release(&q);
}

static void calibrate_all(const struct tw_prior *p, const bool *use)
{
	for (size_t v = 0; v < p->views; v++)
		for (size_t k = 0; k < CALIBRATIONS; k++)
			if (strcmp(calibrations[k].view, p->view[v].name) == 0)
				calibrate(p, &p->view[v], &calibrations[k], use,
					  &calibrated[k]);
}

/* ---- simpler methods ---- */

static double distance(const struct tw_measured_machine *a,
		       const struct tw_measured_machine *b)
{
	static const enum tw_prior_number of[] = { TW_PRIOR_CORES, TW_PRIOR_CHIPS,
						   TW_PRIOR_TDP, TW_PRIOR_MHZ };
	double sum = 0;

	for (size_t n = 0; n < sizeof(of) / sizeof(of[0]); n++)
		sum += fabs(log(a->machine.number[of[n]] / b->machine.number[of[n]]));
	for (int c = TW_PRIOR_VENDOR; c <= TW_PRIOR_GENERATION; c++)
		sum += strcmp(a->machine.category[c], b->machine.category[c]) != 0;
	return sum;
}

static double tdp_of(size_t i)
{
	return table.machine[i].machine.number[TW_PRIOR_TDP] *
	       table.machine[i].machine.number[TW_PRIOR_CHIPS];
}

static void predict_simply(const bool *use, size_t i)
{
	double ratio[TW_PRIOR_ROWS_MAX], least = INFINITY;
	size_t nearest = 0;

	if (isnan(tdp_of(i)))
		return;
	for (size_t k = 0; k < table.count; k++) {
		const double d = use[k] ? distance(&table.machine[i], &table.machine[k])
					: INFINITY;

		if (d < least) {
			least = d;
			nearest = k;
		}
	}
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		size_t n = 0;

		for (size_t k = 0; k < table.count; k++)
			if (use[k] && !isnan(tdp_of(k)))
				ratio[n++] = table.machine[k].w[l] / tdp_of(k);
		qsort(ratio, n, sizeof(*ratio), tw_compare_doubles);
		figures[TW_PRIOR_VIEW_KINDS].w[i][l] = table.machine[nearest].w[l];
		figures[TW_PRIOR_VIEW_KINDS + 1].w[i][l] = ratio[n / 2] * tdp_of(i);
	}
	figures[TW_PRIOR_VIEW_KINDS].inside[i] = NAN;
	figures[TW_PRIOR_VIEW_KINDS + 1].inside[i] = NAN;
}

/* ---- figures ---- */

static double error_at(const struct figures *f, size_t i, size_t l)
{
	return fabs(f->w[i][l] / table.machine[i].w[l] - 1);
}

static void print(const char *protocol, const struct figures *f)
{
	double machine[TW_PRIOR_ROWS_MAX], all = 0, idle = 0, half = 0, full = 0;
	double *inside = calloc(2 * table.processors, sizeof(*inside)), covered = 0;
	size_t n = 0, processors = 0;

	if (inside == NULL)
		exit(1);
	for (size_t i = 0; i < table.count; i++) {
		if (isnan(f->w[i][0]))
			continue;
		machine[n] = 0;
		for (size_t l = 0; l < TW_PRIOR_LOADS; l++)
			machine[n] += error_at(f, i, l) / TW_PRIOR_LOADS;
		all += machine[n++];
		idle += error_at(f, i, 0);
		half += error_at(f, i, TW_PRIOR_LOADS / 2);
		full += error_at(f, i, LAST);
		inside[2 * table.machine[i].processor] += f->inside[i];
		inside[2 * table.machine[i].processor + 1]++;
	}
	for (size_t p = 0; p < table.processors; p++)
		if (inside[2 * p + 1] > 0) {
			covered += inside[2 * p] / inside[2 * p + 1];
			processors++;
		}
	free(inside);
	if (n == 0)
		return;
	qsort(machine, n, sizeof(*machine), tw_compare_doubles);
	printf("%s %s %zu %.2f %.2f %.2f %.2f %.2f %.2f %.1f\n", protocol, f->name, n,
	       100 * all / (double)n, 100 * idle / (double)n, 100 * half / (double)n,
	       100 * full / (double)n, 100 * machine[n / 2], 100 * machine[n * 9 / 10],
	       100 * covered / (double)processors);
}

static void print_all(const char *protocol)
{
	for (size_t k = 0; k < METHODS; k++)
		print(protocol, &figures[k]);
	fflush(stdout);
}

/* ---- protocols ---- */

static size_t fold_of(size_t processor)
{
	return processor * 7919 % FOLDS; /* neighbours in the table fall apart */
}

static void leave_processors_out(struct tw_prior *p, bool *use)
{
	struct tw_err err = { 0 };

	for (size_t fold = 0; fold < FOLDS; fold++) {
		for (size_t i = 0; i < table.count; i++)
			use[i] = fold_of(table.machine[i].processor) != fold;
		if (tw_prior_learn(p, &table, use, 0, &err) < 0)
			die(&err);
		calibrate_all(p, use);
		for (size_t c = 0; c < table.processors; c++) {
			if (fold_of(c) != fold)
				continue;
			for (size_t i = 0; i < table.count; i++)
				use[i] = table.machine[i].processor != c;
			if (tw_prior_condition(p, &table, use, 0, &err) < 0)
				die(&err);
			for (size_t i = 0; i < table.count; i++) {
				if (use[i])
					continue;
				predict(p, i);
				predict_simply(use, i);
			}
		}
	}
}

static void split_by_time(struct tw_prior *p, bool *use)
{
	struct tw_err err = { 0 };

	for (size_t i = 0; i < table.count; i++)
		use[i] = table.machine[i].year <= SPLIT_YEAR;
	if (tw_prior_learn(p, &table, use, 0, &err) < 0)
		die(&err);
	for (size_t i = 0; i < table.count; i++)
		if (!use[i]) {
			predict(p, i);
			predict_simply(use, i);
		}
}

int main(int argc, char **argv)
{
	static bool use[TW_PRIOR_ROWS_MAX];
	struct tw_prior p = { 0 };
	struct tw_err err = { 0 };
	uint32_t views = ALL_VIEWS;

	if (argc != 2 &&
	    (argc != 3 || tw_parse_u32(argv[2], 1, ALL_VIEWS, &views, &err) < 0)) {
		fprintf(stderr, "usage: machines TABLE.csv [VIEWS]\n");
		return 2;
	}
	if (tw_machine_table_load(argv[1], &table, &err) < 0 ||
	    tw_prior_begin(&table, views, &p, &err) < 0)
		die(&err);
	clear();
	split_by_time(&p, use);
	print_all("2016");
	clear();
	leave_processors_out(&p, use);
	print_all("processor");
	for (size_t k = 0; k < CALIBRATIONS; k++)
		print("calibrated", &calibrated[k]);
	tw_prior_release(&p);
	tw_machine_table_release(&table);
	return 0;
}
