/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/run_report.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/json/writer.h"

#include <math.h>

enum value { JOULES, SECONDS, WATTS };

static double value_of(const struct tw_run *r, enum value v)
{
	return v == JOULES    ? r->figures.joules
	       : v == SECONDS ? r->seconds
			      : r->figures.joules / r->seconds;
}

/* The mean of a value over the runs whose energy is known. */
static struct tw_run_mean mean_of(const struct tw_run_report *r, bool other, enum value v)
{
	struct tw_run_mean m = { .count = 0 };

	for (size_t i = 0; i < r->count; i++)
		if (r->run[i].other == other && !isnan(r->run[i].figures.joules))
			tw_run_mean_add(&m, value_of(&r->run[i], v));
	return m;
}

static const struct tw_run *last_of(const struct tw_run_report *r, bool other)
{
	const struct tw_run *last = NULL;

	for (size_t i = 0; i < r->count; i++)
		if (r->run[i].other == other)
			last = &r->run[i];
	return last;
}

static const char *kind_of(const struct tw_run_figures *f)
{
	return f->simulated ? "SIMULATED" : f->estimated ? "ESTIMATED" : "MEASURED";
}

/* ---- for people ---- */

static void add_mean(struct tw_buf *b, const struct tw_run_report *r, bool other,
		     enum value v, int decimals)
{
	const struct tw_run_mean m = mean_of(r, other, v);
	const double error = tw_run_mean_error(&m);

	if (m.count == 0)
		tw_buf_adds(b, "-");
	else
		tw_buf_addf(b, "%.*f", decimals, m.mean);
	if (!isnan(error))
		tw_buf_addf(b, " +- %.*f", decimals, error);
}

/* The largest of all runs. */
static double peak_of(const struct tw_run_report *r, bool other)
{
	double peak = NAN;

	for (size_t i = 0; i < r->count; i++)
		if (r->run[i].other == other)
			peak = fmax(peak, r->run[i].figures.peak_w);
	return peak;
}

static size_t runs_of(const struct tw_run_report *r, bool other)
{
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		n += r->run[i].other == other;
	return n;
}

static void add_scope(struct tw_buf *b, const struct tw_run_figures *f)
{
	if (f->machine)
		tw_buf_adds(b, "  of the WHOLE MACHINE with its idle power, as no "
			       "tw-collector runs\n");
	else
		tw_buf_addf(b, "  of the command and its children, %s\n",
			    f->with_idle ? "with idle power that is not known yet"
					 : "above idle");
	if (f->unseen > 0)
		tw_buf_addf(b,
			    "  %s: %.0f %% of its CPU time is of "
			    "processes too short to be seen, counted in proportion\n",
			    f->processes ? "no cgroup of its own"
					 : "some left its cgroup",
			    f->unseen * 100);
}

static void add_idle(struct tw_buf *b, const struct tw_run *r)
{
	const struct tw_run_figures *f = &r->figures;

	if (!isnan(f->idle_joules))
		tw_buf_addf(b, "  idle apart: %.2f J, %.2f W of the machine\n",
			    f->idle_joules, f->idle_joules / r->seconds);
}

/* The mean of the runs of which it is known. */
static double tariff_of(const struct tw_run_report *r, bool other, enum tw_tariff i)
{
	double sum = 0;
	size_t n = 0;

	for (size_t k = 0; k < r->count; k++)
		if (r->run[k].other == other && !isnan(r->run[k].figures.tariff[i])) {
			sum += r->run[k].figures.tariff[i];
			n++;
		}
	return n > 0 ? sum / (double)n : NAN;
}

static void add_tariffs(struct tw_buf *b, const struct tw_run_report *r, bool other)
{
	const double grams = tariff_of(r, other, TW_TARIFF_CO2E);
	const double cost = tariff_of(r, other, TW_TARIFF_PRICE);

	if (isnan(grams) && isnan(cost))
		return;
	tw_buf_adds(b, "  ");
	if (!isnan(grams))
		tw_buf_addf(b, "%.4g g CO2e%s", grams, isnan(cost) ? "" : ", ");
	if (!isnan(cost))
		tw_buf_addf(b, "cost %.4g", cost);
	tw_buf_adds(b, "\n");
}

static void add_source(struct tw_buf *b, const struct tw_run_figures *f)
{
	tw_buf_addf(b, "  %s by %s", kind_of(f), f->source);
	if (!isnan(f->error_joules))
		tw_buf_addf(b, ", +- %.2f J (the model's mean error)", f->error_joules);
	else if (f->estimated)
		tw_buf_adds(b, ", of unknown error");
	tw_buf_adds(b, "\n");
}

static void add_command(struct tw_buf *b, const struct tw_run_report *r, bool other)
{
	const struct tw_run *last = last_of(r, other);
	const size_t runs = runs_of(r, other);

	if (last == NULL)
		return;
	tw_buf_addf(b, "%s\n  ", other ? r->other : r->command);
	add_mean(b, r, other, JOULES, 2);
	tw_buf_adds(b, " J in ");
	add_mean(b, r, other, SECONDS, 3);
	tw_buf_adds(b, " s: mean ");
	add_mean(b, r, other, WATTS, 2);
	tw_buf_adds(b, " W");
	if (!isnan(peak_of(r, other)))
		tw_buf_addf(b, ", peak %.2f W", peak_of(r, other));
	if (runs > 1)
		tw_buf_addf(b, "; %zu runs, 95 %% intervals", runs);
	tw_buf_adds(b, "\n");
	if (last->figures.why[0] != '\0')
		tw_buf_addf(b, "  joules are not known: %s\n", last->figures.why);
	add_scope(b, &last->figures);
	add_tariffs(b, r, other);
	add_idle(b, last);
	add_source(b, &last->figures);
	if (last->left != NULL)
		tw_buf_addf(b,
			    "  %zu process%s outlive%s it, not counted from its end on: "
			    "%s\n",
			    last->left_count, last->left_count > 1 ? "es" : "",
			    last->left_count > 1 ? "" : "s", last->left);
}

static double percent(double ratio)
{
	return (ratio - 1) * 100;
}

static void add_verdict(struct tw_buf *b, const struct tw_run_report *r)
{
	const struct tw_run_ratio ratio = tw_run_pairs_ratio(&r->pairs);

	if (tw_run_ratio_decides(&ratio))
		tw_buf_addf(b, "VERDICT: %s joules than --vs: %+.1f %%",
			    ratio.of > 1 ? "more" : "fewer", percent(ratio.of));
	else
		tw_buf_adds(b, "VERDICT: no difference is shown");
	if (isfinite(ratio.high))
		tw_buf_addf(b, " (%+.1f to %+.1f %%)", percent(ratio.low),
			    percent(ratio.high));
	tw_buf_addf(b,
		    ", %zu pairs; equal commands get a difference in %.0f %% at most\n",
		    r->pairs.count, TW_RUN_ERROR_RATE * 100);
}

void tw_run_report_text(const struct tw_run_report *r, struct tw_buf *b)
{
	add_command(b, r, false);
	add_command(b, r, true);
	if (r->other != NULL)
		add_verdict(b, r);
}

/* ---- JSON ---- */

static void add_run(struct tw_buf *b, const struct tw_run *r)
{
	const struct tw_run_figures *f = &r->figures;

	tw_json_add_object(b, NULL);
	tw_json_add_text(b, "of", r->other ? "vs" : "command");
	tw_json_add_int(b, "status", r->status);
	tw_json_add_number(b, "joules", f->joules);
	tw_json_add_number(b, "plus_minus_joules", f->error_joules);
	tw_json_add_number(b, "seconds", r->seconds);
	tw_json_add_number(b, "cpu_seconds", r->cpu_seconds);
	tw_json_add_number(b, "mean_watts", f->joules / r->seconds);
	tw_json_add_number(b, "peak_watts", f->peak_w);
	tw_json_add_number(b, "idle_joules", f->idle_joules);
	tw_json_add_number(b, "co2e_grams", f->tariff[TW_TARIFF_CO2E]);
	tw_json_add_number(b, "cost", f->tariff[TW_TARIFF_PRICE]);
	tw_json_add_text(b, "scope",
			 f->machine     ? "machine"
			 : f->processes ? "processes"
					: "cgroup");
	tw_json_add_number(b, "unseen", f->unseen);
	tw_json_add_bool(b, "above_idle", !f->machine && !f->with_idle);
	tw_json_add_text(b, "source", f->source);
	tw_json_add_bool(b, "estimated", f->estimated);
	tw_json_add_bool(b, "simulated", f->simulated);
	if (f->why[0] != '\0')
		tw_json_add_text(b, "missing", f->why);
	tw_json_add_uint(b, "outlived_by", r->left_count);
	if (r->left != NULL)
		tw_json_add_text(b, "outlived_by_names", r->left);
	tw_json_end_object(b);
}

static void add_means(struct tw_buf *b, const char *key, const struct tw_run_report *r,
		      bool other)
{
	static const char *const names[] = { "joules", "seconds", "watts" };

	tw_json_add_object(b, key);
	tw_json_add_text(b, "command", other ? r->other : r->command);
	for (size_t i = 0; i < TW_COUNT(names); i++) {
		const struct tw_run_mean m = mean_of(r, other, (enum value)i);
		const double error = tw_run_mean_error(&m);

		tw_json_add_object(b, names[i]);
		tw_json_add_number(b, "mean", m.count > 0 ? m.mean : NAN);
		tw_json_add_number(b, "low", m.mean - error);
		tw_json_add_number(b, "high", m.mean + error);
		tw_json_end_object(b);
	}
	tw_json_end_object(b);
}

void tw_run_report_json(const struct tw_run_report *r, struct tw_buf *b)
{
	tw_json_add_object(b, NULL);
	add_means(b, "command", r, false);
	if (r->other != NULL) {
		const struct tw_run_ratio ratio = tw_run_pairs_ratio(&r->pairs);

		add_means(b, "vs", r, true);
		tw_json_add_object(b, "verdict");
		tw_json_add_text(b, "is",
				 !tw_run_ratio_decides(&ratio) ? "none"
				 : ratio.of > 1                ? "more"
							       : "fewer");
		tw_json_add_number(b, "ratio", ratio.of);
		tw_json_add_number(b, "low", ratio.low);
		tw_json_add_number(b, "high", ratio.high);
		tw_json_add_uint(b, "pairs", r->pairs.count);
		tw_json_add_number(b, "error_rate", TW_RUN_ERROR_RATE);
		tw_json_end_object(b);
	}
	tw_json_add_array(b, "runs");
	for (size_t i = 0; i < r->count; i++)
		add_run(b, &r->run[i]);
	tw_json_end_array(b);
	tw_json_end_object(b);
	tw_buf_adds(b, "\n");
}
