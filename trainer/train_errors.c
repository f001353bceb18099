/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_errors.h"

#include "lib/core/err.h"
#include "lib/json/json.h"
#include "model-db/model.h"
#include "trainer/fit/auto_trials.h"
#include "trainer/fit/trainer.h"

#include <math.h>
#include <stdio.h>

int tw_train_errors_fit(const struct tw_train_held_out *h, uint64_t seed,
			struct tw_train_errors *out, struct tw_err *err)
{
	struct tw_residuals r = { .samples = h->samples,
				  .measured = h->measured,
				  .predicted = h->alone,
				  .folds = h->folds };
	struct tw_train_errors e = { 0 };
	int rc = -1;

	if (tw_calibrate(&r, seed, &e.alone, err) < 0)
		goto out;
	if (h->series != NULL && tw_auto_step(h->samples, &e.step_ms, err) < 0)
		goto out;
	if (e.step_ms > 0.0) {
		r.predicted = h->series;
		r.step_ms = e.step_ms;
		if (tw_calibrate(&r, seed, &e.series, err) < 0)
			goto out;
	}

	*out = e;
	e = (struct tw_train_errors){ 0 };
	rc = 0;
out:
	tw_train_errors_release(&e);
	return rc;
}

void tw_train_errors_release(struct tw_train_errors *e)
{
	tw_calibrated_release(&e->alone);
	tw_calibrated_release(&e->series);
}

/* ---- metadata ---- */

static json_t *rounded_list(const double *v, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; list != NULL && i < count; i++) {
		if (json_array_append_new(list, tw_json_rounded(v[i])) < 0) {
			json_decref(list);
			list = NULL;
		}
	}
	return list;
}

/* "package_series_interval_factor" */
struct keys {
	json_t *metadata;
	enum tw_component component;
	const char *form; /* "" or "series_" */
	bool failed;
};

static void set(struct keys *k, const char *name, json_t *v)
{
	char key[96];

	snprintf(key, sizeof(key), "%s_%s%s", tw_component_name(k->component), k->form,
		 name);
	if (json_object_set_new(k->metadata, key, v) < 0)
		k->failed = true;
}

static void describe_interval(struct keys *k, const struct tw_answer_interval *i)
{
	if (i->factor > 0.0) {
		set(k, "interval_factor", tw_json_rounded(i->factor));
		return;
	}
	set(k, "interval_widths", rounded_list(i->width, i->bins));
	if (i->bins > 1)
		set(k, "interval_edges", rounded_list(i->edge, i->bins - 1));
}

static void describe_form(struct keys *k, const struct tw_calibrated *c)
{
	if (c->rows == 0)
		return;
	describe_interval(k, &c->interval);
	set(k, "interval_coverage", tw_json_rounded(c->coverage));
	set(k, "interval_coverage_folds", rounded_list(c->group_coverage, c->groups));
	set(k, "interval_score", tw_json_rounded(c->score));
	set(k, "interval_score_constant", tw_json_rounded(c->constant));
	set(k, "expected_error_auc", tw_json_rounded(c->auc));
}

int tw_train_errors_describe(const struct tw_train_errors *e, enum tw_component c,
			     json_t *metadata)
{
	struct keys alone = { .metadata = metadata, .component = c, .form = "" };
	struct keys series = { .metadata = metadata, .component = c, .form = "series_" };

	describe_form(&alone, &e->alone);
	describe_form(&series, &e->series);
	return alone.failed || series.failed ? -1 : 0;
}

int tw_train_errors_set(const struct tw_train_errors *e, struct tw_model_part *part,
			struct tw_err *err)
{
	struct tw_buf text = { 0 };

	tw_calibrated_write(&e->alone, &e->series, e->step_ms, &text);
	if (tw_buf_failed(&text))
		return tw_fail(err, TW_NOMEM, "expected errors");
	if (text.len > 0)
		part->error_text = tw_buf_detach(&text, &part->error_len);
	return 0;
}
