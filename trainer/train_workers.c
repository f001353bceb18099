/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_workers.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "lib/workers/workers.h"
#include "trainer/train_data.h"
#include "trainer/train_job.h"

#include <stdlib.h>
#include <string.h>

/* ---- place ---- */

static int match_columns(const struct tw_train_data *t, struct tw_err *err)
{
	struct tw_buf columns = { 0 };
	int status;

	for (size_t i = 0; i < t->cols; i++)
		tw_buf_addf(&columns, "%s,", t->feature[i]);
	for (size_t i = 0; i < t->components; i++)
		tw_buf_addf(&columns, "%d,", (int)t->component[i]);
	status = tw_workers_match(t->workers, "the columns of their rows", columns.data,
				  columns.len, err);
	tw_buf_clear(&columns);
	return status;
}

/* Get the first and the last time of all; no time may be in two workers' rows. */
static int match_times(struct tw_train_data *t, struct tw_err *err)
{
	const size_t count = t->workers->size;
	const double own[2] = { (double)t->first_ms, (double)t->last_ms };
	double *time = calloc(2 * count, sizeof(*time));
	int rc = -1;

	if (time == NULL) {
		tw_fail(err, TW_NOMEM, "times of %zu workers", count);
		goto out;
	}
	if (tw_workers_gather(t->workers, own, 2, time, err) < 0)
		goto out;
	for (size_t i = 1; i < count; i++) {
		if (time[2 * i - 1] < time[2 * i])
			continue;
		tw_fail(err, TW_INVALID,
			"rows of worker %zu are not after those of worker %zu: give the "
			"inputs in order of time",
			i, i - 1);
		goto out;
	}
	t->first_ms = (int64_t)time[0];
	t->last_ms = (int64_t)time[2 * count - 1];
	rc = 0;
out:
	free(time);
	return rc;
}

/* ---- recordings ---- */

static int add_quality(json_t *all, const char *line, size_t len, struct tw_err *err)
{
	json_t *list = NULL;
	int rc;

	if (tw_json_parse(line, len, "quality of the recordings", &list, err) < 0)
		return -1;
	rc = json_array_extend(all, list);
	json_decref(list);
	return rc < 0 ? tw_fail(err, TW_NOMEM, "quality of the recordings") : 0;
}

/* Join the lists of all workers: each sends a line of JSON. */
static int join_quality(struct tw_train_data *t, struct tw_err *err)
{
	struct tw_buf own = { 0 }, lines = { 0 };
	json_t *all = json_array();
	int rc = -1;

	tw_buf_add_json(&own, t->quality);
	tw_buf_adds(&own, "\n");
	if (tw_buf_failed(&own) || all == NULL) {
		tw_fail(err, TW_NOMEM, "quality of the recordings");
		goto out;
	}
	if (tw_workers_texts(t->workers, own.data, own.len, &lines, err) < 0)
		goto out;
	for (char *line = lines.data, *end; (end = strchr(line, '\n')) != NULL;
	     line = end + 1)
		if (add_quality(all, line, (size_t)(end - line), err) < 0)
			goto out;
	json_decref(t->quality);
	t->quality = all;
	all = NULL;
	rc = 0;
out:
	tw_buf_clear(&own);
	json_decref(all);
	tw_buf_clear(&lines);
	return rc;
}

static int join_recordings(struct tw_train_data *t, struct tw_err *err)
{
	double incomplete = t->cpu_time_incomplete;
	struct tw_buf text = { 0 };

	if (tw_workers_max(t->workers, &incomplete, 1, err) < 0 ||
	    join_quality(t, err) < 0 ||
	    tw_workers_texts(t->workers, t->quality_text.data, t->quality_text.len, &text,
			     err) < 0)
		return -1;
	tw_buf_clear(&t->quality_text);
	t->quality_text = text;
	t->cpu_time_incomplete = incomplete > 0.0;
	return 0;
}

static int find_place(struct tw_train_data *t, struct tw_err *err)
{
	if (t->d.rows > 0) {
		t->first_ms = t->d.time_ms[0];
		t->last_ms = t->d.time_ms[t->d.rows - 1];
	}
	if (tw_workers_place(t->workers, t->d.rows, &t->first_row, &t->rows, err) < 0)
		return -1;
	if (t->workers == NULL)
		return 0;
	if (match_columns(t, err) < 0 || match_times(t, err) < 0)
		return -1;
	return join_recordings(t, err);
}

void tw_train_workers_place(struct tw_train_data *t, const struct tw_train_job *job)
{
	t->workers = job->workers;
	t->rows = t->d.rows;
	if (t->err.code == TW_OK)
		tw_train_data_columns(t, &t->err);
	/* A worker without rows or columns leaves the data out for all. */
	if (tw_workers_agree(t->workers, &t->err) == 0)
		find_place(t, &t->err);
}

/* ---- all rows ---- */

int tw_train_workers_times(const struct tw_train_data *t, double *out, struct tw_err *err)
{
	double *own = malloc((t->d.rows + 1) * sizeof(*own));
	int status;

	if (own == NULL)
		return tw_fail(err, TW_NOMEM, "times of %zu rows", t->d.rows);
	for (size_t r = 0; r < t->d.rows; r++)
		own[r] = (double)t->d.time_ms[r];
	status = tw_workers_gather(t->workers, own, t->d.rows, out, err);
	free(own);
	return status;
}

int tw_train_gather(const struct tw_train_data *t, size_t component, size_t step,
		    struct tw_train_gathered *out, struct tw_err *err)
{
	const struct tw_samples own = tw_train_data_samples(t, t->folds, component);
	const size_t rows = (t->rows + step - 1) / step;
	double *column = calloc(t->rows, sizeof(*column));
	int rc = -1;

	out->x = calloc(rows, t->cols * sizeof(*out->x));
	out->time_ms = calloc(rows, sizeof(*out->time_ms));
	if (out->x == NULL || column == NULL || out->time_ms == NULL) {
		tw_fail(err, TW_NOMEM, "%zu rows", rows);
		goto out;
	}
	for (size_t c = 0; c < t->cols; c++) {
		if (tw_samples_column(&own, c, column, err) < 0)
			goto out;
		for (size_t r = 0; r < rows; r++)
			out->x[r * t->cols + c] = column[r * step];
	}
	if (tw_train_workers_times(t, column, err) < 0)
		goto out;
	for (size_t r = 0; r < rows; r++)
		out->time_ms[r] = (int64_t)column[r * step];
	out->samples = own;
	out->samples.rows = rows;
	out->samples.x = out->x;
	out->samples.y = NULL;
	out->samples.time_ms = out->time_ms;
	out->samples.overlap = own.overlap / step;
	out->samples.workers = NULL;
	rc = 0;
out:
	free(column);
	return rc;
}

void tw_train_gathered_release(struct tw_train_gathered *g)
{
	free(g->x);
	free(g->time_ms);
	*g = (struct tw_train_gathered){ 0 };
}
