/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/expose/kepler_sum.h"

#include "collector/expose/expose.h"
#include "collector/power/tree.h"

#include <stdio.h>
#include <string.h>

static void add_energy(struct tw_kepler_split *s, const struct tw_power_zone *z)
{
	s->joules += tw_joules(z->dynamic_uj + z->idle_uj);
	s->active_joules += tw_joules(z->dynamic_uj);
	s->idle_joules += tw_joules(z->idle_uj);
}

void tw_kepler_split_add(struct tw_kepler_split *s, const struct tw_power_zone *z)
{
	const double idle_w = z->idle_w < z->power_w ? z->idle_w : z->power_w;

	add_energy(s, z);
	s->watts += z->power_w;
	s->active_watts += z->power_w - idle_w;
	s->idle_watts += idle_w;
}

static bool is_measured(const char *meter)
{
	const struct tw_energy_source *s =
		tw_energy_source_find(tw_energy_source_of_meter(meter));

	return s == NULL || tw_energy_source_is_measured(s);
}

/* The beginning of a path: the name of a meter that does not measure, else "". */
static const char *mark_of(const struct tw_power_zone *z)
{
	return is_measured(z->source) ? "" : z->source;
}

static void add_stopped(struct tw_kepler_sum *sum, const struct tw_power_zone *z,
			size_t count)
{
	const struct tw_power_zone *first = sum->first;

	for (size_t i = 0; i < count; i++)
		if (z[i].zone->kind == first->zone->kind && z[i].superseded &&
		    strcmp(mark_of(&z[i]), mark_of(first)) == 0)
			add_energy(&sum->split, &z[i]);
}

struct tw_kepler_sum tw_kepler_sum_of(const struct tw_power_zone *z, size_t count,
				      enum tw_zone_kind kind)
{
	struct tw_kepler_sum sum = { .zones = 0 };

	for (size_t i = 0; i < count; i++) {
		if (z[i].zone->kind != kind || !z[i].counts || z[i].silent)
			continue;
		if (!z[i].fresh)
			return (struct tw_kepler_sum){ .zones = 0 };
		sum.first = sum.zones++ == 0 ? &z[i] : sum.first;
		tw_kepler_split_add(&sum.split, &z[i]);
	}
	if (sum.zones > 1)
		add_stopped(&sum, z, count);
	return sum;
}

const char *tw_kepler_path(const struct tw_kepler_sum *s, char out[TW_KEPLER_PATH])
{
	static const char file[] = "/energy_uj";
	const struct tw_power_zone *z = s->first;
	const char *path = z->zone->path;
	const size_t len = strlen(path), n = sizeof(file) - 1;
	const bool is_file = len > n && strcmp(path + len - n, file) == 0;
	const bool several = s->zones > 1;
	const bool marked = !several && tw_energy_source_of_path(path) != NULL;
	const char *mark = marked ? "" : mark_of(z), *colon = mark[0] != '\0' ? ":" : "";

	if (several)
		snprintf(out, TW_KEPLER_PATH, "%s%saggregated-%s", mark, colon,
			 tw_zone_kind_name(z->zone->kind));
	else
		snprintf(out, TW_KEPLER_PATH, "%s%s%.*s", mark, colon,
			 (int)(is_file ? len - n : len), path);
	return out;
}
