/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/online/node.h"

#include "estimator/predict/power_model.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/program/log.h"
#include "model-db/publish.h"
#include "trainer/extract/metric_series.h"
#include "trainer/online/attempt.h"
#include "trainer/online/glitches.h"
#include "trainer/online/models.h"
#include "trainer/response/prom_store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A drift may train after this share of rows_min, and alone after twice as many. */
#define DRIFT_SHARE 4
/* A contest needs this share of rows_min. */
#define HELD_SHARE 16
#define HELD_ROWS_MIN 5

struct tw_online_node {
	const struct tw_online_rules *rules;
	char machine[TW_WINDOW_NAME];
	char pipeline[TW_WINDOW_NAME];
	char *dir, *old_dir; /* of the pipeline, and of its previous version */
	struct tw_standing standing;
	struct tw_online_models serving, previous;
	size_t main;  /* of serving */
	size_t rival; /* the model of previous like it; previous.count: none */
	struct tw_live live, previous_live;
	int64_t taken_to_ms;
	bool rowless; /* a line about intervals without rows is in the log */
	bool doubted; /* a line about its meter is in the log */
	struct tw_attempt *attempt;              /* a training in progress, or NULL */
	int64_t attempt_to_ms, attempt_onset_ms; /* its last samples; its drift or 0 */
};

/* ---- models ---- */

/* "<name>-<machine>", with '_' for bytes that no file name may have. */
static void name_pipeline(struct tw_online_node *n)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+:@";

	snprintf(n->pipeline, sizeof(n->pipeline), "%.40s-%.80s", n->rules->name,
		 n->machine);
	for (char *c = n->pipeline; *c != '\0'; c++)
		if (strchr(allowed, *c) == NULL)
			*c = '_';
}

static int load(struct tw_online_node *n, struct tw_err *err)
{
	tw_online_models_release(&n->serving);
	tw_online_models_release(&n->previous);
	if (tw_online_models_load(n->dir, &n->serving, err) < 0 ||
	    tw_online_models_load(n->old_dir, &n->previous, err) < 0)
		return -1;
	n->main = tw_online_models_main(&n->serving);
	n->rival = n->serving.count > 0
			   ? tw_online_models_find(&n->previous,
						   n->serving.at[n->main].model)
			   : n->previous.count;
	n->live = n->previous_live = (struct tw_live){ 0 };
	/* The process may have ended between publishing and recording it. */
	if (n->serving.last_ms > n->standing.trained_to_ms)
		n->standing.trained_to_ms = n->serving.last_ms;
	return 0;
}

/* Find the end of the window; 0 without segments. */
static int find_taken(const struct tw_online_rules *rules, const char *machine,
		      int64_t *last_ms, struct tw_err *err)
{
	struct tw_segments w = { 0 };
	const int rc = tw_store_segments(rules->store, machine, &w, err);

	if (rc == 0)
		*last_ms = w.count > 0 ? w.at[w.count - 1].to_ms : 0;
	tw_segments_release(&w);
	return rc;
}

int tw_online_node_new(const struct tw_online_rules *rules, const char *machine,
		       struct tw_online_node **out, struct tw_err *err)
{
	struct tw_online_node *n = calloc(1, sizeof(*n));
	char old[TW_WINDOW_NAME + 8];
	int rc = -1;

	if (n == NULL)
		return tw_fail(err, TW_NOMEM, "machine '%.60s'", machine);
	n->rules = rules;
	snprintf(n->machine, sizeof(n->machine), "%s", machine);
	name_pipeline(n);
	snprintf(old, sizeof(old), ".old-%s", n->pipeline);
	if (find_taken(rules, machine, &n->taken_to_ms, err) < 0 ||
	    tw_path_join(&n->dir, err, rules->model_db, n->pipeline, NULL) < 0 ||
	    tw_path_join(&n->old_dir, err, rules->model_db, old, NULL) < 0 ||
	    tw_store_standing(rules->store, machine, &n->standing, err) < 0 ||
	    load(n, err) < 0)
		goto out;
	*out = n;
	n = NULL;
	rc = 0;
out:
	tw_online_node_free(n);
	return rc;
}

void tw_online_node_free(struct tw_online_node *n)
{
	if (n == NULL)
		return;
	tw_attempt_free(n->attempt);
	tw_online_models_release(&n->serving);
	tw_online_models_release(&n->previous);
	free(n->dir);
	free(n->old_dir);
	free(n);
}

/* The error to expect of the main model, W: of its validation, or of its contest. */
static double expected_w(const struct tw_online_node *n)
{
	if (n->serving.count == 0)
		return NAN;
	return fmax(tw_power_model_info(n->serving.at[n->main].model)->mae_w,
		    n->standing.error_w);
}

static double drift_of(const struct tw_online_node *n)
{
	return tw_live_drift(&n->live, expected_w(n));
}

/* ---- samples ---- */

static int measure(const struct tw_power_model *p, const struct tw_prom *samples,
		   int64_t from_ms, struct tw_live *live, struct tw_err *err)
{
	const struct tw_train_response response = { .prom = samples };
	struct tw_live_interval i = { .from_ms = from_ms };

	if (tw_online_error_add(&i.error, p, &response, err) < 0)
		return -1;
	tw_live_add(live, &i);
	return 0;
}

/* Note when a drift begins and ends, and since when the previous model is better. */
static void note_changes(struct tw_online_node *n, int64_t to_ms)
{
	struct tw_standing *s = &n->standing;
	const double drift = drift_of(n), live_w = tw_live_mae_w(&n->live);
	const bool worse =
		n->live.count == TW_LIVE_INTERVALS &&
		live_w > tw_live_mae_w(&n->previous_live) * (1.0 + n->rules->margin);

	if (drift > TW_LIVE_DRIFT && s->onset_ms == 0) {
		s->onset_ms = tw_live_onset_ms(&n->live, expected_w(n));
		tw_log_warn("%s: the model drifts: live error %.3f W, expected %.3f W",
			    n->machine, live_w, expected_w(n));
	} else if (drift <= TW_LIVE_DRIFT && s->onset_ms != 0) {
		s->onset_ms = 0;
		tw_log_info("%s: the model drifts no more", n->machine);
	}
	if (!worse)
		s->worse_since_ms = 0;
	else if (s->worse_since_ms == 0)
		s->worse_since_ms = to_ms;
}

static int measure_live(struct tw_online_node *n, const struct tw_prom *samples,
			int64_t from_ms, int64_t to_ms, struct tw_err *err)
{
	if (n->serving.count == 0)
		return 0;
	if (measure(n->serving.at[n->main].model, samples, from_ms, &n->live, err) < 0)
		return -1;
	if (n->rival < n->previous.count &&
	    measure(n->previous.at[n->rival].model, samples, from_ms, &n->previous_live,
		    err) < 0)
		return -1;
	note_changes(n, to_ms);
	return tw_store_set_standing(n->rules->store, n->machine, &n->standing, err);
}

/* Forget segments until the window is within its limits. */
static int bound_window(struct tw_online_node *n, struct tw_err *err)
{
	struct tw_segments w = { 0 };
	int rc = tw_store_segments(n->rules->store, n->machine, &w, err);

	while (rc == 0 && tw_window_full(&w, &n->rules->limits)) {
		const size_t i = tw_window_surplus(&w);

		rc = tw_store_remove(n->rules->store, w.at[i].id, err);
		memmove(&w.at[i], &w.at[i + 1], (w.count - i - 1) * sizeof(w.at[0]));
		w.count--;
	}
	tw_segments_release(&w);
	return rc;
}

/* Say once why the machine's power is not trained on, or may be no measurement. */
static void doubt_meter(struct tw_online_node *n, const struct tw_prom *samples)
{
	const struct tw_energy_source *other = tw_extract_unmeasured(samples);
	const char *path = tw_extract_virtual_path(samples, NULL);

	if (n->doubted || (path == NULL && other == NULL))
		return;
	n->doubted = true;
	if (path != NULL)
		tw_log_warn("%s: the meter's path '%.100s' is not below /sys: a host or "
			    "another program wrote it, and its power may be an estimate",
			    n->machine, path);
	else
		tw_log_warn(
			"%s: power of source '%s' is not trained on: it is estimated, "
			"simulated or passed on",
			n->machine, other->name);
}

int tw_online_node_take(struct tw_online_node *n, const struct tw_prom *samples,
			int64_t from_ms, int64_t to_ms, struct tw_err *err)
{
	struct tw_segment g = { .from_ms = from_ms,
				.to_ms = to_ms,
				.held = tw_window_holds_out(from_ms, to_ms) };
	struct tw_buf text = { 0 };
	struct tw_err why = { 0 };
	int rc = -1;

	doubt_meter(n, samples);
	/* A machine with a meter may have an interval without a row, between two that
	 * its samples connect. */
	if (tw_segment_summarize(samples, &g, &why) < 0 && n->taken_to_ms == 0) {
		if (!n->rowless && tw_prom_longest(samples) < 2)
			tw_log_warn("%s: not trained on: an interval of %.3g "
				    "s has one sample of a series at most; set "
				    "--sampling-interval to three times the scrape "
				    "interval or more",
				    n->machine, (double)(to_ms - from_ms) / 1e3);
		n->rowless |= tw_prom_longest(samples) < 2;
		tw_log_debug("%s: %s", n->machine, why.text);
		return 0;
	}
	tw_prom_text(samples, &text);
	if (tw_buf_check(&text, err) < 0 ||
	    tw_store_add(n->rules->store, n->machine, &g, text.data, text.len, err) < 0 ||
	    bound_window(n, err) < 0 || measure_live(n, samples, from_ms, to_ms, err) < 0)
		goto out;
	n->taken_to_ms = to_ms;
	rc = 0;
out:
	tw_buf_clear(&text);
	return rc;
}

int tw_online_node_leave_future(struct tw_online_node *n, int64_t to_ms, bool *found,
				struct tw_err *err)
{
	struct tw_standing *s = &n->standing;
	int64_t *const times[] = { &s->trained_to_ms, &s->tried_to_ms, &s->published_ms,
				   &s->onset_ms, &s->worse_since_ms };
	bool any = n->taken_to_ms > to_ms;

	for (size_t i = 0; i < TW_COUNT(times); i++)
		any |= *times[i] > to_ms;
	if (!any)
		return 0;
	*found = true;
	if (tw_store_forget_after(n->rules->store, n->machine, to_ms, err) < 0 ||
	    find_taken(n->rules, n->machine, &n->taken_to_ms, err) < 0)
		return -1;
	for (size_t i = 0; i < TW_COUNT(times); i++)
		if (*times[i] > to_ms)
			*times[i] = n->taken_to_ms;
	return tw_store_set_standing(n->rules->store, n->machine, s, err);
}

int64_t tw_online_node_taken_to(const struct tw_online_node *n)
{
	return n->taken_to_ms;
}

/* The window, with the segments marked that are not to be used. */
static int read_window(struct tw_online_node *n, struct tw_segments *out,
		       struct tw_err *err)
{
	if (tw_store_segments(n->rules->store, n->machine, out, err) < 0)
		return -1;
	return tw_glitches_mark(out, err);
}

/* ---- decisions ---- */

/* Record a verdict and the standing in one transaction. */
static int record(struct tw_online_node *n, enum tw_verdict v, const char *why,
		  bool forget, int64_t forget_to_ms, struct tw_err *err)
{
	struct tw_store *s = n->rules->store;

	if (v == TW_PUBLISHED || v == TW_ROLLED_BACK)
		tw_log_info("%s: %s: %s", n->machine, tw_verdict_name(v), why);
	else
		tw_log_warn("%s: not published: %s", n->machine, why);
	if (tw_store_begin(s, err) < 0)
		return -1;
	if (tw_store_add_verdict(s, n->machine, n->taken_to_ms, v, why, err) < 0 ||
	    tw_store_set_standing(s, n->machine, &n->standing, err) < 0 ||
	    (forget && tw_store_forget(s, n->machine, forget_to_ms, err) < 0) ||
	    tw_store_release_held(s, n->machine, n->standing.trained_to_ms, err) < 0 ||
	    tw_store_commit(s, err) < 0) {
		tw_store_abort(s);
		return -1;
	}
	return 0;
}

static bool is_worse_for_long(const struct tw_online_node *n)
{
	const struct tw_standing *s = &n->standing;

	return s->published_ms != 0 && s->worse_since_ms != 0 &&
	       n->rival < n->previous.count &&
	       n->taken_to_ms - s->worse_since_ms >= (int64_t)n->rules->rollback_ms;
}

static int roll_back(struct tw_online_node *n, struct tw_err *err)
{
	char why[TW_ERR_TEXT];

	snprintf(why, sizeof(why),
		 "live error %.3f W, that of the previous model %.3f W, for %lld s",
		 tw_live_mae_w(&n->live), tw_live_mae_w(&n->previous_live),
		 (long long)(n->taken_to_ms - n->standing.worse_since_ms) / 1000);
	if (tw_pipeline_rollback(n->rules->model_db, n->pipeline, NULL, NULL, err) < 0)
		return -1;
	n->standing.published_ms = n->standing.worse_since_ms = n->standing.onset_ms = 0;
	n->standing.error_w = 0;
	if (load(n, err) < 0)
		return -1;
	return record(n, TW_ROLLED_BACK, why, false, 0, err);
}

/* ---- training ---- */

static size_t held_rows_min(const struct tw_online_rules *r)
{
	return r->rows_min / HELD_SHARE > HELD_ROWS_MIN ? r->rows_min / HELD_SHARE
							: HELD_ROWS_MIN;
}

/* The held-out segments that neither the serving models nor a candidate have seen. */
static struct tw_window_choice unseen(const struct tw_online_node *n)
{
	const int64_t seen_ms = n->serving.count > 0 ? n->standing.trained_to_ms : 0;
	const int64_t onset_ms = n->standing.onset_ms;

	return (struct tw_window_choice){ .held = true,
					  .after_ms = onset_ms > seen_ms ? onset_ms
									 : seen_ms };
}

static bool wants_training(const struct tw_online_node *n, const struct tw_segments *w)
{
	const struct tw_online_rules *r = n->rules;
	const struct tw_window_choice fresh = { .after_ms = n->standing.tried_to_ms };
	const size_t wanted =
		n->standing.onset_ms != 0 ? r->rows_min / DRIFT_SHARE : r->rows_min;

	return tw_window_rows(w, fresh) >= wanted &&
	       tw_window_rows(w, (struct tw_window_choice){ 0 }) >= r->rows_min / 2 &&
	       tw_window_rows(w, unseen(n)) >= held_rows_min(r);
}

/* Whether the segments since the onset may train alone: the law may have changed. */
static bool may_train_alone(const struct tw_online_node *n, const struct tw_segments *w)
{
	const int64_t onset_ms = n->standing.onset_ms;
	const struct tw_window_choice since = { .after_ms = onset_ms };

	return onset_ms != 0 &&
	       tw_window_rows(w, since) >= 2 * n->rules->rows_min / DRIFT_SHARE &&
	       tw_window_covers(w, onset_ms);
}

static int read_runs(struct tw_online_node *n, const struct tw_segments *w,
		     struct tw_window_choice choice, struct tw_runs *out,
		     struct tw_err *err)
{
	return tw_runs_read(n->rules->store, w, choice, n->machine, n->rules->dir, out,
			    err);
}

static int begin_training(struct tw_online_node *n, const struct tw_segments *w,
			  struct tw_err *err)
{
	const struct tw_window_choice all = { 0 };
	const struct tw_window_choice since = { .after_ms = n->standing.onset_ms };
	struct tw_attempt_inputs in = { .rules = n->rules,
					.pipeline = n->pipeline,
					.serving = &n->serving,
					.rows_min = held_rows_min(n->rules) };

	n->attempt_to_ms = n->taken_to_ms;
	n->attempt_onset_ms = n->standing.onset_ms;
	if (read_runs(n, w, all, &in.whole, err) < 0 ||
	    read_runs(n, w, unseen(n), &in.held, err) < 0 ||
	    (may_train_alone(n, w) && read_runs(n, w, since, &in.alone, err) < 0)) {
		tw_runs_release(&in.whole);
		tw_runs_release(&in.held);
		tw_runs_release(&in.alone);
		return -1;
	}
	return tw_attempt_start(&in, &n->attempt, err);
}

/* Append "error 1.250 W, that of the serving model 1.310 W, on 60 held-out rows" to the
 * text of `used` bytes. Returns its length. */
static size_t add_errors(const struct tw_online_node *n, const struct tw_contest *t,
			 char text[TW_ERR_TEXT], size_t used)
{
	snprintf(text + used, TW_ERR_TEXT - used,
		 "error %.3f W, that of the %s %.3f W, on %zu held-out rows",
		 t->candidate_w, n->serving.count > 0 ? "serving model" : "mean",
		 t->serving_w, t->rows);
	return strlen(text);
}

static int publish(struct tw_online_node *n, struct tw_candidate *c, struct tw_err *err)
{
	const struct tw_contest *t = &c->contest;
	const bool alone = c->alone;
	char why[TW_ERR_TEXT];

	snprintf(why, sizeof(why), "'%.60s' on samples %s: ", n->pipeline,
		 alone ? "since the drift began" : "of the window");
	add_errors(n, t, why, strlen(why));
	if (n->serving.count > 0)
		tw_contest_drop_losers(t, &c->models, &c->result.pipeline);
	if (tw_pipeline_update(n->rules->model_db, n->pipeline, &c->result.pipeline,
			       n->rules->signer, err) < 0)
		return -1;
	n->standing = (struct tw_standing){ .trained_to_ms = n->attempt_to_ms,
					    .tried_to_ms = n->attempt_to_ms,
					    .published_ms = n->taken_to_ms,
					    .error_w = t->candidate_w };
	if (load(n, err) < 0)
		return -1;
	return record(n, TW_PUBLISHED, why, alone, n->attempt_onset_ms, err);
}

static int reject(struct tw_online_node *n, const struct tw_candidate *c,
		  struct tw_err *err)
{
	const struct tw_contest *t = &c->contest;
	enum tw_verdict verdict = TW_NOT_BETTER;
	char why[TW_ERR_TEXT];
	const size_t len = add_errors(n, t, why, 0), left = sizeof(why) - len;

	if (t->wins > 0) {
		snprintf(why + len, left, ": it would still drift");
	} else if (t->uncertified > 0) {
		verdict = TW_NOT_CERTIFIED;
		snprintf(why + len, left, ", but no certificate: %s",
			 t->reason != NULL ? t->reason : "not tested");
	} else {
		snprintf(why + len, left, ": not %.0f %% better", 100 * n->rules->margin);
	}
	return record(n, verdict, why, false, 0, err);
}

/*
 * Whether a candidate leaves the drift as it is: of old and new samples together, and
 * better only by what the few new ones changed. The samples since the drift began are
 * still too few to train alone.
 */
static bool keeps_drifting(const struct tw_online_node *n, const struct tw_candidate *c)
{
	return n->attempt_onset_ms != 0 && !tw_attempt_had_alone(n->attempt) &&
	       c->contest.candidate_w > TW_LIVE_DRIFT * expected_w(n);
}

/* Decide about a training that had its turn; without one the machine stays due. */
static int judge_training(struct tw_online_node *n, struct tw_err *err)
{
	struct tw_err why = { 0 };
	struct tw_candidate *c;

	if (tw_attempt_waits(n->attempt))
		return 0;
	c = tw_attempt_best(n->attempt, &why);
	n->standing.tried_to_ms = n->attempt_to_ms;
	if (c == NULL)
		return record(n, TW_NOT_TRAINED, why.text, false, 0, err);
	if (c->contest.wins > 0 && !keeps_drifting(n, c))
		return publish(n, c, err);
	return reject(n, c, err);
}

static int end_training(struct tw_online_node *n, struct tw_err *err)
{
	const int rc = judge_training(n, err);

	tw_attempt_free(n->attempt);
	n->attempt = NULL;
	return rc;
}

bool tw_online_node_trains(const struct tw_online_node *n, bool *done)
{
	*done = n->attempt != NULL && tw_attempt_done(n->attempt);
	return n->attempt != NULL;
}

int tw_online_node_decide(struct tw_online_node *n, bool may_train, struct tw_err *err)
{
	struct tw_segments w = { 0 };
	int rc = 0;

	if (n->attempt != NULL)
		return tw_attempt_done(n->attempt) ? end_training(n, err) : 0;
	if (is_worse_for_long(n))
		return roll_back(n, err);
	if (!may_train)
		return 0;
	if (read_window(n, &w, err) < 0)
		rc = -1;
	else if (wants_training(n, &w))
		rc = begin_training(n, &w, err);
	tw_segments_release(&w);
	return rc;
}

/* ---- figures ---- */

int tw_online_node_figures(struct tw_online_node *n, struct tw_online_figures *out,
			   struct tw_err *err)
{
	struct tw_online_figures f = { .serving = n->serving.count > 0,
				       .expected_w = expected_w(n),
				       .live_w = tw_live_mae_w(&n->live),
				       .bias_w = tw_live_bias_w(&n->live),
				       .previous_w = tw_live_mae_w(&n->previous_live),
				       .drift = drift_of(n),
				       .drifting = n->standing.onset_ms != 0,
				       .published_ms = n->standing.published_ms,
				       .trained_to_ms = n->standing.trained_to_ms };
	struct tw_segments w = { 0 };
	int rc = -1;

	memcpy(f.machine, n->machine, sizeof(f.machine));
	if (read_window(n, &w, err) < 0 ||
	    tw_store_count_verdicts(n->rules->store, n->machine, f.verdicts, err) < 0)
		goto out;
	f.segments = w.count;
	f.rows = tw_window_rows(&w, (struct tw_window_choice){ 0 });
	f.held_rows = tw_window_rows(&w, (struct tw_window_choice){ .held = true });
	for (size_t i = 0; i < w.count; i++) {
		f.bytes += w.at[i].bytes;
		f.glitches += w.at[i].glitch;
	}
	*out = f;
	rc = 0;
out:
	tw_segments_release(&w);
	return rc;
}
