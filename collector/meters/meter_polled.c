/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/meters/meter_polled.h"

#include "lib/ask/ask.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZONES_MAX 32

/* Messages to process in one reading. */
#define MESSAGES_MAX 1024

struct polled {
	struct tw_ask *ask;
	uint64_t hold_ns;
	struct tw_zone first; /* what all zones have of their meter */
	struct tw_zone zone[ZONES_MAX];
	struct answer {
		bool known;
		double power_w, input_w, output_w;
		uint64_t energy_uj;
		uint64_t taken_ns, sample;
		char why[TW_ASK_WHY];
	} answer[ZONES_MAX];
	size_t reported; /* zones that zones() returns */
	size_t found;    /* zones that are known */
	bool named; /* the helper has sent names; before that the first zone has only a
		       path */
	/*
	 * The zone of each place of the helper, which numbers them anew after each
	 * search. ZONES_MAX: no zone, for lack of room.
	 */
	size_t at[ZONES_MAX], places;
	uint64_t samples;
};

static void set_missing(struct answer *a, const char *why)
{
	a->known = false;
	snprintf(a->why, sizeof(a->why), "%s", why);
}

static void add_zone(struct polled *s, const char *name, const char *path)
{
	struct tw_zone *z = &s->zone[s->found];

	*z = s->first;
	snprintf(z->name, sizeof(z->name), "%s", name);
	snprintf(z->path, sizeof(z->path), "%s", path);
	set_missing(&s->answer[s->found++], "not read yet");
}

/* Find a zone by name that has no place yet; else ZONES_MAX. */
static size_t find_zone(const struct polled *s, const char *name)
{
	for (size_t i = 0; i < s->found; i++) {
		bool taken = strcmp(s->zone[i].name, name) != 0;

		for (size_t k = 0; k < s->places; k++)
			taken = taken || s->at[k] == i;
		if (!taken)
			return i;
	}
	return ZONES_MAX;
}

/* A zone keeps its name: another name is another zone. */
static void take_zone(struct polled *s, const struct tw_ask_zone *zone, uint32_t place)
{
	size_t i;

	if (place == 0) {
		s->places = 0;
		for (i = 0; i < s->found; i++)
			set_missing(&s->answer[i], "the controller no longer lists it");
	}
	if (!s->named) {
		s->found = 0;
		s->named = true;
	}
	i = find_zone(s, zone->name);
	if (i == ZONES_MAX && s->found < ZONES_MAX) {
		i = s->found;
		add_zone(s, zone->name, zone->path);
	}
	s->at[place] = i;
	s->places = place + 1;
	if (i < ZONES_MAX)
		set_missing(&s->answer[i], "not read yet");
}

/* Clamp time stamps from the future to now. A value of the other kind is not this zone's.
 */
static void take_value(struct polled *s, size_t zone, const struct tw_ask_message *m)
{
	struct answer *a = &s->answer[zone];
	const uint64_t now = tw_now_ns();

	if ((m->kind == TW_ASK_POWER) != s->zone[zone].reports_power)
		return;
	a->known = true;
	a->power_w = m->power_w;
	a->input_w = m->input_w;
	a->output_w = m->output_w;
	a->energy_uj = m->energy_uj;
	a->taken_ns = m->taken_ns < now ? m->taken_ns : now;
	a->sample = ++s->samples;
	if (m->kind == TW_ASK_POWER)
		s->zone[zone].window_ms =
			m->window_ms <= TW_WINDOW_MAX_MS ? m->window_ms : 0;
}

/* The helper sends the zones in order of their places from 0, before any value. */
static void take(struct polled *s, const struct tw_ask_message *m)
{
	const size_t zone = m->place < s->places ? s->at[m->place] : ZONES_MAX;

	if (m->kind == TW_ASK_ZONE && m->place <= s->places && m->place < ZONES_MAX)
		take_zone(s, &m->of.zone, m->place);
	else if ((m->kind == TW_ASK_POWER || m->kind == TW_ASK_ENERGY) &&
		 zone < ZONES_MAX)
		take_value(s, zone, m);
	else if (m->kind == TW_ASK_MISSING && zone < ZONES_MAX)
		set_missing(&s->answer[zone], m->why);
	else if (m->kind == TW_ASK_FAILED)
		for (size_t i = 0; i < s->found; i++)
			set_missing(&s->answer[i], m->why);
}

/* Wait for the first value or the first failure. */
static int take_first(struct polled *s, const struct tw_polled_config *config,
		      struct tw_err *err)
{
	const uint64_t until_ns = tw_now_ns() + config->patience_ms * UINT64_C(1000000);
	struct tw_ask_message m;

	for (uint64_t now = tw_now_ns(); now < until_ns; now = tw_now_ns()) {
		if (!tw_ask_next(s->ask, &m)) {
			tw_ask_wait(s->ask, (unsigned)((until_ns - now) / 1000000 + 1));
			continue;
		}
		take(s, &m);
		if (m.kind == TW_ASK_FAILED && m.lasting && !config->needed)
			return tw_fail(err, TW_UNSUPPORTED, "%s", m.why);
		if (m.kind != TW_ASK_ZONE)
			return 0;
	}
	return 0;
}

int tw_polled_open(const struct tw_meter_config *c, const struct tw_polled_config *config,
		   void **state, struct tw_err *err)
{
	struct polled *s = calloc(1, sizeof(*s));
	int rc = -1;

	if (s == NULL) {
		json_decref(config->settings);
		tw_fail(err, TW_NOMEM, "%s", config->job);
		goto out;
	}
	s->hold_ns = config->hold_ms * UINT64_C(1000000);
	s->first = *config->zone;
	add_zone(s, s->first.name, s->first.path);
	s->places = 1;
	if (tw_ask_open(c->ask, config->job, config->settings, &s->ask, err) < 0 ||
	    take_first(s, config, err) < 0)
		goto out;
	s->reported = s->found;

	*state = s;
	s = NULL;
	rc = 0;
out:
	tw_polled_close(s);
	return rc;
}

const struct tw_zone *tw_polled_zones(const void *state, size_t *count)
{
	const struct polled *s = state;

	*count = s->reported;
	return s->zone;
}

bool tw_polled_grown(void *state)
{
	struct polled *s = state;
	const bool grown = s->found > s->reported;

	s->reported = s->found;
	return grown;
}

static void read_answer(const struct polled *s, struct answer *a, uint64_t now,
			struct tw_reading *out)
{
	if (a->known && now - a->taken_ns > s->hold_ns)
		set_missing(a, "no answer for too long");
	*out = (struct tw_reading){ .readable = a->known };
	if (a->known) {
		out->power_w = a->power_w;
		out->input_w = a->input_w;
		out->output_w = a->output_w;
		out->energy_uj = a->energy_uj;
		out->sample = a->sample;
	} else {
		snprintf(out->why, sizeof(out->why), "%s", a->why);
	}
}

/* tw_ask_next() returns a message forever once the helper has exited. */
void tw_polled_read(void *state, struct tw_reading *out)
{
	struct polled *s = state;
	struct tw_ask_message m;
	uint64_t now;

	for (int i = 0; i < MESSAGES_MAX && tw_ask_next(s->ask, &m); i++) {
		take(s, &m);
		if (tw_ask_fd(s->ask) < 0)
			break;
	}
	now = tw_now_ns(); /* after the messages that just came */
	for (size_t i = 0; i < s->reported; i++)
		read_answer(s, &s->answer[i], now, &out[i]);
}

void tw_polled_close(void *state)
{
	struct polled *s = state;

	if (s == NULL)
		return;
	tw_ask_close(s->ask);
	free(s);
}
