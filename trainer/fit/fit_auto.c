/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/json.h"
#include "trainer/fit/auto_blend.h"
#include "trainer/fit/auto_search.h"
#include "trainer/fit/auto_text.h"
#include "trainer/fit/registry.h"
#include "trainer/fit/samples.h"

#include <math.h>
#include <stdbool.h>

/*
 * The best that was found for this data: columns, learners and their shares are chosen
 * by inner blocked folds of the rows given (trainer/auto_*.h). Whoever judges the
 * outcome on blocked folds holds the judging rows back, so that neither the fit nor
 * the choice has seen them: nested cross validation (S. Varma, R. Simon, Bias in Error
 * Estimation when using Cross-Validation for Model Selection, BMC Bioinformatics 7,
 * 2006).
 *
 * Rows with time stamps give a second form that looks at earlier rows: temperature and
 * fans are slow, and meter and counters are not read at the same instant.
 */

/* What trials are made on; of more rows, an even choice. */
#define TRIAL_ROWS_MAX 4096
/* A series of fewer rows tells nothing of what earlier rows tell. */
#define SERIES_ROWS_MIN 16
/*
 * A series' form is kept unless its error is above this times that of rows alone: that a
 * machine remembers is known beforehand, and a few folds do not disprove it.
 */
#define PLAINLY_WORSE 1.05
/* Members of the mean, at most: of learners; of ways to look back, which differ less. */
#define ALONE_MEMBERS 2
#define SERIES_MEMBERS 3

struct fit {
	struct tw_auto_trials alone, series;
	struct tw_auto_blend alone_blend, series_blend;
	bool looks_back; /* the series' form is worth it */
};

static int search_alone(struct fit *f, const struct tw_samples *s, uint64_t seed,
			struct tw_auto_columns *chosen, struct tw_err *err)
{
	f->alone.samples = s;
	f->alone.seed = seed;
	if (tw_auto_rows_init(&f->alone.rows, s, 0.0, TRIAL_ROWS_MAX, err) < 0 ||
	    tw_auto_search_alone(&f->alone, chosen, err) < 0)
		return -1;
	return tw_auto_blend(&f->alone, ALONE_MEMBERS, &f->alone_blend, err);
}

/* The error of the form for rows that stand alone, on the rows of the series. */
static double alone_error(const struct fit *f)
{
	double mae = 0.0;
	size_t rows = 0, k = 0;

	for (size_t i = 0; i < f->alone.rows.count; i++) {
		while (k < f->series.rows.count &&
		       f->series.rows.at[k] < f->alone.rows.at[i])
			k++;
		if (k == f->series.rows.count ||
		    f->series.rows.at[k] != f->alone.rows.at[i])
			continue;
		mae += fabs(tw_auto_blend_row(&f->alone, &f->alone_blend, i) -
			    tw_auto_measured(&f->alone, i));
		rows++;
	}
	return rows > 0 ? mae / (double)rows : INFINITY;
}

static int search_series(struct fit *f, const struct tw_samples *s, uint64_t seed,
			 const struct tw_auto_columns *chosen, struct tw_err *err)
{
	double step_ms;

	f->series.samples = s;
	f->series.seed = seed;
	if (tw_auto_step(s, &step_ms, err) < 0)
		return -1;
	if (step_ms == 0.0)
		return 0;
	if (tw_auto_rows_init(&f->series.rows, s, step_ms, TRIAL_ROWS_MAX, err) < 0)
		return -1;
	if (f->series.rows.count < SERIES_ROWS_MIN)
		return 0;
	if (tw_auto_search_series(&f->series, chosen, err) < 0)
		return -1;
	if (f->series.count == 0)
		return 0;
	if (tw_auto_blend(&f->series, SERIES_MEMBERS, &f->series_blend, err) < 0)
		return -1;
	f->looks_back = f->series_blend.mae < PLAINLY_WORSE * alone_error(f);
	return 0;
}

/* From nothing to half the range above what was measured. */
static void add_limits(const struct tw_samples *s, struct tw_buf *text)
{
	double low = s->y[0], high = s->y[0];

	for (size_t r = 1; r < s->rows; r++) {
		low = fmin(low, s->y[r]);
		high = fmax(high, s->y[r]);
	}
	tw_buf_adds(text, "{\"ensemble\":{\"floor\":");
	tw_buf_add_double(text, fmin(low, 0.0));
	tw_buf_adds(text, ",\"ceiling\":");
	tw_buf_add_double(text, high + (high - low) / 2.0);
}

static int add_choice(const struct fit *f, struct tw_buf *text, struct tw_err *err)
{
	json_t *list = json_array();
	int rc = -1;

	if (list == NULL) {
		tw_fail(err, TW_NOMEM, "explanation of the choice");
		goto out;
	}
	if (tw_auto_explain("alone", &f->alone, &f->alone_blend, list, err) < 0)
		goto out;
	if (f->series.count > 0 &&
	    tw_auto_explain("series", &f->series, &f->series_blend, list, err) < 0)
		goto out;
	tw_buf_adds(text, ",\"choice\":");
	tw_buf_add_json(text, list);

	rc = 0;
out:
	json_decref(list);
	return rc;
}

static int add_text(const struct fit *f, const struct tw_samples *s, struct tw_buf *text,
		    struct tw_err *err)
{
	add_limits(s, text);
	tw_buf_adds(text, ",\"alone\":");
	if (tw_auto_form_text(&f->alone, &f->alone_blend, text, err) < 0)
		return -1;
	if (f->looks_back) {
		tw_buf_adds(text, ",\"step_ms\":");
		tw_buf_add_double(text, f->series.rows.step_ms);
		tw_buf_adds(text, ",\"series\":");
		if (tw_auto_form_text(&f->series, &f->series_blend, text, err) < 0)
			return -1;
	}
	if (add_choice(f, text, err) < 0)
		return -1;
	tw_buf_adds(text, "}}");
	if (tw_buf_failed(text))
		return tw_fail(err, TW_NOMEM, "model of %zu rows", s->rows);
	return 0;
}

static int fit_auto(const struct tw_samples *s, uint64_t seed, struct tw_buf *text,
		    struct tw_err *err)
{
	struct tw_auto_columns chosen = { 0 };
	struct fit f = { 0 };
	int rc = -1;

	if (tw_samples_check(s, tw_trainer_auto.min_rows, err) < 0 ||
	    search_alone(&f, s, seed, &chosen, err) < 0 ||
	    search_series(&f, s, seed, &chosen, err) < 0 ||
	    add_text(&f, s, text, err) < 0)
		goto out;

	rc = 0;
out:
	tw_auto_trials_release(&f.alone);
	tw_auto_trials_release(&f.series);
	return rc;
}

static int explain(const char *text, size_t len, json_t **lines, struct tw_err *err)
{
	const json_t *ensemble, *choice;
	json_t *root = NULL;
	int rc = -1;

	if (tw_json_parse(text, len, "", &root, err) < 0 ||
	    tw_json_object(root, "", "ensemble", false, &ensemble, err) < 0 ||
	    tw_json_array(ensemble, "ensemble", "choice", false, &choice, err) < 0)
		goto out;
	*lines = json_deep_copy(choice);
	if (*lines == NULL) {
		tw_fail(err, TW_NOMEM, "explanation of the choice");
		goto out;
	}

	rc = 0;
out:
	json_decref(root);
	return rc;
}

const struct tw_trainer tw_trainer_auto = {
	.name = "AutoTrainer",
	.summary = "the best of trees and the others, chosen by nested blocked folds",
	.predictor = "ensemble",
	.min_rows = 2,
	.slow = true,
	.fit = fit_auto,
	.explain = explain,
};
