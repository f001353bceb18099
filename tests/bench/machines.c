/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-machines: errors of the prior for machines that it was not trained on.
 *
 *	machines PLAN
 *
 * Plan and lines are as tests/bench/machine_figures.h has them. "processor": each
 * processor left out, variances learned without it, too. Other protocols leave out an
 * era. "calibrated": as the protocol, with readings of the machine itself. A machine is
 * served by the best view for what is known of it.
 */

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "tests/bench/machine_figures.h"
#include "trainer/machines/posterior.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The views, and the one that serves: of all machines, and of each vendor. */
#define SERVED TW_PRIOR_VIEWS_MAX
#define METHODS (SERVED + 4)
#define LAST (TW_PRIOR_LOADS - 1)

/* Readings of a calibration, by load, as a view knows the machine. */
static const struct calibration {
	const char *name, *view;
	double load[TW_PRIOR_READINGS_MAX];
	size_t readings;
} calibrations[] = {
	{ "host,idle,full", "host", { 0, 1 }, 2 },
	{ "host,half", "host", { 0.5 }, 1 },
};

#define CALIBRATIONS TW_COUNT(calibrations)

/* Of the case that is being judged; its rows are those of all cases. */
static struct tw_prior prior;
static struct machine_figures figures[METHODS], calibrated[CALIBRATIONS];

static void die(const struct tw_err *err)
{
	fprintf(stderr, "machines: %s\n", err->text);
	exit(1);
}

static void clear(void)
{
	static const char *const other[] = { "served", "amd", "intel", "others" };

	for (size_t k = 0; k < METHODS; k++) {
		machine_figures_clear(&figures[k]);
		if (k >= SERVED)
			figures[k].name = other[k - SERVED];
	}
	for (size_t k = 0; k < CALIBRATIONS; k++) {
		machine_figures_clear(&calibrated[k]);
		calibrated[k].name = calibrations[k].name;
	}
}

static double units(const struct tw_prior_view *v, const struct tw_prior_row *m)
{
	const double chips = m->number[TW_PRIOR_CHIPS];

	return v->unit == TW_PRIOR_OF_MACHINE ? 1
	       : v->unit == TW_PRIOR_OF_CHIP  ? chips
					      : chips * m->number[TW_PRIOR_CORES];
}

static bool has_needs(const struct tw_prior_view *v, const struct tw_prior_row *m)
{
	for (size_t n = 0; n < TW_PRIOR_NUMBERS; n++)
		if ((v->needs >> n & 1) != 0 && isnan(m->number[n]))
			return false;
	return true;
}

/* read: bits of the loads whose power was given. Their intervals hold nothing. */
static void take(struct machine_figures *f, size_t i, const struct tw_prior_curve *c,
		 double times, unsigned read)
{
	const double *w = prior.row_w[i];
	double known = 0, inside = 0;

	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		f->w[i][l] = c->w[l] * times;
		f->claimed[i][l] = isnan(w[l]) ? NAN : c->error[l] / c->w[l];
		if ((read >> l & 1) != 0)
			continue;
		inside += w[l] >= c->low[l] * times && w[l] <= c->high[l] * times;
		known += !isnan(w[l]);
	}
	f->inside[i] = inside / known;
	f->width[i] =
		0.25 * (log(c->high[0] / c->low[0]) + log(c->high[LAST] / c->low[LAST]));
}

static void predict(size_t i)
{
	const struct tw_prior *p = &prior;
	const struct tw_prior_view *serves;
	struct tw_prior_machine m;
	const char *vendor;

	tw_prior_machine_of_row(p, i, &m);
	serves = tw_prior_view_for(p, &m);
	vendor = m.category[TW_PRIOR_VENDOR];
	for (size_t v = 0; v < p->views; v++) {
		struct tw_err err = { 0 };
		struct tw_prior_curve c;
		const double times = units(&p->view[v], &p->row[i]);

		figures[v].name = p->view[v].name;
		if (!has_needs(&p->view[v], &p->row[i]))
			continue;
		if (tw_prior_answer(p, &p->view[v], &m, &c, &err) < 0)
			die(&err);
		take(&figures[v], i, &c, times, 0);
		if (&p->view[v] != serves)
			continue;
		take(&figures[SERVED], i, &c, times, 0);
		take(&figures[SERVED + (strcmp(vendor, "amd") == 0     ? 1
					: strcmp(vendor, "intel") == 0 ? 2
								       : 3)],
		     i, &c, times, 0);
	}
}

/* ---- calibrations ---- */

/* The prior of a fold, learned without its processors, and its posteriors. */
static struct tw_prior fold;
static char fold_path[MACHINE_PATH_MAX];
static struct tw_posterior learned[CALIBRATIONS];

static const struct tw_prior_view *view_of(const struct tw_prior *p, const char *name)
{
	for (size_t v = 0; v < p->views; v++)
		if (strcmp(p->view[v].name, name) == 0)
			return &p->view[v];
	return NULL;
}

static void learn_calibrations(const char *path)
{
	const struct tw_prior *p = &fold;

	snprintf(fold_path, sizeof(fold_path), "%s", path);
	for (size_t k = 0; k < CALIBRATIONS; k++)
		tw_posterior_release(&learned[k]);
	machine_prior_load(path, &fold);
	for (size_t k = 0; k < CALIBRATIONS; k++) {
		const struct calibration *c = &calibrations[k];
		const struct tw_prior_view *v = view_of(p, c->view);
		struct tw_power_reading r[TW_PRIOR_READINGS_MAX] = { { 0 } };
		struct tw_err err = { 0 };

		for (size_t n = 0; n < c->readings; n++)
			r[n].load = c->load[n];
		if (v != NULL &&
		    tw_posterior_learn(p, v, r, c->readings, 0, &learned[k], &err) < 0)
			die(&err);
	}
}

/* The judged machines, with readings of themselves. */
static void calibrate(const struct tw_posterior *q, const struct calibration *k,
		      const bool *judged, struct machine_figures *out)
{
	for (size_t i = 0; i < prior.rows; i++) {
		struct tw_prior_machine m;
		struct tw_power_reading r[TW_PRIOR_READINGS_MAX] = { { 0 } };
		struct tw_prior_curve c;
		unsigned read = 0;

		if (!judged[i] || !has_needs(view_of(q->prior, k->view), &prior.row[i]))
			continue;
		for (size_t n = 0; n < k->readings; n++) {
			const unsigned l = (unsigned)lround(k->load[n] * LAST);

			r[n] = (struct tw_power_reading){ .load = k->load[n],
							  .w = prior.row_w[i][l] };
			read |= 1u << l;
		}
		if (!tw_prior_has_curve(&prior, i))
			continue;
		tw_prior_machine_of_row(&prior, i, &m);
		tw_posterior_answer(q, &m, r, &c);
		take(out, i, &c, 1, read);
	}
}

static void calibrate_all(const bool *judged)
{
	for (size_t k = 0; k < CALIBRATIONS; k++) {
		const struct tw_prior_view *v = view_of(&prior, calibrations[k].view);
		struct tw_posterior q = { 0 };
		struct tw_err err = { 0 };

		if (v == NULL)
			continue;
		if (tw_posterior_condition(&learned[k], v, 0, &q, &err) < 0)
			die(&err);
		calibrate(&q, &calibrations[k], judged, &calibrated[k]);
		tw_posterior_release(&q);
	}
}

/* Learning takes a while: only where processors and the newest machines are left out. */
static bool calibrates(const char *protocol)
{
	return strcmp(protocol, "processor") == 0 || strncmp(protocol, "year>", 5) == 0;
}

static void print_all(const char *protocol)
{
	for (size_t k = 0; k < METHODS; k++)
		machine_figures_print(protocol, &figures[k], &prior);
	for (size_t k = 0; k < CALIBRATIONS; k++)
		machine_figures_print(protocol, &calibrated[k], &prior);
	fflush(stdout);
}

/* ---- the plan ---- */

static void judge(const struct machine_case *c)
{
	machine_prior_load(c->conditioned, &prior);
	if (calibrates(c->protocol)) {
		if (strcmp(c->learned, fold_path) != 0)
			learn_calibrations(c->learned);
		calibrate_all(c->judged);
	}
	for (size_t i = 0; i < prior.rows; i++)
		if (c->judged[i])
			predict(i);
}

int main(int argc, char **argv)
{
	static struct machine_case c;
	char protocol[sizeof(c.protocol)] = "";
	FILE *plan = argc == 2 ? fopen(argv[1], "re") : NULL;

	if (plan == NULL) {
		fprintf(stderr, "usage: machines PLAN\n");
		return 2;
	}
	while (machine_case_next(plan, &c)) {
		if (strcmp(c.protocol, protocol) != 0) {
			if (*protocol != '\0')
				print_all(protocol);
			clear();
			memcpy(protocol, c.protocol, sizeof(protocol));
		}
		judge(&c);
	}
	fclose(plan);
	print_all(protocol);
	for (size_t k = 0; k < CALIBRATIONS; k++)
		tw_posterior_release(&learned[k]);
	tw_prior_release(&fold);
	tw_prior_release(&prior);
	return 0;
}
