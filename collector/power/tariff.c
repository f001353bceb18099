/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/tariff.h"

#include "collector/power/attribute.h"
#include "collector/power/power.h"
#include "lib/ask/ask.h"
#include "lib/core/err.h"
#include "lib/field/rate.h"
#include "lib/http/client/url.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MS UINT64_C(1000000)
/* An exporter's value is valid for this many intervals, and this long more. */
#define HOLD_INTERVALS 3
#define HOLD_MORE_MS 10000
#define PICO 1e12
/* Messages in one tick. */
#define HEAR_MAX 64

static const char *const options[TW_TARIFF_COUNT] = { "carbon", "price" };

struct tariff {
	const char *text; /* the option: a number, a file or a URL; NULL: not given */
	struct tw_rate rate;
	struct tw_ask *ask; /* the helper that polls the URL; else NULL */
	uint64_t read_ns;   /* when the exporter's value, or the file, was read */
	struct tw_tariff_state state;
};

struct tw_tariffs {
	struct tariff of[TW_TARIFF_COUNT];
	uint64_t interval_ns;
};

/* ---- options ---- */

static int check(const struct tw_tariff_options *o, int i, struct tw_err *err)
{
	const bool exporter = o->of[i] != NULL && tw_url_is(o->of[i]);
	struct tw_rate rate;

	if (exporter && o->series[i] == NULL)
		return tw_fail(err, TW_INVALID, "--%s of an exporter needs --%s-series",
			       options[i], options[i]);
	if (!exporter && o->series[i] != NULL)
		return tw_fail(err, TW_INVALID,
			       "--%s-series needs --%s http://ADDR/metrics", options[i],
			       options[i]);
	if (exporter || o->of[i] == NULL)
		return 0;
	if (tw_rate_open(o->of[i], &rate, err) < 0)
		return tw_err_wrap(err, "--%s", options[i]);
	tw_rate_release(&rate);
	return 0;
}

int tw_tariff_options_check(const struct tw_tariff_options *o, struct tw_err *err)
{
	for (int i = 0; i < TW_TARIFF_COUNT; i++)
		if (check(o, i, err) < 0)
			return -1;
	return 0;
}

/* ---- start and end ---- */

static int open_one(struct tariff *t, const char *text, const char *series,
		    uint64_t interval_ms, const struct tw_ask_config *ask,
		    struct tw_err *err)
{
	t->text = text;
	t->state.per_kwh = NAN;
	snprintf(t->state.why, sizeof(t->state.why), "not read yet");
	if (tw_url_is(text))
		return tw_ask_open(ask, "series",
				   json_pack("{s:s,s:s,s:I,s:i,s:i}", "url", text,
					     "series", series, "interval_ms",
					     (json_int_t)interval_ms, "unit", 0,
					     "window_ms", 0),
				   &t->ask, err);
	return tw_rate_open(text, &t->rate, err);
}

int tw_tariffs_open(const struct tw_tariff_options *o, const struct tw_ask_config *ask,
		    struct tw_tariffs **out, struct tw_err *err)
{
	struct tw_tariffs *t;

	if (o->of[TW_TARIFF_CO2E] == NULL && o->of[TW_TARIFF_PRICE] == NULL)
		return 0;
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return tw_fail(err, TW_NOMEM, "tariffs");
	t->interval_ns = o->interval_ms * MS;
	for (int i = 0; i < TW_TARIFF_COUNT; i++)
		if (o->of[i] != NULL && open_one(&t->of[i], o->of[i], o->series[i],
						 o->interval_ms, ask, err) < 0) {
			tw_tariffs_close(t);
			return -1;
		}
	*out = t;
	return 0;
}

void tw_tariffs_close(struct tw_tariffs *t)
{
	for (int i = 0; t != NULL && i < TW_TARIFF_COUNT; i++) {
		tw_ask_close(t->of[i].ask);
		tw_rate_release(&t->of[i].rate);
	}
	free(t);
}

/* ---- a tick ---- */

static void set_why(struct tariff *t, const char *why)
{
	snprintf(t->state.why, sizeof(t->state.why), "%.*s",
		 (int)sizeof(t->state.why) - 1, why);
}

/* A file that cannot be read any more leaves the rates that were read. */
static void look_at_rate(struct tariff *t, int64_t wall_ms, uint64_t now_ns,
			 uint64_t interval_ns)
{
	struct tw_err err = { 0 };
	struct tw_rate rate;

	if (now_ns - t->read_ns >= interval_ns) {
		t->read_ns = now_ns;
		if (tw_rate_open(t->text, &rate, &err) == 0) {
			tw_rate_release(&t->rate);
			t->rate = rate;
		}
	}
	t->state.per_kwh = tw_rate_at(&t->rate, wall_ms);
	if (isnan(t->state.per_kwh))
		set_why(t, err.code != TW_OK ? err.text
					     : "the file has no line of this time");
}

static void hear_exporter(struct tariff *t, uint64_t now_ns, uint64_t interval_ns)
{
	const uint64_t hold_ns = HOLD_INTERVALS * interval_ns + HOLD_MORE_MS * MS;
	struct tw_ask_message m;

	for (int n = 0; n < HEAR_MAX && tw_ask_next(t->ask, &m); n++) {
		if (m.kind == TW_ASK_POWER && m.power_w >= 0 &&
		    m.power_w <= TW_RATE_MAX) {
			t->state.per_kwh = m.power_w;
			t->read_ns = now_ns;
		} else if (m.kind == TW_ASK_MISSING || m.kind == TW_ASK_FAILED) {
			set_why(t, m.why);
		}
		if (tw_ask_fd(t->ask) < 0)
			break;
	}
	if (now_ns - t->read_ns > hold_ns)
		t->state.per_kwh = NAN;
	if (isnan(t->state.per_kwh) && t->state.why[0] == '\0')
		set_why(t, "no answer in time");
}

void tw_tariffs_tick(struct tw_tariffs *t, int64_t wall_ms, uint64_t now_ns,
		     const struct tw_power *p, struct tw_attribution *a)
{
	const unsigned kinds = tw_power_ticked_kinds(p);
	struct tw_charge sum = *tw_power_ticked(p);
	double pico_per_uj[TW_TARIFF_COUNT] = { 0 };

	for (int i = 0; t != NULL && i < TW_TARIFF_COUNT; i++) {
		struct tariff *of = &t->of[i];

		if (of->text == NULL)
			continue;
		if (of->ask != NULL)
			hear_exporter(of, now_ns, t->interval_ns);
		else
			look_at_rate(of, wall_ms, now_ns, t->interval_ns);
		if (isnan(of->state.per_kwh)) {
			of->state.unknown_uj += tw_charge_sum(&sum, kinds);
		} else {
			of->state.why[0] = '\0';
			pico_per_uj[i] = of->state.per_kwh * PICO / (TW_J_PER_KWH * 1e6);
		}
	}
	tw_charge_add_tariff(&sum, kinds, pico_per_uj);
	for (int i = 0; t != NULL && i < TW_TARIFF_COUNT; i++)
		t->of[i].state.pico += sum.tariff_pico[i];
	tw_attribution_set_tariff(a, kinds, pico_per_uj);
}

const struct tw_tariff_state *tw_tariff_of(const struct tw_tariffs *t, enum tw_tariff i)
{
	return t != NULL && t->of[i].text != NULL ? &t->of[i].state : NULL;
}
