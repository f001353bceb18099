/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/online/runs.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "trainer/response/prom.h"
#include "trainer/record/series_reader.h"
#include "trainer/record/spool.h"
#include "trainer/online/store.h"

#include <stdlib.h>
#include <unistd.h>

/* A response without rows is an error of a training; shorter runs are left out. */
#define ROWS_MIN 2

static int add_segment(struct tw_store *s, int64_t id, struct tw_spool *spool,
		       struct tw_err *err)
{
	char *text = NULL;
	size_t len;
	int rc = -1;

	if (tw_store_text(s, id, &text, &len, err) == 0 &&
	    tw_series_read_text(spool, text, len, err) == 0)
		rc = tw_spool_settle(spool, err);
	free(text);
	return rc;
}

static size_t count_rows(const struct tw_segments *w, struct tw_window_run run)
{
	size_t rows = 0;

	for (size_t i = run.first; i <= run.last; i++)
		rows += w->at[i].rows;
	return rows;
}

/* Join the segments by way of a spool, which continues each series. */
static int read_run(struct tw_store *s, const struct tw_segments *w,
		    struct tw_window_run run, const char *path, struct tw_prom **out,
		    struct tw_err *err)
{
	struct tw_spool *spool = NULL;
	int rc = -1;

	if (tw_spool_new(path, &spool, err) < 0)
		return -1;
	for (size_t i = run.first; i <= run.last; i++)
		if (add_segment(s, w->at[i].id, spool, err) < 0)
			goto out;
	if (tw_spool_write(spool, path, err) < 0 || tw_prom_read(path, out, err) < 0)
		goto out;
	rc = 0;
out:
	unlink(path);
	tw_spool_free(spool);
	return rc;
}

int tw_runs_read(struct tw_store *s, const struct tw_segments *w,
		 struct tw_window_choice choice, const char *machine, const char *dir,
		 struct tw_runs *out, struct tw_err *err)
{
	struct tw_window_run run;
	char *path = NULL;
	size_t at = 0;
	int rc = -1;

	out->prom = calloc(w->count + 1, sizeof(struct tw_prom *));
	out->response = calloc(w->count + 1, sizeof(*out->response));
	if (out->prom == NULL || out->response == NULL) {
		tw_fail(err, TW_NOMEM, "%zu segments", w->count);
		goto out;
	}
	if (tw_path_join(&path, err, dir, "run.json", NULL) < 0)
		goto out;
	while (tw_window_next_run(w, choice, &at, &run)) {
		struct tw_train_response *r = &out->response[out->count];

		if (count_rows(w, run) < ROWS_MIN)
			continue;
		if (read_run(s, w, run, path, &out->prom[out->count], err) < 0)
			goto out;
		*r = (struct tw_train_response){ .prom = out->prom[out->count++],
						 .machine = machine,
						 .origin = "online" };
	}
	rc = 0;
out:
	free(path);
	return rc;
}

void tw_runs_release(struct tw_runs *r)
{
	for (size_t i = 0; i < r->count; i++)
		tw_prom_free(r->prom[i]);
	free(r->prom);
	free(r->response);
	*r = (struct tw_runs){ 0 };
}
