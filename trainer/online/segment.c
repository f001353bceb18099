/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/online/segment.h"

#include "lib/core/err.h"
#include "lib/field/dataset.h"
#include "lib/field/energy.h"
#include "lib/field/feature.h"
#include "trainer/extract/extract.h"

#include <math.h>
#include <stdlib.h>

int tw_segments_add(struct tw_segments *l, const struct tw_segment *s, struct tw_err *err)
{
	if (l->count == l->size) {
		size_t size = l->size != 0 ? 2 * l->size : 64;
		struct tw_segment *more = realloc(l->at, size * sizeof(*more));

		if (more == NULL)
			return tw_fail(err, TW_NOMEM, "%zu segments", size);
		l->at = more;
		l->size = size;
	}
	l->at[l->count++] = *s;
	return 0;
}

void tw_segments_release(struct tw_segments *l)
{
	free(l->at);
	*l = (struct tw_segments){ 0 };
}

/* ---- summary ---- */

static bool extract(const struct tw_prom *p, const struct tw_energy_source *source,
		    const struct tw_feature_group *group, struct tw_dataset *out)
{
	const struct tw_extract_args args = { .source = source,
					      .group = group,
					      .level = TW_ROWS_NODE,
					      .resets = TW_RESETS_CARRY,
					      .apart = true };
	struct tw_err why = { 0 };

	return group->count > 0 && tw_extract(p, &args, out, &why) == 0;
}

/* The rows of the first measured source with the group that has most features. */
static bool extract_most(const struct tw_prom *p, struct tw_dataset *out)
{
	for (size_t i = 0; i < tw_energy_source_count() && out->cols == 0; i++) {
		const struct tw_energy_source *source = tw_energy_source_at(i);

		if (!tw_energy_source_is_measured(source))
			continue;
		for (size_t k = 0; k < tw_feature_group_count(); k++) {
			struct tw_dataset d = { 0 };

			if (!extract(p, source, tw_feature_group_at(k), &d))
				continue;
			if (d.cols > out->cols) {
				tw_dataset_release(out);
				*out = d;
			} else {
				tw_dataset_release(&d);
			}
		}
	}
	return out->cols > 0;
}

static void add_mean(struct tw_segment *s, const struct tw_column *c, size_t rows)
{
	const struct tw_feature *f = tw_feature_find(c->name);
	double sum = 0;

	if (f == NULL || s->features == TW_SEGMENT_FEATURES_MAX)
		return;
	for (size_t i = 0; i < rows; i++)
		sum += isfinite(c->v[i]) ? c->v[i] : 0;
	s->feature[s->features] = f;
	s->mean[s->features++] = sum / (double)rows;
}

static void find_load(const struct tw_dataset *d, struct tw_segment *s)
{
	const char *name[TW_SEGMENT_FEATURES_MAX];
	const double *load;
	size_t main;

	for (size_t i = 0; i < s->features; i++)
		name[i] = s->feature[i]->name;
	main = tw_main_feature(name, s->features, TW_PACKAGE);
	load = tw_dataset_find(d, name[main]);
	s->load_low = s->load_high = load[0];
	for (size_t i = 1; i < d->rows; i++) {
		s->load_low = fmin(s->load_low, load[i]);
		s->load_high = fmax(s->load_high, load[i]);
	}
}

int tw_segment_summarize(const struct tw_prom *p, struct tw_segment *s,
			 struct tw_err *err)
{
	struct tw_dataset d = { 0 };

	s->features = s->rows = 0;
	if (!extract_most(p, &d))
		return tw_fail(err, TW_NOTFOUND,
			       "no measured energy source with the metrics of a feature "
			       "group");
	s->rows = d.rows;
	for (size_t i = 0; i < d.cols; i++)
		add_mean(s, &d.col[i], d.rows);
	if (s->features > 0)
		find_load(&d, s);
	tw_dataset_release(&d);
	return s->features > 0 ? 0 : tw_fail(err, TW_NOTFOUND, "no feature");
}
