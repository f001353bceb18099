/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_until.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"

#include <math.h>
#include <string.h>

/* ---- the wanted accuracy ---- */

static double *figure_of(struct tw_until *u, const char *name, size_t len)
{
	if (len == 3 && memcmp(name, "mae", 3) == 0)
		return &u->mae_w;
	if (len == 4 && memcmp(name, "mape", 4) == 0)
		return &u->mape_percent;
	return NULL;
}

static int parse_part(const char *part, struct tw_until *u, struct tw_err *err)
{
	const char *colon = strchr(part, ':');
	double *figure, v;

	figure = colon != NULL ? figure_of(u, part, (size_t)(colon - part)) : NULL;
	if (figure == NULL)
		return tw_fail(err, TW_INVALID,
			       "'%.60s' is neither mae:WATTS nor "
			       "mape:PERCENT",
			       part);
	if (!isnan(*figure))
		return tw_fail(err, TW_INVALID, "'%.60s': given twice", part);
	if (!tw_parse_double(colon + 1, strlen(colon + 1), &v) || v < 0.0)
		return tw_fail(err, TW_INVALID,
			       "'%.60s': want a number that is not negative", part);
	*figure = v;
	return 0;
}

int tw_until_parse(const char *text, struct tw_until *out, struct tw_err *err)
{
	struct tw_until u = { NAN, NAN };
	struct tw_strs parts = { 0 };
	int rc = -1;

	if (tw_strs_split(&parts, text, err) < 0)
		goto out;
	if (parts.count == 0) {
		tw_fail(err, TW_INVALID,
			"no accuracy given: want mae:WATTS, mape:PERCENT or both");
		goto out;
	}
	for (size_t i = 0; i < parts.count; i++)
		if (parse_part(parts.at[i], &u, err) < 0)
			goto out;

	*out = u;
	rc = 0;
out:
	tw_strs_clear(&parts);
	return rc;
}

/* ---- the models' accuracy ---- */

/*
 * Judge by the rows after the share: neighbours within it are alike. All data has no
 * later rows.
 */
static bool is_within(const struct tw_until *u, const struct tw_train_row *row)
{
	const bool later = !isnan(row->later_mae_w);
	const double mae_w = later ? row->later_mae_w : row->mae_w;
	const double mape_percent = later ? row->later_mape_percent : row->mape_percent;

	if (row->failure[0] != '\0')
		return false;
	if (!isnan(u->mae_w) && !(mae_w <= u->mae_w))
		return false;
	return isnan(u->mape_percent) || mape_percent <= u->mape_percent;
}

static bool same_kind(const struct tw_train_row *a, const struct tw_train_row *b)
{
	return a->node_type == b->node_type && strcmp(a->source, b->source) == 0 &&
	       strcmp(a->output, b->output) == 0;
}

/* The first row whose machine, source and output type have no accurate model. */
static const struct tw_train_row *find_missing(const struct tw_until *u,
					       const struct tw_train_result *r)
{
	for (size_t i = 0; i < r->rows; i++) {
		bool any =
			strcmp(r->row[i].trainer, "-") == 0; /* a machine without data */

		for (size_t k = 0; !any && k < r->rows; k++)
			any = same_kind(&r->row[i], &r->row[k]) &&
			      is_within(u, &r->row[k]);
		if (!any)
			return &r->row[i];
	}
	return NULL;
}

int tw_train_until(const struct tw_train_job *job, const struct tw_until *until,
		   tw_until_fn *step, void *arg, struct tw_train_result *out,
		   struct tw_until_outcome *outcome, struct tw_err *err)
{
	struct tw_train_job part = *job;
	struct tw_until_outcome o = { 0 };

	part.shares = TW_UNTIL_SHARES;
	while (!o.reached && o.shares < TW_UNTIL_SHARES) {
		struct tw_train_result r = { 0 };
		struct tw_err why = { 0 };

		part.share = ++o.shares;
		if (tw_train(&part, &r, &why) < 0) {
			/* A share may be too small to train on: go on with more. */
			if (o.shares == TW_UNTIL_SHARES || why.code == TW_NOMEM)
				return tw_fail(err, why.code, "%s", why.text);
			step(arg, &o, NULL, &why);
			continue;
		}
		o.missing = find_missing(until, &r);
		o.reached = o.missing == NULL;
		step(arg, &o, &r, NULL);
		if (!o.reached && o.shares < TW_UNTIL_SHARES) {
			tw_train_result_release(&r);
			continue;
		}
		*out = r;
		*outcome = o;
	}
	return 0;
}

static void add_wanted(const struct tw_until *u, struct tw_buf *b)
{
	if (!isnan(u->mae_w)) {
		tw_buf_adds(b, " MAE ");
		tw_buf_add_double(b, u->mae_w);
		tw_buf_adds(b, " W");
	}
	if (!isnan(u->mape_percent)) {
		tw_buf_adds(b, isnan(u->mae_w) ? " MAPE " : " and MAPE ");
		tw_buf_add_double(b, u->mape_percent);
		tw_buf_adds(b, " %");
	}
}

void tw_until_report(const struct tw_until *until, const struct tw_until_outcome *o,
		     struct tw_buf *out)
{
	if (o->reached) {
		tw_buf_adds(out, "accuracy reached:");
		add_wanted(until, out);
		tw_buf_addf(out, ", with %u %% of the data%s\n",
			    100 * o->shares / TW_UNTIL_SHARES,
			    o->shares < TW_UNTIL_SHARES ? ", on the rest of it" : "");
		return;
	}
	tw_buf_adds(out, "data ran out:");
	add_wanted(until, out);
	tw_buf_addf(out, " not reached by any model of %s %s, node type %zu\n",
		    o->missing->source, o->missing->output, o->missing->node_type);
}
