/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/answer_error.h"

#include "estimator/predict/lists.h"
#include "estimator/predict/predictor.h"
#include "lib/core/err.h"
#include "model-db/model.h"

#include <math.h>
#include <stdio.h>

double tw_answer_interval_half(const struct tw_answer_interval *i, double watts,
			       double expected_w)
{
	size_t bin = 0;

	if (i->factor > 0.0)
		return i->factor * expected_w;
	if (i->bins == 0)
		return NAN;
	while (bin + 1 < i->bins && watts >= i->edge[bin])
		bin++;
	return i->width[bin];
}

/* ---- reading ---- */

static const json_t *find(const json_t *metadata, enum tw_component c, const char *form,
			  const char *name, char key[96])
{
	snprintf(key, 96, "%s_%s%s", tw_component_name(c), form, name);
	return json_object_get(metadata, key);
}

static int read_bins(const json_t *metadata, enum tw_component c, const char *form,
		     struct tw_answer_interval *out, struct tw_err *err)
{
	struct tw_answer_interval i = { 0 };
	char edges[96], widths[96];
	const json_t *list = find(metadata, c, form, "interval_widths", widths);

	i.bins = json_array_size(list);
	if (i.bins == 0 || i.bins > TW_INTERVAL_BINS_MAX)
		return tw_fail(err, TW_INVALID,
			       "metadata.json.%s: expected a list of 1 to %d numbers",
			       widths, TW_INTERVAL_BINS_MAX);
	find(metadata, c, form, "interval_edges", edges);
	if (tw_list_read(metadata, "metadata.json", widths, i.bins, i.width, err) < 0 ||
	    (i.bins > 1 &&
	     tw_list_read(metadata, "metadata.json", edges, i.bins - 1, i.edge, err) < 0))
		return -1;
	for (size_t k = 0; k < i.bins; k++)
		if (i.width[k] < 0.0 || (k > 1 && i.edge[k - 1] < i.edge[k - 2]))
			return tw_fail(err, TW_INVALID,
				       "metadata.json: %s or %s: expected widths of at "
				       "least 0 and rising edges",
				       widths, edges);
	*out = i;
	return 0;
}

/* Leave *out as it is if the metadata has no interval. */
static int read_interval(const json_t *metadata, enum tw_component c, const char *form,
			 struct tw_answer_interval *out, struct tw_err *err)
{
	char key[96];
	const json_t *factor = find(metadata, c, form, "interval_factor", key);

	if (factor != NULL) {
		if (!json_is_number(factor) || !(json_number_value(factor) > 0.0))
			return tw_fail(err, TW_INVALID,
				       "metadata.json.%s: expected a number above 0",
				       key);
		*out = (struct tw_answer_interval){ .factor = json_number_value(factor) };
		return 0;
	}
	if (find(metadata, c, form, "interval_widths", key) == NULL)
		return 0;
	return read_bins(metadata, c, form, out, err);
}

int tw_answer_error_load(const json_t *metadata, const struct tw_model_part *part,
			 struct tw_answer_error *out, struct tw_err *err)
{
	const enum tw_component c = part->component;
	const double p95 = tw_model_figure(metadata, c, "p95");
	struct tw_answer_error e = { .mae_w = tw_model_figure(metadata, c, "mae") };

	if (p95 >= 0.0)
		e.alone = (struct tw_answer_interval){ .bins = 1, .width = { p95 } };
	if (read_interval(metadata, c, "", &e.alone, err) < 0)
		return -1;
	e.series = e.alone;
	if (read_interval(metadata, c, "series_", &e.series, err) < 0)
		return -1;
	if (part->error_text != NULL &&
	    tw_predictor_load(&tw_predictor_ensemble, part->error_text, part->error_len,
			      &part->features, &e.expected, err) < 0)
		return tw_err_wrap(err, "expected errors");
	*out = e;
	return 0;
}

void tw_answer_error_release(struct tw_answer_error *e)
{
	tw_predictor_free(&tw_predictor_ensemble, e->expected);
	*e = (struct tw_answer_error){ 0 };
}

/* ---- answers ---- */

size_t tw_answer_error_back(const struct tw_answer_error *e)
{
	return e->expected != NULL ? tw_predictor_ensemble.back(e->expected) : 0;
}

void tw_answer_error_of(const struct tw_answer_error *e, const struct tw_rows *in,
			const double *watts, double *expected_w, double *half_w)
{
	if (e->expected != NULL)
		tw_predictor_ensemble.predict(e->expected, in, expected_w);
	for (size_t r = 0; r < in->rows; r++) {
		const struct tw_answer_interval *i = &e->alone;

		if (e->expected == NULL)
			expected_w[r] = e->mae_w;
		else if (tw_predictor_ensemble.in_series(e->expected, in, r))
			i = &e->series;
		if (isnan(watts[r]))
			expected_w[r] = NAN;
		half_w[r] = isnan(watts[r])
				    ? NAN
				    : tw_answer_interval_half(i, watts[r], expected_w[r]);
	}
}
