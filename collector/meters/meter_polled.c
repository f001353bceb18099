/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/meters/meter_polled.h"

#include "collector/ask/ask.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZONES_MAX 32

/* That are taken at a time. */
#define MESSAGES_MAX 1024

struct asked {
	struct tw_ask *ask;
	uint64_t hold_ns;
	struct tw_zone zone[ZONES_MAX];
	struct answer {
		bool told;
		double power_w;
		uint64_t taken_ns, sample;
		char why[TW_ASK_WHY];
	} answer[ZONES_MAX];
	size_t told;  /* zones that zones() tells */
	size_t found; /* zones that there are */
	bool named;   /* by the helper; the first has no more than a path before */
	/* Which zone each of the helper's places is: it begins anew where it looks for
	 * them again. ZONES_MAX: none, for want of room. */
	size_t at[ZONES_MAX], places;
	uint64_t samples;
};

static void set_missing(struct answer *a, const char *why)
{
	a->told = false;
	snprintf(a->why, sizeof(a->why), "%s", why);
}

static void add_zone(struct asked *s, const char *name, const char *path)
{
	struct tw_zone *z = &s->zone[s->found];

	*z = (struct tw_zone){ .kind = TW_ZONE_PLATFORM,
			       .tells_power = true,
			       .package = -1 };
	snprintf(z->name, sizeof(z->name), "%s", name);
	snprintf(z->path, sizeof(z->path), "%s", path);
	set_missing(&s->answer[s->found++], "not asked yet");
}

/* The zone that was called so, and is none of the places that are known; else ZONES_MAX.
 */
static size_t find_zone(const struct asked *s, const char *name)
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

/* A zone stays what it is called: what has another name is another one. */
static void take_zone(struct asked *s, const struct tw_ask_zone *told, uint32_t place)
{
	size_t i;

	if (place == 0) {
		s->places = 0;
		for (i = 0; i < s->found; i++)
			set_missing(&s->answer[i], "not among those that were found");
	}
	if (!s->named) {
		s->found = 0;
		s->named = true;
	}
	i = find_zone(s, told->name);
	if (i == ZONES_MAX && s->found < ZONES_MAX) {
		i = s->found;
		add_zone(s, told->name, told->path);
	}
	s->at[place] = i;
	s->places = place + 1;
	if (i < ZONES_MAX)
		set_missing(&s->answer[i], "not asked yet");
}

/* None is younger than now, whatever the helper says. */
static void take_power(struct asked *s, size_t zone, const struct tw_ask_message *m)
{
	struct answer *a = &s->answer[zone];
	const uint64_t now = tw_now_ns();

	a->told = true;
	a->power_w = m->power_w;
	a->taken_ns = m->taken_ns < now ? m->taken_ns : now;
	a->sample = ++s->samples;
	s->zone[zone].window_ms = m->window_ms;
}

/* Zones are told one by one, from 0 on, and before their answers. */
static void take(struct asked *s, const struct tw_ask_message *m)
{
	const size_t zone = m->place < s->places ? s->at[m->place] : ZONES_MAX;

	if (m->kind == TW_ASK_ZONE && m->place <= s->places && m->place < ZONES_MAX)
		take_zone(s, &m->of.zone, m->place);
	else if (m->kind == TW_ASK_POWER && zone < ZONES_MAX)
		take_power(s, zone, m);
	else if (m->kind == TW_ASK_MISSING && zone < ZONES_MAX)
		set_missing(&s->answer[zone], m->why);
	else if (m->kind == TW_ASK_FAILED)
		for (size_t i = 0; i < s->found; i++)
			set_missing(&s->answer[i], m->why);
}

/* Until the helper has got an answer, or has failed to. */
static int take_first(struct asked *s, const struct tw_polled_config *asked,
		      struct tw_err *err)
{
	const uint64_t until_ns = tw_now_ns() + asked->patience_ms * UINT64_C(1000000);
	struct tw_ask_message m;

	for (uint64_t now = tw_now_ns(); now < until_ns; now = tw_now_ns()) {
		if (!tw_ask_next(s->ask, &m)) {
			tw_ask_wait(s->ask, (unsigned)((until_ns - now) / 1000000 + 1));
			continue;
		}
		take(s, &m);
		if (m.kind == TW_ASK_FAILED && m.lasting && !asked->needed)
			return tw_fail(err, TW_UNSUPPORTED, "%s", m.why);
		if (m.kind != TW_ASK_ZONE)
			return 0;
	}
	return 0;
}

int tw_polled_open(const struct tw_meter_config *c, const struct tw_polled_config *asked,
		   void **state, struct tw_err *err)
{
	struct asked *s = calloc(1, sizeof(*s));
	int rc = -1;

	if (s == NULL) {
		json_decref(asked->settings);
		tw_fail(err, TW_NOMEM, "%s", asked->job);
		goto out;
	}
	s->hold_ns = asked->hold_ms * UINT64_C(1000000);
	add_zone(s, "platform", asked->path);
	s->places = 1;
	if (tw_ask_open(c->ask, asked->job, asked->settings, &s->ask, err) < 0 ||
	    take_first(s, asked, err) < 0)
		goto out;
	s->told = s->found;

	*state = s;
	s = NULL;
	rc = 0;
out:
	tw_polled_close(s);
	return rc;
}

const struct tw_zone *tw_polled_zones(const void *state, size_t *count)
{
	const struct asked *s = state;

	*count = s->told;
	return s->zone;
}

bool tw_polled_grown(void *state)
{
	struct asked *s = state;
	const bool grown = s->found > s->told;

	s->told = s->found;
	return grown;
}

static void read_answer(const struct asked *s, struct answer *a, uint64_t now,
			struct tw_reading *out)
{
	if (a->told && now - a->taken_ns > s->hold_ns)
		set_missing(a, "no answer for too long");
	*out = (struct tw_reading){ .there = a->told };
	if (a->told) {
		out->power_w = a->power_w;
		out->sample = a->sample;
	} else {
		snprintf(out->why, sizeof(out->why), "%s", a->why);
	}
}

/* A helper that is gone says so without end. */
void tw_polled_read(void *state, struct tw_reading *out)
{
	struct asked *s = state;
	struct tw_ask_message m;
	uint64_t now;

	for (int i = 0; i < MESSAGES_MAX && tw_ask_next(s->ask, &m); i++) {
		take(s, &m);
		if (tw_ask_fd(s->ask) < 0)
			break;
	}
	now = tw_now_ns(); /* after those that came just now */
	for (size_t i = 0; i < s->told; i++)
		read_answer(s, &s->answer[i], now, &out[i]);
}

void tw_polled_close(void *state)
{
	struct asked *s = state;

	if (s == NULL)
		return;
	tw_ask_close(s->ask);
	free(s);
}
