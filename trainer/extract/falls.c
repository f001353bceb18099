/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/falls.h"

#include "lib/core/err.h"
#include "lib/core/num.h"
#include "trainer/extract/metric_series.h"

/* Steps of a metric of which fewer, or a smaller share, fall are a counter's. */
#define RATE_STEPS 20
#define RATE_FALLS 0.2
/*
 * A counter whose exporter restarts again and again falls as often, but it rises in
 * between: of its moves a smaller share falls, and of its falls fewer follow a fall.
 */
#define RATE_MOVES 0.375
#define RATE_AGAIN 0.25

struct falls {
	size_t steps, falls;        /* of series that move; no dips */
	size_t moves, downs, again; /* of series that fall or dip */
};

static void add_falls(struct falls *f, const struct tw_series *s)
{
	struct tw_unpack values = tw_unpack_begin(&s->value);
	double value = tw_unpack_next(&values);
	bool fell = false;

	if (tw_packed_rises(&s->value)) {
		f->steps += tw_packed_last(&s->value) > value ? s->value.count - 1 : 0;
		return;
	}
	for (size_t i = 1; i < s->value.count; i++) {
		const double before = value;
		const bool fell_before = fell;

		value = tw_unpack_next(&values);
		if (value == before)
			continue;
		fell = value < before;
		f->falls += fell && !tw_counter_dips(before, value);
		f->moves++;
		f->downs += fell;
		f->again += fell && fell_before;
	}
	f->steps += s->value.count - 1;
}

static bool is_rate(const struct falls *f)
{
	return f->steps >= RATE_STEPS &&
	       (double)f->falls >= RATE_FALLS * (double)f->steps &&
	       ((double)f->downs >= RATE_MOVES * (double)f->moves ||
		(double)f->again >= RATE_AGAIN * (double)f->downs);
}

int tw_metric_check_rates(const struct tw_metric_series *m,
			  const struct tw_extract_args *a, struct tw_err *err)
{
	struct falls f = { 0 };
	const struct tw_series *s;
	size_t i = 0;

	if ((m->metric->kind != TW_METRIC_FEATURE &&
	     m->metric->kind != TW_METRIC_ENERGY) ||
	    m->metric->falls || a->compat != TW_COMPAT_NONE)
		return 0;
	/* Power is the host's, though rows be a VM's. */
	while ((s = tw_metric_series_next(m, &i)) != NULL)
		if (m->source != NULL || tw_series_is_wanted(s, a))
			add_falls(&f, s);
	if (!is_rate(&f))
		return 0;
	return tw_fail(err, TW_INVALID,
		       "%s: %zu of %zu steps fall, so it is a rate or a gauge, not a "
		       "counter: %s",
		       m->metric->name, f.falls, f.steps,
		       m->thirdparty ? "pass --gauges with its name"
				     : "export the counter");
}

int tw_series_check_resets(const struct tw_series *s, const char *metric,
			   struct tw_err *err)
{
	char labels[160], at[TW_DOUBLE_TEXT], from[TW_DOUBLE_TEXT], to[TW_DOUBLE_TEXT];

	struct tw_unpack times = tw_unpack_begin(&s->time_ms);
	struct tw_unpack values = tw_unpack_begin(&s->value);
	double before, value = 0, time_ms;

	if (tw_packed_rises(&s->value))
		return 0;
	do {
		if (values.at == s->value.count)
			return 0;
		before = value;
		value = tw_unpack_next(&values);
		time_ms = tw_unpack_next(&times);
	} while (value >= before || tw_counter_dips(before, value));
	tw_series_describe(s, labels, sizeof(labels));
	tw_format_double(at, time_ms / 1e3);
	tw_format_double(from, before);
	tw_format_double(to, value);
	return tw_fail(err, TW_INVALID,
		       "%s (%s): counter falls from %s to %s at time %s; "
		       "--resets drop leaves that step out",
		       metric, labels, from, to, at);
}
