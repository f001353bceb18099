/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/names.h"

#include "isolator/isolator.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/field/energy.h"
#include "lib/field/feature.h"
#include "lib/program/suggest.h"
#include "trainer/fit/trainer.h"

#include <stdlib.h>
#include <string.h>

static const char *trainer_at(size_t i)
{
	return tw_trainer_at(i)->name;
}

static const char *isolator_at(size_t i)
{
	return tw_isolator_at(i)->name;
}

static const char *group_at(size_t i)
{
	return tw_feature_group_at(i)->name;
}

/* Limit of the name list in an error text, bytes. */
#define LIST_MAX 150

/* A known name and its edit distance from the unknown one. */
struct near {
	const char *name;
	size_t distance, place;
};

static int by_distance(const void *a, const void *b)
{
	const struct near *x = a, *y = b;

	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

/* Append "a, b and 8 more": all names in order, or the nearest within LIST_MAX bytes. */
static void list_names(struct near *known, size_t count, struct tw_buf *out)
{
	size_t len = 0, shown = 0;

	for (size_t i = 0; i < count; i++)
		len += strlen(known[i].name) + 2;
	if (len > LIST_MAX)
		qsort(known, count, sizeof(*known), by_distance);
	while (shown < count &&
	       (len <= LIST_MAX || out->len + 2 + strlen(known[shown].name) < LIST_MAX)) {
		tw_buf_addf(out, "%s%s", shown > 0 ? ", " : "", known[shown].name);
		if (tw_buf_failed(out))
			return;
		shown++;
	}
	if (shown < count)
		tw_buf_addf(out, " and %zu more", count - shown);
}

/* Fail with "no trainer 'x'; there are a, b". */
static int unknown(const char *what, const char *name, size_t count,
		   const char *(*at)(size_t i), struct tw_err *err)
{
	struct near *known = calloc(count + 1, sizeof(*known));
	struct tw_buf list = { 0 };
	char *text = NULL;

	for (size_t i = 0; known != NULL && i < count; i++)
		known[i] = (struct near){ at(i), tw_text_distance(name, at(i)), i };
	if (known != NULL) {
		list_names(known, count, &list);
		text = tw_buf_detach(&list, NULL);
	}
	free(known);
	if (text == NULL)
		return tw_fail(err, TW_NOMEM, "names of each %s", what);
	tw_fail(err, TW_INVALID, "no %s '%.40s'; there are %s", what, name, text);
	free(text);
	return -1;
}

int tw_names_trainer(const char *name, const struct tw_trainer **out, struct tw_err *err)
{
	const struct tw_trainer *t = tw_trainer_find(name);

	if (t == NULL)
		return unknown("trainer", name, tw_trainer_count(), trainer_at, err);
	*out = t;
	return 0;
}

int tw_names_isolator(const char *name, const struct tw_isolator **out,
		      struct tw_err *err)
{
	const struct tw_isolator *s = tw_isolator_find(name);

	if (s == NULL)
		return unknown("isolator", name, tw_isolator_count(), isolator_at, err);
	*out = s;
	return 0;
}

int tw_names_group(const char *name, const struct tw_feature_group **out,
		   struct tw_err *err)
{
	const struct tw_feature_group *g = tw_feature_group_find(name);

	if (g == NULL)
		return unknown("feature group", name, tw_feature_group_count(), group_at,
			       err);
	*out = g;
	return 0;
}

int tw_names_source(const char *text, const struct tw_energy_source **out,
		    struct tw_err *err)
{
	if (text != NULL && strchr(text, ',') != NULL)
		return tw_fail(err, TW_INVALID,
			       "energy source '%.64s': expected one, not a list", text);
	if (text != NULL && tw_energy_source_find(text) == NULL)
		text = strstr(text, "rapl") != NULL || text[0] == '\0' ? NULL : text;
	return tw_energy_source_open(text != NULL ? text : "rapl-sysfs", out, err);
}

int tw_names_trainers(const struct tw_strs *names, const char *list, struct tw_err *err)
{
	const struct tw_trainer *t;

	for (size_t i = 0; i < names->count; i++) {
		if (tw_names_trainer(names->at[i], &t, err) < 0)
			return tw_err_wrap(err, "%s[%zu]", list, i);
		if (tw_strs_find(names, names->at[i]) != (ptrdiff_t)i)
			return tw_fail(err, TW_INVALID, "%s[%zu]: '%s' twice", list, i,
				       names->at[i]);
	}
	return 0;
}
