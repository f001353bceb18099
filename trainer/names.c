/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/names.h"

#include "isolator/isolator.h"
#include "lib/buf.h"
#include "lib/energy.h"
#include "lib/err.h"
#include "lib/feature.h"
#include "lib/strs.h"
#include "trainer/trainer.h"

#include <stdlib.h>

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

static const char *source_at(size_t i)
{
	return tw_energy_source_at(i)->name;
}

/* "no trainer 'x'; there are a, b": with the known names as far as there is room. */
static int unknown(const char *what, const char *name, size_t count,
		   const char *(*at)(size_t i), struct tw_err *err)
{
	struct tw_buf list = { 0 };
	char *text;

	for (size_t i = 0; i < count; i++)
		tw_buf_addf(&list, "%s%s", i > 0 ? ", " : "", at(i));
	text = tw_buf_detach(&list, NULL);
	if (text == NULL)
		return tw_fail(err, TW_NOMEM, "names of each %s", what);
	tw_fail(err, TW_INVALID, "no %s '%.64s'; there are %s", what, name, text);
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
	const struct tw_energy_source *s = tw_energy_source_wanted(text);

	if (s == NULL)
		return unknown("energy source", text, tw_energy_source_count(), source_at,
			       err);
	*out = s;
	return 0;
}

int tw_names_trainers(const struct tw_strs *names, const char *what, struct tw_err *err)
{
	const struct tw_trainer *t;

	for (size_t i = 0; i < names->count; i++) {
		if (tw_names_trainer(names->at[i], &t, err) < 0)
			return tw_err_wrap(err, "%s[%zu]", what, i);
		if (tw_strs_find(names, names->at[i]) != (ptrdiff_t)i)
			return tw_fail(err, TW_INVALID, "%s[%zu]: '%s' twice", what, i,
				       names->at[i]);
	}
	return 0;
}
