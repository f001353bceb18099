/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-machines: errors of the prior for machines that it was not trained on.
 *
 *	machines TABLE.csv [VIEWS]
 *
 * VIEWS has a bit for each kind of view; default: all.
 *
 * Lines are as tests/bench/machine_figures.h has them. "processor": each processor left
 * out, variances learned without it, too. "2016": learned from hardware up to 2016,
 *judged by later hardware. "calibrated": as "processor", with readings of the machine
 *itself.
 */

#include "lib/core/err.h"
#include "lib/core/num.h"
#include "tests/bench/machine_figures.h"
#include "trainer/machines/machine_table.h"
#include "trainer/machines/posterior.h"
#include "trainer/machines/prior_fit.h"
#include "trainer/machines/prior_learn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define METHODS (TW_PRIOR_VIEW_KINDS + 2)
#define ALL_VIEWS ((1u << TW_PRIOR_VIEW_KINDS) - 1)
#define LAST (TW_PRIOR_LOADS - 1)

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
static struct machine_figures figures[METHODS], calibrated[CALIBRATIONS];

static void die(const struct tw_err *err)
{
	fprintf(stderr, "machines: %s\n", err->text);
	exit(1);
}

static void clear(void)
{
	static const char *const other[] = { "nearest-machine", "tdp-ratios" };

	for (size_t k = 0; k < METHODS; k++) {
		machine_figures_clear(&figures[k]);
		if (k >= TW_PRIOR_VIEW_KINDS)
			figures[k].name = other[k - TW_PRIOR_VIEW_KINDS];
	}
	for (size_t k = 0; k < CALIBRATIONS; k++) {
		machine_figures_clear(&calibrated[k]);
		calibrated[k].name = calibrations[k].name;
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

static void take(struct machine_figures *f, size_t i, const struct tw_prior_curve *c,
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
		struct tw_err err = { 0 };
		struct tw_prior_curve c;
		const double times = units(&p->view[v], &m->machine);

		figures[v].name = p->view[v].name;
		if (!has_needs(&p->view[v], &m->machine))
			continue;
		if (tw_prior_answer(p, &p->view[v], &m->machine, &c, &err) < 0)
			die(&err);
		take(&figures[v], i, &c, times);
	}
}

/* ---- calibrations ---- */

/* The posteriors of a fold: learned without its processors. */
static struct tw_posterior learned[CALIBRATIONS];

static const struct tw_prior_view *view_of(const struct tw_prior *p, const char *name)
{
	for (size_t v = 0; v < p->views; v++)
		if (strcmp(p->view[v].name, name) == 0)
			return &p->view[v];
	return NULL;
}

static void learn_calibrations(const struct tw_prior *p)
{
	for (size_t k = 0; k < CALIBRATIONS; k++) {
		const struct calibration *c = &calibrations[k];
		const struct tw_prior_view *v = view_of(p, c->view);
		struct tw_power_reading r[TW_PRIOR_READINGS_MAX] = { { 0 } };
		struct tw_err err = { 0 };

		tw_posterior_release(&learned[k]);
		for (size_t n = 0; n < c->readings; n++)
			r[n].load = c->load[n];
		if (v != NULL &&
		    tw_posterior_learn(p, v, r, c->readings, 0, &learned[k], &err) < 0)
			die(&err);
	}
}

/* The machines that are not used, with readings of themselves. */
static void calibrate(const struct tw_posterior *q, const struct calibration *k,
		      const bool *use, struct machine_figures *out)
{
	for (size_t i = 0; i < table.count; i++) {
		const struct tw_measured_machine *m = &table.machine[i];
		struct tw_power_reading r[TW_PRIOR_READINGS_MAX] = { { 0 } };
		struct tw_prior_curve c;

		if (use[i] || !has_needs(view_of(q->prior, k->view), &m->machine))
			continue;
		for (size_t n = 0; n < k->readings; n++)
			r[n] = (struct tw_power_reading){
				.load = k->load[n],
				.w = m->w[(size_t)lround(k->load[n] * LAST)],
			};
		tw_posterior_answer(q, &m->machine, r, &c);
		take(out, i, &c, 1);
	}
}

static void calibrate_all(const struct tw_prior *p, const bool *use)
{
	for (size_t k = 0; k < CALIBRATIONS; k++) {
		const struct tw_prior_view *v = view_of(p, calibrations[k].view);
		struct tw_posterior q = { 0 };
		struct tw_err err = { 0 };

		if (v == NULL)
			continue;
		if (tw_posterior_condition(&learned[k], v, 0, &q, &err) < 0)
			die(&err);
		calibrate(&q, &calibrations[k], use, &calibrated[k]);
		tw_posterior_release(&q);
	}
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

static void print_all(const char *protocol)
{
	for (size_t k = 0; k < METHODS; k++)
		machine_figures_print(protocol, &figures[k], &table);
	fflush(stdout);
}

/* ---- protocols ---- */

static void leave_processors_out(struct tw_prior *p, bool *use)
{
	struct tw_err err = { 0 };

	for (size_t fold = 0; fold < MACHINE_FOLDS; fold++) {
		for (size_t i = 0; i < table.count; i++)
			use[i] = machine_fold_of(table.machine[i].processor) != fold;
		if (tw_prior_learn(p, &table, use, 0, &err) < 0)
			die(&err);
		learn_calibrations(p);
		for (size_t c = 0; c < table.processors; c++) {
			if (machine_fold_of(c) != fold)
				continue;
			for (size_t i = 0; i < table.count; i++)
				use[i] = table.machine[i].processor != c;
			if (tw_prior_condition(p, &table, use, 0, &err) < 0)
				die(&err);
			calibrate_all(p, use);
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
		use[i] = table.machine[i].year <= MACHINE_SPLIT_YEAR;
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
		machine_figures_print("calibrated", &calibrated[k], &table);
	for (size_t k = 0; k < CALIBRATIONS; k++)
		tw_posterior_release(&learned[k]);
	tw_prior_release(&p);
	tw_machine_table_release(&table);
	return 0;
}
