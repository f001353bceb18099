/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_refusal.h"

#include "lib/core/array.h"
#include "lib/core/date.h"
#include "lib/core/err.h"
#include "lib/core/line.h"
#include "lib/core/num.h"
#include "lib/field/feature.h"
#include "model-db/fitness.h"
#include "trainer/fit/rest.h"
#include "trainer/fit/score.h"
#include "trainer/train_machines.h"
#include "trainer/train_scores.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows of the recording's ends that tell whether power follows the load: a fifth. */
#define END 5
/* Between them power differs by this share, and by this many standard errors. */
#define RISE_MIN 0.02
#define RISE_ERRORS 2
/* Power is below this multiple of its 99th percentile, if there are this many rows. */
#define POWER_MAX 3
#define POWER_ROWS 20
/*
 * One row in this many may have more load than the CPUs, and each this much more: late
 * scrapes move work from row to row, most where a row lasts a tenth of a second. What is
 * counted twice has twice the load.
 */
#define LOAD_ROWS 20
#define LOAD_MARGIN 1.25
#define WORST 5
/* Limit of the standard error of the line, as a share of power, where the load is least
 * or largest: 2.5 standard errors are 3 % of the power. */
#define LINE_ERROR_MAX 0.012
/* A recording rests if its least load is below this share of its largest. */
#define REST_SHARE 0.05
/* Watts of a busy CPU. All of the power at the most load is above; the power that a CPU
 * adds is below. A CPU that feeds accelerators adds theirs to that of the platform. No
 * machine draws more than 20 kW. Else a unit is wrong. */
#define CPU_WATTS_MIN 0.05
#define CPU_WATTS_MAX 1000
#define FEEDING_WATTS_MAX 5000
#define MACHINE_WATTS_MAX 20e3

/* Mean power of a component, with the power at rest that isolation subtracted. */
static double mean_power(const struct tw_train_scores *u, size_t c)
{
	const struct tw_train_data *d = u->data;
	const struct tw_profile_power *idle = tw_profile_find(
		&d->profile, d->source, d->component[c], (uint32_t)d->machine->node_type);

	return u->score[0][c].mean +
	       (d->output == TW_DYN_POWER && idle != NULL ? idle->median_w : 0);
}

/*
 * The error of a component on held-out rows, percent. Dynamic power starts at 0 W, where
 * percentages of its rows mean little: its error is compared with the whole power.
 */
static double error_percent(const struct tw_train_scores *u, size_t c)
{
	const struct tw_score *s = &u->score[0][c];

	if (u->data->output == TW_ABS_POWER)
		return s->mape;
	return 100 * s->mae / fmax(1.0, mean_power(u, c));
}

/* The component with the largest error. */
static size_t find_worst(const struct tw_train_scores *u)
{
	size_t worst = 0;

	for (size_t c = 1; c < u->data->components; c++)
		if (error_percent(u, c) > error_percent(u, worst) ||
		    isnan(error_percent(u, worst)))
			worst = c;
	return worst;
}

/* The largest mean error of a component, as a share of its limit. */
static double bias_of(const struct tw_train_scores *u, size_t c)
{
	const struct tw_score *s = &u->score[0][c];
	const double w = fmax(1.0, mean_power(u, c)) / 100;
	const double ends = fmax(fabs(s->bias_low), fabs(s->bias_high));

	return fmax(fmax(fabs(s->bias) / TW_BIAS_MAX, ends / TW_BIAS_END_MAX),
		    fabs(s->bias_drift) / TW_BIAS_DRIFT_MAX) /
	       w;
}

/* Whether a component drifts by more than a mean error may be in one more recording. */
static bool drifts(const struct tw_train_scores *u)
{
	for (size_t c = 0; c < u->data->components; c++)
		if (fabs(u->drift[c].watts) >
		    TW_BIAS_MAX / 100 * fmax(1.0, mean_power(u, c)))
			return true;
	return false;
}

double tw_train_bias(const struct tw_train_scores *s)
{
	double most = 0;

	for (size_t c = 0; c < s->data->components; c++)
		most = fmax(most, bias_of(s, c));
	return most;
}

/* ---- the recording ---- */

/* A row's load and power: sorted by load, which is first. */
struct loaded {
	double load, watts;
};

static void find_mean(const struct loaded *r, size_t n, double *mean, double *variance)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < n; i++) {
		sum += r[i].watts / (double)n;
		squares += r[i].watts * r[i].watts / (double)n;
	}
	*mean = sum;
	*variance = fmax(squares - sum * sum, 0) / (double)n;
}

/* Busy CPUs of a row, or NaN. */
static double busy_cpus(const struct tw_train_data *d, const double *x)
{
	double ms = NAN;

	for (size_t i = 0; i < d->cols; i++) {
		if (strcmp(d->feature[i], "bpf_cpu_time_ms") == 0)
			return x[i] / 1e3;
		if (strncmp(d->feature[i], "node_cpu_", 9) == 0)
			ms = isnan(ms) ? x[i] : ms + x[i];
	}
	return ms / 1e3;
}

/* Whether power differs between the rows with the least and the most load. */
static bool has_load(const struct loaded *r, size_t rows, double watts)
{
	const size_t n = (rows + END - 1) / END;
	double low, high, low_error, high_error;

	if (!(r[0].load < r[rows - 1].load))
		return false;
	find_mean(r, n, &low, &low_error);
	find_mean(r + rows - n, n, &high, &high_error);
	return fabs(high - low) >
	       fmax(RISE_MIN * watts, RISE_ERRORS * sqrt(low_error + high_error));
}

static struct loaded mean_of(const struct loaded *r, size_t n)
{
	struct loaded mean = { 0, 0 };

	for (size_t i = 0; i < n; i++) {
		mean.load += r[i].load / (double)n;
		mean.watts += r[i].watts / (double)n;
	}
	return mean;
}

/* Whether power and CPU time are in one system of units: milliwatts are not. `component`
 * is that of the samples; the power of GPUs and memory follows other work. */
static bool has_wrong_unit(const struct tw_train_data *d, const struct tw_samples *s,
			   enum tw_component component, double idle_w, struct loaded *r)
{
	const bool platform = component == TW_PLATFORM;
	const double most = platform ? FEEDING_WATTS_MAX : CPU_WATTS_MAX;
	const size_t n = (s->rows + END - 1) / END;
	struct loaded low, high;

	for (size_t i = 0; i < s->rows; i++)
		r[i] = (struct loaded){ busy_cpus(d, s->x + i * s->cols), s->y[i] };
	if ((!platform && component != TW_PACKAGE && component != TW_CORE) ||
	    isnan(r[0].load))
		return false;
	qsort(r, s->rows, sizeof(*r), tw_compare_doubles);
	low = mean_of(r, n);
	high = mean_of(r + s->rows - n, n);
	return high.watts + idle_w > MACHINE_WATTS_MAX ||
	       high.watts + idle_w < CPU_WATTS_MIN * high.load ||
	       (has_load(r, s->rows, high.watts + idle_w) &&
		high.watts - low.watts > most * (high.load - low.load));
}

/*
 * Whether a recording has too few readings for the noise of its power: the line of power
 * over load may be wrong at rest or where the load is largest. Rows are in order of time;
 * each has its own error, as noise may grow with power. Those that repeat the power of
 * the row before are one reading: their errors add up before they are squared.
 */
static bool is_uncertain(const struct loaded *r, size_t rows, const double *predicted,
			 double low, double high, double limit)
{
	const double ends[] = { low, high };
	struct tw_line line = { 0 };
	bool uncertain = false;

	for (size_t i = 0; i < rows; i++)
		tw_line_add(&line, r[i].load, r[i].watts);
	for (size_t end = 0; end < TW_COUNT(ends); end++) {
		const double load = tw_line_mean_x(&line), off = ends[end] - load;
		double variance = 0, run = 0;

		for (size_t i = 0; i < rows; i++) {
			const double share = 1.0 / (double)rows +
					     off * (r[i].load - load) / tw_line_xx(&line);

			if (i > 0 && r[i].watts != r[i - 1].watts) {
				variance += run * run;
				run = 0;
			}
			run += share * (predicted[i] - r[i].watts);
		}
		variance += run * run;
		uncertain |=
			sqrt(variance) > limit * fmax(tw_line_at(&line, ends[end]), 1.0);
	}
	return uncertain;
}

/*
 * Whether the line of the recording is not certain. That of a counter which rests is:
 * rows have the energy of their work, and there are many. Without rest the line must
 * reach it. The error of a small component is compared with the power of the first one.
 */
static bool is_noisy(const struct tw_train_scores *u, size_t c, const struct loaded *r,
		     size_t rows)
{
	const struct tw_train_data *d = u->data;
	const double *predicted = tw_train_scores_held_out(u, 0, c);
	const double parts = fmax(mean_power(u, 0) / mean_power(u, c), 1);
	double low = INFINITY, high = -INFINITY;
	bool rests;

	for (size_t i = 0; i < rows; i++) {
		low = fmin(low, r[i].load);
		high = fmax(high, r[i].load);
	}
	rests = low <= REST_SHARE * high;
	return d->output == TW_ABS_POWER && (d->by_readings || !rests) &&
	       is_uncertain(r, rows, predicted, rests ? low : 0, high,
			    LINE_ERROR_MAX * parts);
}

/* Milliseconds of CPU time in a second that the machine has; 0: not known. */
static double most_cpu_ms(const struct tw_machine_spec *s)
{
	return 1e3 * s->cores * (s->threads_per_core > 1 ? s->threads_per_core : 1);
}

static bool is_absurd(double *watts, size_t rows, double idle_w)
{
	const size_t place = rows - 1 - (rows + 99) / 100;
	double most = watts[0];

	if (rows < POWER_ROWS)
		return false;
	for (size_t i = 1; i < rows; i++)
		most = fmax(most, watts[i]);
	return most + idle_w > POWER_MAX * fmax(tw_nth(watts, rows, place) + idle_w, 1.0);
}

/* The first fault of the recording's own rows. */
static const char *find_fault(const struct tw_train_scores *u, const struct tw_rest *rest,
			      size_t c, struct loaded *r, double *watts, bool *uncertain)
{
	const struct tw_train_data *d = u->data;
	const struct tw_samples s = tw_train_data_samples(d, d->folds, c);
	const char *load = d->feature[rest[c].load];
	const double idle_w = mean_power(u, c) - u->score[0][c].mean;
	const double cpu_ms = most_cpu_ms(&d->machine->spec);
	bool noisy;

	if (c == 0 && has_wrong_unit(d, &s, d->component[c], idle_w, r))
		return TW_REFUSED_UNIT;
	for (size_t i = 0; i < s.rows; i++) {
		r[i] = (struct loaded){ s.x[i * s.cols + rest[c].load], s.y[i] };
		watts[i] = s.y[i];
	}
	noisy = is_noisy(u, c, r, s.rows);
	qsort(r, s.rows, sizeof(*r), tw_compare_doubles);
	if (strcmp(load, "bpf_cpu_time_ms") == 0 && cpu_ms > 0 &&
	    r[s.rows - 1 - s.rows / LOAD_ROWS].load > LOAD_MARGIN * cpu_ms)
		return TW_REFUSED_LOAD;
	if (is_absurd(watts, s.rows, idle_w))
		return TW_REFUSED_POWER;
	if (!has_load(r, s.rows, mean_power(u, c)))
		return TW_REFUSED_NO_LOAD;
	*uncertain |= noisy;
	return NULL;
}

/* fault: of the components' power and load, or NULL. */
static const char *first_reason(const struct tw_train_scores *u, const char *fault,
				bool shown, bool uncertain)
{
	const struct tw_train_data *d = u->data;
	const bool no_load = fault != NULL && strcmp(fault, TW_REFUSED_NO_LOAD) == 0;
	const struct {
		bool holds;
		const char *why;
	} reasons[] = {
		{ fault != NULL && !no_load, fault },
		/* An error by a drift is that of another time: no row shows it. */
		{ error_percent(u, find_worst(u)) > TW_CERTIFICATE_ERROR_MAX &&
			  !drifts(u),
		  TW_REFUSED_ERROR },
		{ d->cpu_time_incomplete, TW_REFUSED_CPU_TIME },
		{ d->unbalanced, TW_REFUSED_BALANCE },
		{ no_load, fault },
		{ d->step_uneven, TW_REFUSED_STEP },
		{ d->times_differ, TW_REFUSED_TIMES },
		{ d->work_unseen, TW_REFUSED_UNSEEN },
		{ !shown, TW_REFUSED_NO_REST },
		{ drifts(u), TW_REFUSED_DRIFT },
		{ uncertain, TW_REFUSED_NOISE },
		{ tw_train_bias(u) > 1, TW_REFUSED_BIAS },
	};

	for (size_t i = 0; i < TW_COUNT(reasons); i++)
		if (reasons[i].holds)
			return reasons[i].why;
	return NULL;
}

int tw_train_refusal_find(const struct tw_train_scores *u, const struct tw_rest *rest,
			  const char **why, struct tw_err *err)
{
	const struct tw_train_data *d = u->data;
	struct loaded *r = calloc(d->rows + 1, sizeof(*r));
	double *watts = calloc(d->rows + 1, sizeof(*watts));
	const char *fault = NULL;
	bool shown = true, uncertain = false;

	if (r == NULL || watts == NULL) {
		free(r);
		free(watts);
		return tw_fail(err, TW_NOMEM, "%zu rows", d->rows);
	}
	/* Whether there is load shows in the first component, the package or platform. */
	for (size_t c = d->components; c-- > 0;) {
		const char *found = find_fault(u, rest, c, r, watts, &uncertain);

		if (c == 0 || (found != NULL && strcmp(found, TW_REFUSED_NO_LOAD) != 0))
			fault = found != NULL ? found : fault;
		shown &= rest[c].shown;
	}
	free(r);
	free(watts);
	*why = first_reason(u, fault, shown, uncertain);
	return 0;
}

/* ---- for people ---- */

json_t *tw_train_refusal_rows(const struct tw_train_scores *u, const char *why)
{
	const struct tw_train_data *d = u->data;
	const size_t c = find_worst(u);
	const struct tw_samples s = tw_train_data_samples(d, d->folds, c);
	const double *predicted = tw_train_scores_held_out(u, 0, c);
	const bool by_load = strcmp(why, TW_REFUSED_LOAD) == 0;
	const bool by_power = strcmp(why, TW_REFUSED_POWER) == 0;
	const size_t load = tw_load_feature(d->feature, d->cols);
	struct loaded worst[WORST + 1];
	json_t *list;
	size_t count = 0;

	list = json_array();
	/* No row shows these. */
	if (strcmp(why, TW_REFUSED_DRIFT) == 0 || strcmp(why, TW_REFUSED_NO_LOAD) == 0)
		return list;
	for (size_t i = 0; i < s.rows; i++) {
		const double key = by_load    ? s.x[i * s.cols + load]
				   : by_power ? s.y[i]
					      : fabs(predicted[i] - s.y[i]);
		size_t at = count;

		for (; at > 0 && worst[at - 1].load < key; at--)
			worst[at] = worst[at - 1];
		worst[at] = (struct loaded){ key, (double)i };
		count += count < WORST;
	}
	for (size_t k = 0; list != NULL && k < count; k++) {
		const size_t i = (size_t)worst[k].watts;
		char text[160], at[TW_DATE_TEXT] = "-";

		tw_format_date_ms(d->d.time_ms[i], at);
		snprintf(text, sizeof(text), "%s: %.1f W, predicted %.1f W, %s %.4g", at,
			 s.y[i], predicted[i], d->feature[load], s.x[i * s.cols + load]);
		if (json_array_append_new(list, json_string(text)) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

const char *tw_train_refusal_advice(const char *why)
{
	static const struct {
		const char *why, *advice;
	} known[] = {
		{ TW_REFUSED_LOAD,
		  "is an exporter read twice (--match), or the number of "
		  "CPUs wrong (--spec)?" },
		{ TW_REFUSED_UNIT, "look for milliwatts, kilowatts or milliseconds under "
				   "the name of another unit" },
		{ TW_REFUSED_POWER, "look for a wrong step of the meter" },
		{ TW_REFUSED_ERROR,
		  "look for a wrong step of the meter in the recording" },
		{ TW_REFUSED_NO_LOAD, "record rest and several loads ('tallywatt engage' "
				      "runs them)" },
		{ TW_REFUSED_CPU_TIME, "record again by an exporter that counts all CPU "
				       "time, such as tw-collector" },
		{ TW_REFUSED_BALANCE, "record again by an exporter that counts all CPU "
				      "time, such as tw-collector" },
		{ TW_REFUSED_STEP, "query again with --step of the scrape interval" },
		{ TW_REFUSED_TIMES, "record loads that last for some minutes, or read "
				    "the meter more often" },
		{ TW_REFUSED_UNSEEN, "begin the recording after they have appeared" },
		{ TW_REFUSED_NOISE, "record longer, or read the meter more often" },
		{ TW_REFUSED_NO_REST, "record some minutes of an idle machine, too" },
		{ TW_REFUSED_DRIFT, "record again when the machine's temperature is "
				    "steady, or train online" },
		{ TW_REFUSED_BIAS, "record longer, and each load more than once" },
	};

	for (size_t i = 0; i < TW_COUNT(known); i++)
		if (strcmp(known[i].why, why) == 0)
			return known[i].advice;
	return "train again";
}
