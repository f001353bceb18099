/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/memory.h"
#include "cli/shards/plan_worker.h"
#include "cli/train/train_flags.h"
#include "cli/train/train_input.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/http/client/credentials.h"
#include "lib/http/client/http.h"
#include "lib/http/client/url.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "model-db/signature.h"
#include "trainer/train.h"
#include "trainer/train_job.h"
#include "trainer/train_result.h"
#include "trainer/train_until.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct config {
	struct tw_train_flags flags;
	/* The job that the options describe. */
	struct tw_train_job job;
	bool keep; /* --keep-until is given */
	struct tw_until until;
};

/* Print progress on stderr; results go to stdout. */
static void tell_step(void *arg, const struct tw_until_outcome *at,
		      const struct tw_train_result *r, const struct tw_err *why)
{
	(void)arg;
	fprintf(stderr, "with %u %% of the data: ", 100 * at->shares / TW_UNTIL_SHARES);
	if (r == NULL)
		fprintf(stderr, "%s\n", why->text);
	else if (at->reached)
		fprintf(stderr, "accurate enough\n");
	else
		fprintf(stderr,
			"%s %s of node type %zu has no model that is accurate enough\n",
			at->missing->source, at->missing->output, at->missing->node_type);
}

static int make_models(const struct config *c, struct tw_train_result *r,
		       struct tw_until_outcome *o, struct tw_err *err)
{
	if (!c->keep)
		return tw_train(&c->job, r, err);
	return tw_train_until(&c->job, &c->until, tell_step, NULL, r, o, err);
}

static void print_report(const struct config *c, const struct tw_train_result *r,
			 const struct tw_train_times *t, const struct tw_until_outcome *o)
{
	struct tw_buf report = { 0 };

	if (c->flags.json) {
		tw_train_result_json(r, &report);
	} else {
		tw_train_result_report(r, t, &report);
		if (c->keep)
			tw_until_report(&c->until, o, &report);
	}
	tw_command_warn(&r->quality);
	tw_command_print(&report);
}

/* ---- training ---- */

static int train_here(struct config *c, struct tw_err *err)
{
	const struct tw_train_flags *f = &c->flags;
	struct tw_until_outcome outcome = { 0 };
	struct tw_train_result result = { 0 };
	struct tw_train_input in = { .cache = tw_train_flags_cache(f) };
	struct tw_train_times times = { 0 };
	const uint64_t start = tw_now_ns();
	struct tw_signer signer = { 0 };
	struct tw_progress_line progress;
	uint64_t before;
	int rc = -1;

	if (f->sign != NULL &&
	    tw_signer_read(f->sign, f->sign_password_file, &signer, err) < 0)
		goto out;
	tw_progress_line_start(&progress, "tallywatt train");
	c->job.watch = &progress.watch;
	if (tw_train_flags_read(f, &c->job, &in, err) < 0)
		goto out;
	times.parse_ns = tw_now_ns() - start;
	if (make_models(c, &result, &outcome, err) < 0)
		goto out;
	before = tw_now_ns();
	if (tw_train_publish(f, "tallywatt train", f->sign != NULL ? &signer : NULL,
			     &result, err) < 0)
		goto out;
	times.publish_ns = tw_now_ns() - before;
	times.total_ns = tw_now_ns() - start;
	print_report(c, &result, &times, &outcome);
	rc = 0;
out:
	tw_train_result_release(&result);
	tw_train_input_release(&in);
	tw_signer_release(&signer);
	return rc;
}

/* ---- at a tw-trainer ---- */

#define INPUT_MAX ((size_t)1 << 30)
#define ZIP_MAX ((size_t)1 << 30)
#define SEND_MS 600000
#define STALL_MS 60000

/* Intervals of questions about the job, and failed questions until giving up. */
#define POLL_MIN_MS 50
#define POLL_MAX_MS 2000
#define FAILURES_MAX 30

struct remote {
	const struct tw_train_flags *flags;
	struct tw_credentials web;
	char path[128];  /* of the job */
	char shown[256]; /* the last line of progress */
};

static int check_remote(const struct tw_train_flags *f, struct tw_err *err)
{
	const struct {
		const char *flag;
		bool given;
	} local[] = {
		{ "csv", f->csv.count > 0 },
		{ "spec", f->spec.count > 0 },
		{ "group", f->group != NULL },
		{ "replace", f->replace },
		{ "origin", f->origin != NULL },
		{ "machine", f->machine != NULL },
		{ "profile", f->isolation.profile != NULL },
		{ "vendor", f->vendor != NULL },
		{ "processor", f->processor != NULL },
		{ "cores", f->cores != 0 },
		{ "chips", f->chips != 0 },
		{ "memory", f->memory != 0 },
		{ "frequency", f->frequency != 0 },
		{ "threads-per-core", f->threads_per_core != 0 },
		{ "threads", f->threads != 0 },
		{ "seed", f->seed != 1 },
		{ "folds", f->folds != 0 },
		{ "workloads", f->workloads != NULL },
		{ "keep-until", f->keep_until != NULL },
		{ "shuffled", f->shuffled },
		{ "json", f->json },
		{ "unconstrained", f->unconstrained },
		{ "resets", f->resets != TW_RESETS_DROP },
	};

	if (!tw_url_is(f->url))
		return tw_fail(err, TW_INVALID,
			       "--url: '%.64s' is not an http or https URL", f->url);
	for (size_t i = 0; i < TW_COUNT(local); i++)
		if (local[i].given)
			return tw_fail(err, TW_INVALID,
				       "--%s does not go with --url: the tw-trainer "
				       "decides it",
				       local[i].flag);
	if (f->input.count != 1)
		return tw_fail(err, TW_INVALID, "--url takes one --input, not %zu",
			       f->input.count);
	return 0;
}

/* ---- the request ---- */

static int add_file(struct tw_buf *b, const char *key, const char *path,
		    struct tw_err *err)
{
	size_t len;
	char *text;

	if (tw_file_read(path, INPUT_MAX, &text, &len, err) < 0)
		return -1;
	tw_json_add_key(b, key);
	tw_buf_add(b, text, len);
	free(text);
	return 0;
}

static void add_isolator_args(struct tw_buf *b, const struct tw_isolation_texts *t)
{
	const struct {
		const char *key, *text;
	} arg[] = {
		{ "target_hints", t->target_hints },
		{ "bg_hints", t->bg_hints },
		{ "abs_pipeline_name", t->abs_pipeline },
	};

	tw_json_add_object(b, "isolator_args");
	for (size_t i = 0; i < TW_COUNT(arg); i++)
		if (arg[i].text != NULL)
			tw_json_add_text(b, arg[i].key, arg[i].text);
	tw_json_end_object(b);
}

/* The body of docs/wire.md, "Training". Third-party metrics come before the data. */
static int make_request(const struct tw_train_flags *f, const struct tw_train_job *job,
			struct tw_buf *b, struct tw_err *err)
{
	tw_json_add_object(b, NULL);
	tw_json_add_text(b, "name", f->name);
	if (f->source != NULL)
		tw_json_add_text(b, "energy_source", f->source);
	tw_json_add_object(b, "trainer");
	tw_json_add_texts(b, "abs_trainers", &job->abs_trainers);
	tw_json_add_texts(b, "dyn_trainers", &job->dyn_trainers);
	tw_json_add_text(b, "isolator", f->isolator);
	add_isolator_args(b, &f->isolation);
	if (job->smooth > 0) {
		tw_json_add_text(b, "extractor", "smooth");
		tw_json_add_uint(b, "smooth_window", job->smooth);
	}
	if (f->isolation.idle != NULL &&
	    add_file(b, "idle_prom_response", f->isolation.idle, err) < 0)
		return -1;
	tw_json_end_object(b);
	tw_json_add_bool(b, "use_vm_metrics", f->vm_metrics);
	tw_json_add_texts(b, "thirdparty_metrics", &f->names);
	if (add_file(b, "prom_response", f->input.at[0], err) < 0)
		return -1;
	tw_json_end_object(b);
	tw_must_have(!tw_buf_failed(b));
	return 0;
}

/* ---- the job ---- */

static int ask(const struct remote *r, const char *more, const struct tw_http_call *how,
	       struct tw_http_answer *out, struct tw_err *err)
{
	struct tw_http_call c = *how;
	char path[160];

	snprintf(path, sizeof(path), "%s%s", r->path, more);
	c.access = &r->web.access;
	return tw_http_api_call(r->flags->url, path, &c, out, err);
}

/* The identity becomes part of a path, so it is checked. */
static int read_id(struct remote *r, const struct tw_http_answer *a, struct tw_err *err)
{
	json_t *doc = NULL;
	const char *id;
	int rc = -1;

	if (tw_json_parse(a->body, a->len, "answer", &doc, err) < 0 ||
	    tw_json_text(doc, "answer", "id", false, &id, err) < 0 ||
	    tw_name_check("answer.id", id, strlen(id), err) < 0)
		goto out;
	snprintf(r->path, sizeof(r->path), "/api/v1/jobs/%.64s", id);
	rc = 0;
out:
	json_decref(doc);
	return rc;
}

static int send_job(struct remote *r, const struct tw_train_job *job, struct tw_err *err)
{
	struct tw_http_call c = { .timeout_ms = SEND_MS, .stall_ms = STALL_MS };
	struct tw_http_answer a = { 0 };
	struct tw_buf b = { 0 };
	int rc = -1;

	snprintf(r->path, sizeof(r->path), "/api/v1/train");
	if (make_request(r->flags, job, &b, err) < 0)
		goto out;
	c.body = b.data;
	c.body_len = b.len;
	if (ask(r, "", &c, &a, err) < 0 || read_id(r, &a, err) < 0)
		goto out;
	fprintf(stderr, "tallywatt train: job %s\n", strrchr(r->path, '/') + 1);
	rc = 0;
out:
	tw_http_answer_release(&a);
	tw_buf_clear(&b);
	return rc;
}

/* A line for each change; on a terminal, overwrite one line. Server texts are foreign. */
static void show(struct remote *r, const json_t *job, const char *state)
{
	const char *stage = state;
	double progress = 0.0, remaining_s = -1.0;
	struct tw_err none = { 0 };
	char line[sizeof(r->shown)], rest[64] = "";

	(void)!tw_json_text(job, "job", "stage", true, &stage, &none);
	(void)!tw_json_number(job, "job", "progress", true, &progress, &none);
	(void)!tw_json_number(job, "job", "remaining_s", true, &remaining_s, &none);
	if (remaining_s >= 0.0)
		snprintf(rest, sizeof(rest), ", about %.0f s left", remaining_s);
	if (strcmp(state, "running") == 0)
		snprintf(line, sizeof(line), "%.16s %3.0f %%%s", stage, progress * 100,
			 rest);
	else
		snprintf(line, sizeof(line), "%.16s", state);
	for (char *c = line; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7f)
			*c = '?';
	if (strcmp(line, r->shown) == 0)
		return;
	strcpy(r->shown, line);
	fprintf(stderr, "%stallywatt train: %s%s", isatty(2) ? "\r\033[K" : "", line,
		isatty(2) ? "" : "\n");
}

static int fail_job(const json_t *job, const char *state, struct tw_err *err)
{
	const char *why = "";

	if (tw_json_text(job, "job", "error", true, &why, err) < 0)
		return -1;
	return tw_fail(err, TW_INVALID, "job %.16s%s%s", state, *why != '\0' ? ": " : "",
		       why);
}

static int print_done(const struct remote *r, const json_t *job, struct tw_err *err)
{
	long long models = 0;
	bool published = false;

	if (tw_json_int(job, "job", "models", true, 0, UINT32_MAX, &models, err) < 0 ||
	    tw_json_bool(job, "job", "published", true, &published, err) < 0)
		return -1;
	printf("%s: models=%lld published=%s\n", r->flags->name, models,
	       published ? "yes" : "no");
	return 0;
}

/* Ask once. *ended: the job is done. */
static int poll_job(struct remote *r, bool *ended, struct tw_err *err)
{
	const struct tw_http_call c = { 0 };
	struct tw_http_answer a = { 0 };
	json_t *job = NULL;
	const char *state;
	int rc = -1;

	if (ask(r, "", &c, &a, err) < 0 ||
	    tw_json_parse(a.body, a.len, "job", &job, err) < 0 ||
	    tw_json_text(job, "job", "state", false, &state, err) < 0)
		goto out;
	show(r, job, state);
	if (strcmp(state, "waiting") != 0 && strcmp(state, "running") != 0) {
		if (isatty(2))
			fprintf(stderr, "\n");
		*ended = true;
		if (strcmp(state, "done") != 0) {
			fail_job(job, state, err);
			goto out;
		}
		if (print_done(r, job, err) < 0)
			goto out;
	}

	rc = 0;
out:
	json_decref(job);
	tw_http_answer_release(&a);
	return rc;
}

/* A trainer that restarts does not answer for a while, and knows the job afterwards. */
static int wait_for_end(struct remote *r, struct tw_err *err)
{
	unsigned failures = 0, pause_ms = POLL_MIN_MS;
	bool ended = false;

	for (;;) {
		struct timespec pause = { .tv_sec = pause_ms / 1000,
					  .tv_nsec = pause_ms % 1000 * 1000000L };
		struct tw_err why = { 0 };
		int status = poll_job(r, &ended, &why);

		if (ended && status == 0)
			return 0;
		failures = status < 0 ? failures + 1 : 0;
		if (status < 0 &&
		    (ended || why.code != TW_IO || failures == FAILURES_MAX)) {
			*err = why;
			return -1;
		}
		nanosleep(&pause, NULL);
		if (pause_ms < POLL_MAX_MS)
			pause_ms += pause_ms / 2;
	}
}

static int take_zip(const struct remote *r, struct tw_err *err)
{
	const struct tw_http_call c = { .timeout_ms = SEND_MS,
					.stall_ms = STALL_MS,
					.answer_max = ZIP_MAX };
	struct tw_http_answer a = { 0 };
	int rc = -1;

	if (r->flags->output == NULL)
		return 0;
	if (ask(r, "/pipeline", &c, &a, err) == 0 &&
	    tw_file_replace(r->flags->output, a.body, a.len, err) == 0)
		rc = 0;
	tw_http_answer_release(&a);
	return rc;
}

static int train_remote(const struct tw_train_flags *f, const struct tw_train_job *job,
			struct tw_err *err)
{
	struct remote r = { .flags = f };
	int rc = -1;

	if (tw_command_credentials(&r.web, &f->web, NULL, "tallywatt train", err) == 0 &&
	    tw_http_init(err) == 0 && send_job(&r, job, err) == 0 &&
	    wait_for_end(&r, err) == 0 && take_zip(&r, err) == 0)
		rc = 0;
	tw_credentials_release(&r.web);
	return rc;
}

/* ---- the command ---- */

static int train(void *config, struct tw_err *err)
{
	struct config *c = config;

#if TW_FLEET
	if (c->flags.plan != NULL)
		return tw_plan_worker_run(&c->flags, err);
#endif
	return c->flags.url != NULL ? train_remote(&c->flags, &c->job, err)
				    : train_here(c, err);
}

static int check_use(void *config, struct tw_err *err)
{
	struct config *c = config;

#if TW_FLEET
	if (c->flags.plan != NULL)
		return tw_plan_worker_check(&c->flags, err);
	if (c->flags.units != NULL || c->flags.parts != NULL)
		return tw_fail(err, TW_INVALID, "--units and --parts need --plan");
#endif
	if (tw_train_flags_check_input(&c->flags, err) < 0 ||
	    tw_train_flags_job(&c->flags, &c->job, err) < 0)
		return -1;
	if (c->flags.sign != NULL && c->flags.model_db == NULL)
		return tw_fail(err, TW_INVALID, "--sign without --model-db");
	if (c->flags.url != NULL && check_remote(&c->flags, err) < 0)
		return -1;
	return tw_train_flags_until(&c->flags, &c->until, &c->keep, err);
}

static void release(void *config)
{
	struct config *c = config;

	tw_train_job_release(&c->flags, &c->job);
}

const struct tw_command tw_command_train = {
	.opts = &tw_train_opts,
	.config_size = sizeof(struct config),
	.check = check_use,
	.work = train,
	.release = release,
};
