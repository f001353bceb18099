/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/record/prom_query.h"

#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "trainer/record/metric_choice.h"
#include "trainer/record/spool.h"
#include "trainer/record/spool_csv.h"

#include <stdlib.h>
#include <string.h>

/* Limit of matching metrics. */
#define METRICS_MAX 10000

struct run {
	struct tw_prom_client *client;
	const struct tw_prom_query *q;
	struct tw_metric_choice choice;
	struct tw_strs names;
	struct tw_spool *spool;
	uint32_t points; /* of a part; halved on the server's demand */
	struct tw_prom_count count;
};

static int take_name(void *arg, const char *name, size_t len, struct tw_err *err)
{
	struct run *r = arg;

	if (!tw_metric_choice_has(&r->choice, name, len))
		return 0;
	if (r->names.count == METRICS_MAX)
		return tw_fail(err, TW_INVALID, "more than %d metrics match",
			       METRICS_MAX);
	return tw_strs_add(&r->names, name, len, err);
}

/* List the metrics, sorted and without duplicates. */
static int find_names(struct run *r, struct tw_err *err)
{
	size_t kept = 0;

	if (tw_prom_client_names(r->client, r->q->match, &r->q->range, take_name, r,
				 err) < 0)
		return -1;
	tw_strs_sort(&r->names);
	for (size_t i = 0; i < r->names.count; i++) {
		char *name = r->names.at[i];

		if (kept > 0 && strcmp(r->names.at[kept - 1], name) == 0)
			free(name);
		else
			r->names.at[kept++] = name;
	}
	r->names.count = kept;
	if (kept == 0)
		return tw_fail(err, TW_NOTFOUND,
			       "the server has no metric that %s, in that time and with "
			       "those labels",
			       r->q->metrics != NULL ? "matches" : "a schema knows");
	return 0;
}

static void show_progress(const struct run *r, size_t metric, int64_t at_ms)
{
	const struct tw_prom_range *all = &r->q->range;
	double span = (double)(all->end_ms - all->start_ms + all->step_ms);

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
	struct tw_prom_range part = { *at_ms, 0, all->step_ms };
	int64_t steps = (all->end_ms - *at_ms) / all->step_ms;
	struct tw_err why = { 0 };

	if (steps > (int64_t)r->points - 1)
		steps = (int64_t)r->points - 1;
	part.end_ms = *at_ms + steps * all->step_ms;
	if (tw_prom_client_range(r->client, metric, r->q->match, &part, r->spool,
				 &r->count, &why) == 0) {
		*at_ms = part.end_ms + all->step_ms;
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
	if (q->range.step_ms <= 0 || q->points == 0)
		return tw_fail(err, TW_INVALID,
			       "the step and the number of points must be 1 or more");
	if (q->range.end_ms < q->range.start_ms)
		return tw_fail(err, TW_INVALID, "the end is before the start");
	return 0;
}

static int write_result(struct run *r, struct tw_prom_query_result *out,
			struct tw_err *err)
{
	struct tw_spool_size size = tw_spool_size(r->spool);

	if (size.samples == 0)
		return tw_fail(err, TW_NOTFOUND,
			       "the server has no sample of %zu metrics in that time",
			       r->names.count);
	if (tw_spool_write(r->spool, r->q->output, err) < 0 ||
	    (r->q->csv_dir != NULL &&
	     tw_spool_write_csv(r->spool, r->q->csv_dir, err) < 0))
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
	struct run r = { .client = c, .q = q, .points = q->points };
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
