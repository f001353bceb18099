/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/engage/engage_meters.h"

#include "cli/engage/report_page.h"
#include "cli/memory.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/field/energy.h"
#include "lib/field/exposition.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define METERS_MAX 1024

#define INFO "tallywatt_meter_info"
#define UP "tallywatt_meter_up"
#define WATTS "tallywatt_node_power_watts"
#define TICKS "tallywatt_collector_ticks_total"
#define RULE "tallywatt_node_attribution_info"
/* The source of estimates, by the collector and by the models of trainer/. */
#define MODEL "model"
#define MODEL_SOURCE "trained_power_model"

/* ---- reading ---- */

/* A label's text, cut off; "" without the label. */
static void copy_label(const struct tw_exposition_sample *s, const char *name, char *out,
		       size_t size)
{
	snprintf(out, size, "%s", tw_exposition_value(s, name));
}

/* Find the zone of a sample, or add it; NULL beyond the limit. */
static struct tw_engage_meter *zone_of(struct tw_engage_meters *m,
				       const struct tw_exposition_sample *s)
{
	struct tw_engage_meter z = { .watts = (double)NAN };

	copy_label(s, "source", z.source, sizeof(z.source));
	copy_label(s, "zone", z.zone, sizeof(z.zone));
	copy_label(s, "name", z.name, sizeof(z.name));
	copy_label(s, "path", z.path, sizeof(z.path));
	for (size_t i = 0; i < m->count; i++)
		if (strcmp(m->at[i].source, z.source) == 0 &&
		    strcmp(m->at[i].zone, z.zone) == 0 &&
		    strcmp(m->at[i].name, z.name) == 0 &&
		    strcmp(m->at[i].path, z.path) == 0)
			return &m->at[i];
	if (m->count == METERS_MAX)
		return NULL;
	tw_must_have(tw_grow(&m->at, &m->size, m->count, sizeof(*m->at)));
	m->at[m->count] = z;
	return &m->at[m->count++];
}

static int take_sample(void *arg, struct tw_exposition_sample *s, struct tw_err *err)
{
	const bool info = strcmp(s->name, INFO) == 0, up = strcmp(s->name, UP) == 0,
		   watts = strcmp(s->name, WATTS) == 0;
	struct tw_engage_meters *m = arg;
	struct tw_engage_meter *z;
	char text[32];
	double window_s;

	if (strcmp(s->name, TICKS) == 0)
		m->ticks = s->value;
	if (strcmp(s->name, RULE) == 0) {
		copy_label(s, "zone", text, sizeof(text));
		if (strcmp(text, "package") == 0)
			copy_label(s, "rule", m->rule, sizeof(m->rule));
	}
	if (!info && !up && !watts)
		return 0;
	z = zone_of(m, s);
	if (z == NULL)
		return tw_fail(err, TW_INVALID, "more than %d meters of the collector",
			       METERS_MAX);
	if (watts)
		z->watts = s->value;
	else if (up)
		copy_label(s, "reason", z->reason, sizeof(z->reason));
	else {
		copy_label(s, "reports", text, sizeof(text));
		z->energy = strcmp(text, "energy") == 0;
		copy_label(s, "window_seconds", text, sizeof(text));
		if (tw_parse_double(text, strlen(text), &window_s))
			z->window_s = window_s;
	}
	return 0;
}

int tw_engage_meters_read(const char *text, size_t len, struct tw_engage_meters *out,
			  struct tw_err *err)
{
	return tw_exposition_parse(text, len, false, take_sample, out, err);
}

void tw_engage_meters_release(struct tw_engage_meters *m)
{
	free(m->at);
	*m = (struct tw_engage_meters){ 0 };
}

/* ---- use ---- */

bool tw_engage_meters_measure(const struct tw_engage_meters *m)
{
	for (size_t i = 0; i < m->count; i++)
		if (isfinite(m->at[i].watts))
			return true;
	return false;
}

static bool teaches(const struct tw_engage_meter *z,
		    const struct tw_energy_source *wanted)
{
	const char *name = strcmp(z->source, MODEL) == 0 ? MODEL_SOURCE : z->source;
	const struct tw_energy_source *of = tw_energy_source_find(name);

	if (!isfinite(z->watts) || strcmp(z->zone, "sensor") == 0)
		return false;
	if (wanted == NULL)
		return of != NULL && tw_energy_source_is_measured(of);
	/* The zone psys is a source, too. */
	return strcmp(name, wanted->name) == 0 || strcmp(z->zone, wanted->name) == 0;
}

bool tw_engage_meters_teach(const struct tw_engage_meters *m,
			    const struct tw_energy_source *source)
{
	for (size_t i = 0; i < m->count; i++)
		if (teaches(&m->at[i], source))
			return true;
	return false;
}

const char *tw_engage_meters_own(const struct tw_engage_meters *m)
{
	for (size_t i = 0; i < m->count; i++) {
		const struct tw_engage_meter *z = &m->at[i];

		if (strcmp(z->zone, "sensor") != 0 && strcmp(z->zone, "other") != 0 &&
		    strcmp(z->source, MODEL) != 0 &&
		    tw_energy_source_find(z->source) == NULL)
			return z->source;
	}
	return NULL;
}

void tw_engage_meters_add(const struct tw_engage_meters *m, struct tw_page *p)
{
	static const char *const head[] = { "source", "zone", "reads", ">W now",
					    "about" };

	tw_page_table(p, head, TW_COUNT(head));
	for (size_t i = 0; i < m->count; i++) {
		const struct tw_engage_meter *z = &m->at[i];
		char watts[32] = "-", about[160];

		if (isfinite(z->watts))
			snprintf(watts, sizeof(watts), "%.1f", z->watts);
		if (z->reason[0] != '\0')
			snprintf(about, sizeof(about), "%s", z->reason);
		else if (z->energy)
			snprintf(about, sizeof(about), "counts energy");
		else if (z->window_s > 0)
			snprintf(about, sizeof(about), "power, a mean of %g s",
				 z->window_s);
		else
			snprintf(about, sizeof(about), "power");
		tw_page_row(p, (const char *const[]){ z->source, z->zone, z->path, watts,
						      about });
	}
	tw_page_table_end(p);
}

double tw_engage_meters_watts(const struct tw_engage_meters *m, const char *zone)
{
	double sum = (double)NAN;

	for (size_t i = 0; i < m->count; i++)
		if (strcmp(m->at[i].zone, zone) == 0 && isfinite(m->at[i].watts))
			sum = m->at[i].watts + (isfinite(sum) ? sum : 0);
	return sum;
}
