/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/unit/selection.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "trainer/response/prom_store.h"
#include "trainer/unit/selector.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *label_of(const struct tw_series *s, const char *name)
{
	const char *value = tw_series_label(s, name);

	return value != NULL ? value : "";
}

static bool equal_labels(const struct tw_series *a, const struct tw_series *b)
{
	if (a->labels != b->labels)
		return false;
	for (uint32_t i = 0; i < a->labels; i++)
		if (strcmp(a->label[i].value, b->label[i].value) != 0 ||
		    strcmp(a->label[i].name, b->label[i].name) != 0)
			return false;
	return true;
}

static bool has(const struct tw_selection *s, const struct tw_series *series,
		const char *metric)
{
	for (size_t i = 0; i < s->count; i++)
		if (equal_labels(s->at[i], series) && strcmp(s->metric[i], metric) == 0)
			return true;
	return false;
}

static int add(struct tw_selection *s, const struct tw_series *series, const char *metric,
	       struct tw_err *err)
{
	const size_t size = s->size > 0 ? 2 * s->size : 16;

	if (has(s, series, metric))
		return 0;
	if (s->count == TW_SELECTION_MAX)
		return tw_fail(err, TW_INVALID, "over %d series: narrow the selector",
			       TW_SELECTION_MAX);
	if (s->count == s->size) {
		if (!tw_resize(&s->at, size, sizeof(*s->at)) ||
		    !tw_resize(&s->metric, size, sizeof(*s->metric)))
			return tw_fail(err, TW_NOMEM, "%zu series", size);
		s->size = size;
	}
	s->at[s->count] = series;
	s->metric[s->count++] = metric;
	return 0;
}

int tw_selection_add(struct tw_selection *s, const struct tw_prom *p,
		     const struct tw_selector *by, struct tw_err *err)
{
	size_t count;
	const struct tw_series *series = tw_prom_series(p, by->metric, &count);

	for (size_t i = 0; i < count; i++)
		if (tw_selector_takes(by, &series[i]) &&
		    add(s, &series[i], by->metric, err) < 0)
			return -1;
	return 0;
}

/* ---- zones ---- */

/* Zones whose energy has no other zone's: a package makes a sum of the first, else the
 * others count alone, in this order. */
static const char *const parts[] = { "package", "dram", "gpu", "other" };
static const char *const wholes[] = { "platform", "psys" };

static bool is_part(const char *zone)
{
	for (size_t i = 0; i < TW_COUNT(parts); i++)
		if (strcmp(zone, parts[i]) == 0)
			return true;
	return false;
}

/* Whether the machine of a series has a zone among these series. */
static bool has_zone(const struct tw_series *series, size_t count,
		     const struct tw_selector *by, const char *instance, const char *zone)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(label_of(&series[i], "zone"), zone) == 0 &&
		    strcmp(label_of(&series[i], "instance"), instance) == 0 &&
		    tw_selector_takes(by, &series[i]))
			return true;
	return false;
}

/* Whether the zone of series s adds up with the others of its machine. */
static bool adds_up(const struct tw_series *s, const struct tw_series *series,
		    size_t count, const struct tw_selector *by)
{
	const char *instance = label_of(s, "instance"), *zone = label_of(s, "zone");

	if (zone[0] == '\0')
		return true;
	if (has_zone(series, count, by, instance, parts[0]))
		return is_part(zone);
	for (size_t i = 0; i < TW_COUNT(wholes); i++)
		if (has_zone(series, count, by, instance, wholes[i]))
			return strcmp(zone, wholes[i]) == 0;
	return is_part(zone);
}

int tw_selection_add_energy(struct tw_selection *s, struct tw_selection *idle,
			    const struct tw_prom *p, const struct tw_selector *by,
			    struct tw_err *err)
{
	size_t count;
	const struct tw_series *series = tw_prom_series(p, by->metric, &count);
	const bool any_zone = tw_selector_names(by, "zone");
	const bool any_mode = tw_selector_names(by, "mode");

	for (size_t i = 0; i < count; i++) {
		const bool is_idle =
			!any_mode && strcmp(label_of(&series[i], "mode"), "idle") == 0;

		if (tw_selector_takes(by, &series[i]) &&
		    (any_zone || adds_up(&series[i], series, count, by)) &&
		    add(is_idle ? idle : s, &series[i], by->metric, err) < 0)
			return -1;
	}
	return 0;
}

struct tw_unit_source tw_selection_source(const struct tw_selection *s, const char *name)
{
	return (struct tw_unit_source){ name, s->at, s->count };
}

void tw_selection_release(struct tw_selection *s)
{
	free(s->at);
	free(s->metric);
	*s = (struct tw_selection){ 0 };
}
