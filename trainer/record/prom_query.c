/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/record/prom_query.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/field/csv.h"
#include "lib/json/json.h"
#include "trainer/record/spool.h"
#include "trainer/response/schema.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Without a step the interval of the scrapes is unknown; few scrape more often. */
#define RAW_POINT_MS 1000

struct run {
	struct tw_prom_client *client;
	const struct tw_prom_query *q;
	struct tw_metric_choice choice;
	struct tw_strs names;
	struct tw_spool *spool;
	int64_t point_ms; /* length of a point: the step, or RAW_POINT_MS */
	uint32_t points;  /* of a part; halved if an answer is too large */
	struct tw_prom_count count;
};

static int find_names(struct run *r, struct tw_err *err)
{
	if (tw_prom_client_names(r->client, r->q->match, &r->q->range, &r->choice,
				 &r->names, err) < 0)
		return -1;
	if (r->names.count == 0)
		return tw_fail(err, TW_NOTFOUND,
			       "the server has no metric that %s, in that time and with "
			       "those labels",
			       r->q->metrics != NULL ? "matches" : "a schema knows");
	return 0;
}

static void show_progress(const struct run *r, size_t metric, int64_t at_ms)
{
	const struct tw_prom_range *all = &r->q->range;
	double span = (double)(all->end_ms - all->start_ms + r->point_ms);

	if (r->q->progress != NULL)
		r->q->progress(r->q->progress_arg, r->names.at[metric], metric + 1,
			       r->names.count, (double)(at_ms - all->start_ms) / span);
}

/* Query one part from *at_ms. On success *at_ms advances; if the part is too large, it
 * stays and the next part is half as long. */
static int query_part(struct run *r, const char *metric, int64_t *at_ms,
		      struct tw_err *err)
{
	const struct tw_prom_range *all = &r->q->range;
	struct tw_prom_range part = { .start_ms = *at_ms, .step_ms = all->step_ms };
	int64_t points = (all->end_ms - *at_ms) / r->point_ms + 1, next_ms;
	struct tw_err why = { 0 };

	if (points > (int64_t)r->points)
		points = (int64_t)r->points;
	next_ms = *at_ms + points * r->point_ms;
	part.end_ms = next_ms - all->step_ms;
	if (all->step_ms == 0) {
		part.start_ms--; /* which the part excludes */
		part.end_ms = next_ms <= all->end_ms ? next_ms - 1 : all->end_ms;
	}
	if (tw_prom_client_range(r->client, metric, r->q->match, &part, r->spool,
				 &r->count, &why) == 0) {
		*at_ms = next_ms;
		return tw_spool_settle(r->spool, err);
	}
	if (why.code == TW_UNSUPPORTED && r->points > 1) {
		r->points /= 2;
		return 0;
	}
	*err = why;
	return tw_err_wrap(err, "%s", metric);
}

static int query_metric(struct run *r, size_t metric, struct tw_err *err)
{
	int64_t at_ms = r->q->range.start_ms;

	while (at_ms <= r->q->range.end_ms) {
		show_progress(r, metric, at_ms);
		if (query_part(r, r->names.at[metric], &at_ms, err) < 0)
			return -1;
	}
	return 0;
}

static int check(const struct tw_prom_query *q, struct tw_err *err)
{
	if (q->range.step_ms < 0 || q->points == 0)
		return tw_fail(err, TW_INVALID,
			       "the step or the number of points is too small");
	if (q->range.end_ms < q->range.start_ms)
		return tw_fail(err, TW_INVALID, "the end is before the start");
	return 0;
}

/* ---- CSV tables ---- */

/* A file is written in pieces of this size. */
#define PIECE ((size_t)64 << 10)
#define NAME_MAX_LEN 200

struct tables {
	const char *dir;
	const char *metric;    /* of the open file; NULL: none */
	struct tw_strs labels; /* of its series, sorted */
	struct tw_replace file;
	struct tw_buf text;
	struct tw_buf cells; /* the labels of the current series */
};

static bool is_name(const char *name)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "_:";

	return name[0] != '\0' && strchr(first, name[0]) != NULL &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:"
			    "0123456789") == strlen(name) &&
	       strlen(name) <= NAME_MAX_LEN;
}

static int flush(struct tables *t, size_t at_least, struct tw_err *err)
{
	if (tw_buf_failed(&t->text) || tw_buf_failed(&t->cells))
		return tw_fail(err, TW_NOMEM, "'%s'", t->file.path);
	if (t->text.len < at_least)
		return 0;
	if (tw_replace_write(&t->file, t->text.data, t->text.len, err) < 0)
		return -1;
	t->text.len = 0;
	return 0;
}

static int end_table(struct tables *t, struct tw_err *err)
{
	if (t->metric == NULL)
		return 0;
	t->metric = NULL;
	tw_strs_clear(&t->labels);
	return flush(t, 0, err) < 0 ? -1 : tw_replace_commit(&t->file, err);
}

/* ---- the labels of a metric ---- */

struct finder {
	const char *metric;
	struct tw_strs *labels;
};

static int find_labels(void *arg, const char *metric, const char *labels,
		       struct tw_err *err)
{
	const struct finder *f = arg;
	const char *name;
	json_t *object = NULL, *value;
	int rc = 0;

	if (metric != f->metric)
		return 0;
	if (tw_json_parse(labels, strlen(labels), metric, &object, err) < 0)
		return -1;
	json_object_foreach(object, name, value) {
		if (rc == 0 && !tw_strs_has(f->labels, name))
			rc = tw_strs_adds(f->labels, name, err);
	}
	json_decref(object);
	return rc;
}

static int begin_table(struct tables *t, const struct tw_spool *s, const char *metric,
		       struct tw_err *err)
{
	struct finder f = { metric, &t->labels };
	char file[NAME_MAX_LEN + sizeof(".csv")];
	char *path = NULL;
	int rc = -1;

	if (!is_name(metric))
		return tw_fail(err, TW_INVALID, "'%.64s' is not a name of a metric",
			       metric);
	snprintf(file, sizeof(file), "%s.csv", metric);
	if (tw_spool_visit(s, &(const struct tw_spool_visitor){ .series = find_labels },
			   &f, err) < 0 ||
	    tw_path_join(&path, err, t->dir, file, NULL) < 0 ||
	    tw_replace_open(&t->file, path, err) < 0)
		goto out;
	tw_strs_sort(&t->labels);
	t->metric = metric;
	tw_buf_adds(&t->text, "timestamp");
	for (size_t i = 0; i < t->labels.count; i++) {
		tw_buf_adds(&t->text, ",");
		tw_csv_add_cell(&t->text, t->labels.at[i]);
	}
	tw_buf_addf(&t->text, ",%s\n", metric);
	rc = 0;
out:
	free(path);
	return rc;
}

/* ---- rows ---- */

struct writer {
	struct tables t;
	const struct tw_spool *spool;
};

static int add_series(void *arg, const char *metric, const char *labels,
		      struct tw_err *err)
{
	struct writer *w = arg;
	json_t *object = NULL;

	if (metric != w->t.metric &&
	    (end_table(&w->t, err) < 0 || begin_table(&w->t, w->spool, metric, err) < 0))
		return -1;
	if (tw_json_parse(labels, strlen(labels), metric, &object, err) < 0)
		return -1;
	w->t.cells.len = 0;
	for (size_t i = 0; i < w->t.labels.count; i++) {
		const char *text =
			json_string_value(json_object_get(object, w->t.labels.at[i]));

		tw_buf_adds(&w->t.cells, ",");
		tw_csv_add_cell(&w->t.cells, text != NULL ? text : "");
	}
	json_decref(object);
	return 0;
}

static int add_sample(void *arg, int64_t time_ms, double value, struct tw_err *err)
{
	struct writer *w = arg;
	char number[TW_DOUBLE_TEXT];

	tw_buf_add_double(&w->t.text, (double)time_ms / 1e3);
	tw_buf_add(&w->t.text, w->t.cells.data, w->t.cells.len);
	tw_format_double(number, value);
	tw_buf_addf(&w->t.text, ",%s\n", number);
	return flush(&w->t, PIECE, err);
}

static int write_csv(const struct tw_spool *s, const char *dir, struct tw_err *err)
{
	static const struct tw_spool_visitor visitor = { .series = add_series,
							 .sample = add_sample };
	struct writer w = { .t = { .dir = dir }, .spool = s };
	int rc = -1;

	if (tw_dir_make(dir, err) == 0 && tw_spool_visit(s, &visitor, &w, err) == 0 &&
	    end_table(&w.t, err) == 0)
		rc = 0;
	tw_replace_abort(&w.t.file);
	tw_strs_clear(&w.t.labels);
	tw_buf_clear(&w.t.text);
	tw_buf_clear(&w.t.cells);
	return rc;
}

/* ---- the query ---- */

static int write_result(struct run *r, struct tw_prom_query_result *out,
			struct tw_err *err)
{
	struct tw_spool_size size = tw_spool_size(r->spool);

	if (size.samples == 0)
		return tw_fail(err, TW_NOTFOUND,
			       "the server has no sample of %zu metrics in that time",
			       r->names.count);
	if (tw_spool_write(r->spool, r->q->output, err) < 0 ||
	    (r->q->csv_dir != NULL && write_csv(r->spool, r->q->csv_dir, err) < 0))
		return -1;
	*out = (struct tw_prom_query_result){ .metrics = r->names.count,
					      .series = size.series,
					      .samples = size.samples,
					      .not_finite = r->count.not_finite };
	return 0;
}

int tw_prom_query_run(struct tw_prom_client *c, const struct tw_prom_query *q,
		      struct tw_prom_query_result *out, struct tw_err *err)
{
	struct run r = { .client = c,
			 .q = q,
			 .point_ms =
				 q->range.step_ms > 0 ? q->range.step_ms : RAW_POINT_MS,
			 .points = q->points };
	int rc = -1;

	if (check(q, err) < 0 ||
	    tw_metric_choice_open(&r.choice, q->metrics, q->more, err) < 0 ||
	    tw_spool_new(q->output, &r.spool, err) < 0 || find_names(&r, err) < 0)
		goto out;
	for (size_t i = 0; i < r.names.count; i++)
		if (query_metric(&r, i, err) < 0)
			goto out;
	if (write_result(&r, out, err) < 0)
		goto out;
	rc = 0;
out:
	tw_spool_free(r.spool);
	tw_strs_clear(&r.names);
	tw_metric_choice_release(&r.choice);
	return rc;
}
