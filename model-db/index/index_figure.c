/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/index.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest name that any figure of a component can have. */
#define NAME_MAX_BYTES 160

static int compare_names(const void *name, const void *place)
{
	const char *const *other = place;

	return strcmp(name, *other);
}

/* NaN if there is none. */
static double find_figure(const struct tw_index_entry *e, const char *name)
{
	const char *const *place =
		e->figure_count > 0 ? bsearch(name, e->figure_names, e->figure_count,
					      sizeof(e->figure_names[0]), compare_names)
				    : NULL;

	return place != NULL ? e->figures[place - e->figure_names] : NAN;
}

bool tw_index_figure_more_is_better(const char *name)
{
	return strcmp(name, "abs_max_corr") == 0 || strcmp(name, "r2") == 0;
}

/* The worst of "<component>_<name>"; what is not defined for one does not count. */
static double find_worst(const struct tw_index_entry *e, const char *name)
{
	const bool more = tw_index_figure_more_is_better(name);
	char key[NAME_MAX_BYTES];
	double worst = NAN;

	for (int c = 0; c < TW_COMPONENT_COUNT; c++) {
		double d;

		snprintf(key, sizeof(key), "%s_%s",
			 tw_component_name((enum tw_component)c), name);
		d = find_figure(e, key);
		if (isnan(worst) || (more ? d < worst : d > worst))
			worst = d;
	}
	return worst;
}

static bool ends_with(const char *s, const char *end)
{
	size_t len = strlen(s), n = strlen(end);

	return len >= n && strcmp(s + len - n, end) == 0;
}

double tw_index_figure(const struct tw_index_entry *e, const char *name)
{
	double d;

	if (strcmp(name, "mae") == 0)
		return e->mae_w;
	if (strcmp(name, "mape") == 0)
		return e->mape_percent;
	d = find_figure(e, name);
	if (isnan(d))
		return find_worst(e, name);
	/* The old programs write -1 for an error that could not be computed. */
	if (d < 0 && (ends_with(name, "mae") || ends_with(name, "mape")))
		return NAN;
	return d;
}
