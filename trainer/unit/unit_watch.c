/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/unit/unit_watch.h"

#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/program/log.h"
#include "trainer/record/prom_query.h"
#include "trainer/record/stop.h"
#include "trainer/unit/unit_results.h"
#include "trainer/unit/unit_warnings.h"

#include <stdbool.h>
#include <stdlib.h>

/* Prometheus' limit of points of a series in an answer. */
#define POINTS 11000

/* A server that restarts is asked again for this long. */
#define RETRY_MS 60000

struct tw_unit_watch {
	struct tw_unit_watch_config config;
	struct tw_stop stop;
	struct tw_prom_client *prometheus;
	struct tw_unit_results results;
	pthread_t thread;
	bool running;
};

/* ---- an evaluation ---- */

static void tell_drift(const char *unit, const struct tw_unit_input *in,
		       const struct tw_unit_drift *f)
{
	if (f->work == SIZE_MAX)
		tw_log_warn("unit %s drifts: standing power of %.4g W in the last %.3g "
			    "h, %.4g W before",
			    unit, f->now, f->seconds / 3600, f->before);
	else
		tw_log_warn("unit %s drifts: %.4g J for %s in the last %.3g h, %.4g J "
			    "before",
			    unit, f->now, in->work[f->work].name, f->seconds / 3600,
			    f->before);
}

/* The findings of an evaluation. */
struct found {
	struct tw_unit_evaluation e;
	struct tw_unit_drift drift;
	struct tw_strs warnings;
};

static int find(struct tw_unit_data *d, const struct tw_unit_blocks *b, struct found *out,
		struct tw_err *err)
{
	struct tw_unit_fit f = { 0 };
	int rc = -1;

	if (tw_unit_fit(b, &f, err) < 0 || tw_unit_drift_find(b, &out->drift, err) < 0 ||
	    tw_unit_warnings(d, b, &f, &out->warnings, err) < 0)
		goto out;
	out->e = (struct tw_unit_evaluation){ .to_ms = b->bound_ms[b->count],
					      .standing_w = f.standing_w,
					      .r2 = f.r2,
					      .residual_w = f.residual_w,
					      .drift = out->drift.state };
	for (size_t k = 0; k < f.works; k++)
		out->e.joules[k] = f.work[k].joules;
	rc = 0;
out:
	tw_unit_fit_release(&f);
	return rc;
}

static int evaluate(struct tw_unit_watch *w, const struct tw_unit_spec *spec,
		    struct found *out, struct tw_err *err)
{
	struct tw_prom_query q = { .points = POINTS };
	struct tw_unit_data d = { 0 };
	struct tw_unit_blocks b = { 0 };
	int64_t now_ms;
	int rc = -1;

	if (tw_prom_client_time(w->prometheus, &now_ms, err) < 0 ||
	    tw_unit_data_open(&d, &spec->ask, "", err) < 0)
		goto out;
	q.range.end_ms = now_ms - (int64_t)w->config.delay_ms;
	q.range.start_ms = q.range.end_ms - (int64_t)w->config.file->window_ms;
	if (q.range.start_ms < 0) {
		tw_fail(err, TW_INVALID, "the server's clock is before the window");
		goto out;
	}
	if (tw_unit_data_query(&d, w->prometheus, &q, err) == 0 &&
	    tw_unit_data_blocks(&d, d.block_ms, &b, err) == 0 &&
	    find(&d, &b, out, err) == 0)
		rc = 0;
out:
	tw_unit_blocks_release(&b);
	tw_unit_data_release(&d);
	return rc;
}

/* ---- the loop ---- */

static void evaluate_unit(struct tw_unit_watch *w, size_t i)
{
	const struct tw_unit_spec *spec = &w->config.file->unit[i];
	const struct tw_unit_history *h = &w->results.unit[i];
	struct found f = { 0 };
	struct tw_err why = { 0 };

	if (evaluate(w, spec, &f, &why) == 0) {
		if (f.drift.state == TW_UNIT_DRIFT_SEEN && !h->drifts)
			tell_drift(spec->name, &h->asked.in, &f.drift);
		if (tw_unit_results_add(&w->results, i, &f.e, &f.warnings))
			tw_log_info("unit %s: evaluated", spec->name);
	} else if (!tw_stop_requested(&w->stop) &&
		   tw_unit_results_fail(&w->results, i, &why)) {
		tw_log_warn("unit %s: %s", spec->name, why.text);
	}
	tw_strs_clear(&f.warnings);
}

static void *run(void *arg)
{
	struct tw_unit_watch *w = arg;
	const struct tw_unit_file *file = w->config.file;
	uint64_t start_ms, took_ms;

	do {
		start_ms = tw_now_ms();
		for (size_t i = 0; i < file->count && !tw_stop_requested(&w->stop); i++)
			evaluate_unit(w, i);
		took_ms = tw_now_ms() - start_ms;
	} while (!tw_stop_wait(&w->stop,
			       took_ms < file->every_ms ? file->every_ms - took_ms : 0));
	return NULL;
}

int tw_unit_watch_open(const struct tw_unit_watch_config *c, struct tw_unit_watch **out,
		       struct tw_err *err)
{
	struct tw_unit_watch *w = calloc(1, sizeof(*w));
	int e, rc = -1;

	if (w == NULL)
		return tw_fail(err, TW_NOMEM, "units of work");
	w->config = *c;
	w->stop.fd = -1;
	if (tw_unit_results_open(&w->results, c->file, err) < 0 ||
	    tw_stop_open_by_call(&w->stop, err) < 0)
		goto out;
	w->config.client.stop = &w->stop;
	w->config.client.retry_ms =
		c->file->every_ms < RETRY_MS ? c->file->every_ms : RETRY_MS;
	if (tw_prom_client_new(&w->config.client, &w->prometheus, err) < 0)
		goto out;
	e = pthread_create(&w->thread, NULL, run, w);
	if (e != 0) {
		tw_fail_errno(err, e, "cannot start a thread");
		goto out;
	}
	w->running = true;
	*out = w;
	w = NULL;
	rc = 0;
out:
	tw_unit_watch_close(w);
	return rc;
}

void tw_unit_watch_close(struct tw_unit_watch *w)
{
	if (w == NULL)
		return;
	if (w->running) {
		tw_stop_request(&w->stop);
		pthread_join(w->thread, NULL);
	}
	tw_prom_client_free(w->prometheus);
	if (w->stop.fd >= 0)
		tw_stop_close(&w->stop);
	tw_unit_results_close(&w->results);
	free(w);
}

void tw_unit_watch_metrics(void *watch, struct tw_expo *e)
{
	tw_unit_results_metrics(&((struct tw_unit_watch *)watch)->results, e);
}

void tw_unit_watch_health(void *watch, struct tw_buf *out)
{
	tw_unit_results_health(&((struct tw_unit_watch *)watch)->results, out);
}

void tw_unit_watch_list(void *watch, struct tw_buf *out)
{
	tw_unit_results_list(&((struct tw_unit_watch *)watch)->results, out);
}
