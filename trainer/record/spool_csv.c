/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/record/spool_csv.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/field/csv.h"
#include "lib/json/json.h"
#include "trainer/record/spool.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

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
		return tw_fail(err, TW_INVALID, "'%.64s' is no name of a metric", metric);
	snprintf(file, sizeof(file), "%s.csv", metric);
	if (tw_spool_visit(s, &(const struct tw_spool_visitor){ .series = find_labels },
			   &f, err) < 0 ||
	    tw_path_join(&path, err, t->dir, file, NULL) < 0 ||
	    tw_replace_open(&t->file, path, err) < 0)
		goto out;
	if (t->labels.count > 1)
		qsort(t->labels.at, t->labels.count, sizeof(*t->labels.at), by_text);
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

int tw_spool_write_csv(const struct tw_spool *s, const char *dir, struct tw_err *err)
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
