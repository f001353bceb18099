/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "cli/engage/engage_meters.h"
#include "cli/engage/engage_record.h"
#include "cli/engage/engage_report.h"
#include "cli/engage/engage_rows.h"
#include "cli/engage/engage_shares.h"
#include "cli/memory.h"
#include "cli/train/train_flags.h"
#include "cli/train/train_input.h"
#include "collector/probe.h"
#include "collector/system/roots.h"
#include "estimator/predict/power_model.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/http/client/http.h"
#include "lib/json/writer.h"
#include "model-db/index/choose.h"
#include "model-db/index/index.h"
#include "model-db/index/index_load.h"
#include "model-db/pipeline.h"
#include "model-db/publish.h"
#include "model-db/validation.h"
#include "profiler/discover.h"
#include "profiler/load.h"
#include "profiler/workload_plan.h"
#include "trainer/names.h"
#include "trainer/record/stop.h"
#include "trainer/train.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define ANSWER_MS 5000
#define PROBE_WATCH_MS 2000
#define PHASE_MS 60000
#define PHASE_OF_SHARES_MS 20000
#define PHASE_MIN_INTERVALS 3
#define WARNINGS_MAX ((size_t)1 << 20)
#define URL_MAX 1024
/* Energy is a difference: it is known from the second tick on. */
#define TICKS_MIN 3

enum load { LOAD_AUTO, LOAD_STRESS, LOAD_OWN };

static const char *const load_names[] = { "auto", "stress-ng", "own", NULL };

struct config {
	char *url, *dir, *model_db, *name, *trainers, *source, *group;
	char *proc, *sys, *dev, *powercap;
	uint64_t phase_ms, interval_ms;
	unsigned load;
	bool attribution;
	uint32_t works;
	const struct tw_energy_source *from;
	const struct tw_feature_group *of;
};

static const struct tw_opt options[] = {
	{ TW_ROW(TEXT, "url", url, "URL",
		 "URL of the tw-collector that runs on this machine"),
	  .env = "TW_COLLECTOR_URL", .fallback = "http://127.0.0.1:8103" },
	{ TW_ROW(TEXT, "dir", dir, "DIR", "directory of the recording and the report"),
	  .fallback = "engage" },
	{ TW_ROW(TEXT, "model-db", model_db, "DB",
		 "publish to this model database [DIR/models]"),
	  .env = "TW_MODEL_DB" },
	{ TW_ROW(TEXT, "name", name, "NAME", "name of the pipeline, which is replaced"),
	  .fallback = "this-machine" },
	{ TW_ROW(DURATION_MS, "phase", phase_ms, "TIME",
		 "length of each workload [60s; with --attribution 20s]") },
	{ TW_ROW(DURATION_MS, "interval", interval_ms, "TIME",
		 "time between scrapes: the collector's interval"),
	  .fallback = "3s", .min = 100 },
	{ TW_ROW(CHOICE, "load", load, "HOW",
		 "workloads: stress-ng, own, or auto (stress-ng where installed)"),
	  .fallback = "auto", .choices = load_names },
	{ TW_ROW(TEXT, "trainers", trainers, "NAMES", "trainers, separated by commas"),
	  .fallback = "AutoTrainer,LinearRegressionTrainer" },
	{ TW_ROW(TEXT, "source", source, "SOURCE",
		 "energy source; else the first that measures") },
	{ TW_ROW(TEXT, "group", group, "GROUP",
		 "feature group; else each of the recording") },
	{ TW_ROW(BOOL, "attribution", attribution, NULL,
		 "instead, judge how the collector divides energy among workloads") },
	{ TW_ROW(U32, "workloads", works, "N",
		 "workloads of --attribution, which run in each subset"),
	  .fallback = "5", .min = 2, .max = TW_SHARES_MAX },
	TW_OPTS_MACHINE_METERS,
};

/* The state of the command. Paths are those of files in the directory. */
struct engage {
	struct config *c;
	char *dir, *model_db, *response, *workloads, *warnings;
	int lock; /* of the directory */
	struct tw_machine_spec spec;
	json_t *probe;
	struct tw_engage_meters meters; /* of the collector */
	struct tw_workload_runs runs;
	struct tw_engage_rows rows;
	struct tw_train_result trained;
	struct tw_train_times times;
	struct tw_power_model *chosen;
	struct tw_dataset validation;
	bool validated;
	struct tw_err why_none;
};

static void say(const char *text)
{
	fprintf(stderr, "tallywatt engage: %s\n", text);
}

/* A wrong name is found before the recording, not after it. */
static int check_trainers(const char *text, struct tw_err *err)
{
	struct tw_strs names = { 0 };
	int rc = -1;

	if (tw_strs_split(&names, text, err) < 0 ||
	    tw_names_trainers(&names, "--trainers", err) < 0)
		goto out;
	if (names.count == 0) {
		tw_fail(err, TW_INVALID, "--trainers names no trainer");
		goto out;
	}
	rc = 0;
out:
	tw_strs_clear(&names);
	return rc;
}

static int check_use(void *config, struct tw_err *err)
{
	struct config *c = config;

	if (strlen(c->url) > URL_MAX)
		return tw_fail(err, TW_INVALID, "--url: more than %d bytes", URL_MAX);
	if (c->phase_ms == 0)
		c->phase_ms = c->attribution ? PHASE_OF_SHARES_MS : PHASE_MS;
	if (c->phase_ms < PHASE_MIN_INTERVALS * c->interval_ms)
		return tw_fail(err, TW_INVALID,
			       "--phase: want %d times --interval or more",
			       PHASE_MIN_INTERVALS);
	if (c->load == LOAD_STRESS && !tw_load_has_stress())
		return tw_fail(err, TW_INVALID, "--load: stress-ng is not in PATH");
	if (tw_pipeline_name_check(c->name, strlen(c->name), err) < 0 ||
	    check_trainers(c->trainers, err) < 0)
		return -1;
	if (c->source != NULL && tw_names_source(c->source, &c->from, err) < 0)
		return -1;
	return c->group != NULL ? tw_names_group(c->group, &c->of, err) : 0;
}

/* ---- preparation ---- */

/* Make the directory, and lock it: two runs would overwrite each other's files. */
static int open_dir(struct engage *e, struct tw_err *err)
{
	if (tw_dir_make(e->c->dir, err) < 0)
		return -1;
	e->dir = realpath(e->c->dir, NULL);
	if (e->dir == NULL)
		return tw_fail_errno(err, errno, "cannot find '%s'", e->c->dir);
	e->lock = open(e->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (e->lock < 0)
		return tw_fail_errno(err, errno, "cannot open '%s'", e->dir);
	if (flock(e->lock, LOCK_EX | LOCK_NB) < 0)
		return tw_fail_errno(
			err, errno, "another tallywatt engage works in '%.120s'", e->dir);
	if (tw_path_join(&e->response, err, e->dir, "response.json", NULL) < 0 ||
	    tw_path_join(&e->workloads, err, e->dir, "workloads.csv", NULL) < 0 ||
	    tw_path_join(&e->warnings, err, e->dir, "warnings.txt", NULL) < 0)
		return -1;
	return e->c->model_db != NULL
		       ? tw_path_join(&e->model_db, err, e->c->model_db, NULL)
		       : tw_path_join(&e->model_db, err, e->dir, "models", NULL);
}

/* A meter of the user's own is to teach, unless --source says otherwise. */
static int read_meters(struct engage *e, const struct tw_http_answer *answer,
		       struct tw_err *err)
{
	const char *own;

	tw_engage_meters_release(&e->meters);
	if (tw_engage_meters_read(answer->body, answer->len, &e->meters, err) < 0)
		return tw_err_wrap(err, "'%s'", e->c->url);
	own = tw_engage_meters_own(&e->meters);
	if (e->c->from == NULL && own != NULL &&
	    tw_energy_source_open(own, &e->c->from, err) < 0)
		return -1;
	if (tw_engage_meters_teach(&e->meters, e->c->from))
		return 0;
	return tw_fail(err, TW_NOTFOUND,
		       "the collector '%s' measures no power%s%s: 'tallywatt probe' says "
		       "why; without a meter, 'tallywatt calibrate' makes a model of two "
		       "readings of a wattmeter%s",
		       e->c->url, e->c->from != NULL ? " of --source " : "",
		       e->c->from != NULL ? e->c->from->name : "",
		       e->c->from != NULL
			       ? ""
			       : "; estimated or simulated power needs --source");
}

static int read_collector(struct engage *e, struct tw_err *err)
{
	struct tw_http_answer answer = { 0 };
	struct tw_err why = { 0 };
	struct tw_http_call call = { .timeout_ms = ANSWER_MS };
	const char *url = e->c->url;
	char *health;
	size_t len = strlen(url);
	int rc = -1;

	while (len > 0 && url[len - 1] == '/')
		len--;
	health = tw_must_printf("%.*s/metrics", (int)len, url);
	call.url = health;
	if (tw_http_call(&call, &answer, &why) < 0)
		tw_fail(err, why.code,
			"no tw-collector answers: %s; start one: tw-collector --top 0, "
			"or pass --url",
			why.text);
	else if (answer.status != 200)
		tw_fail(err, TW_INVALID, "'%s' answers %u", health, answer.status);
	else
		rc = read_meters(e, &answer, err);
	tw_http_answer_release(&answer);
	free(health);
	return rc;
}

/*
 * Find the meters before the machine is loaded for minutes. A collector that was just
 * started gets time to answer and to tick.
 */
static int find_collector(struct engage *e, struct tw_err *err)
{
	const uint64_t since_ms = tw_now_ms();

	for (;;) {
		struct tw_err why = { 0 };

		if (read_collector(e, &why) == 0)
			return 0;
		if ((why.code != TW_IO ||
		     !tw_command_wait(since_ms, TW_COMMAND_START_MS)) &&
		    (why.code != TW_NOTFOUND || e->meters.ticks >= TICKS_MIN ||
		     !tw_command_wait(since_ms, TW_COMMAND_POWER_MS)))
			return tw_fail(err, why.code, "%s", why.text);
	}
}

/* Watch the meters, and keep the result as probe.json. */
static int probe(struct engage *e, struct tw_err *err)
{
	const struct config *c = e->c;
	const struct tw_roots roots = { c->proc, c->sys, c->dev, c->powercap };
	const struct tw_probe_config pc = { .roots = &roots,
					    .has_power =
						    tw_engage_meters_measure(&e->meters),
					    .watch_ms = c->phase_ms < PROBE_WATCH_MS
								? (uint32_t)c->phase_ms
								: PROBE_WATCH_MS };
	struct tw_buf b = { 0 };
	int rc;

	if (tw_probe(&pc, &e->probe, err) < 0)
		return -1;
	tw_buf_add_json_pretty(&b, e->probe);
	rc = tw_command_write(&b, e->dir, "probe.json", err);
	tw_buf_clear(&b);
	return rc;
}

/* ---- recording ---- */

/* Let stop signals end the program again: the recording is on disk. */
static void allow_signals(void)
{
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGHUP);
	pthread_sigmask(SIG_UNBLOCK, &stop, NULL);
}

static int record(struct engage *e, struct tw_err *err)
{
	const struct config *c = e->c;
	struct tw_stop stop = { 0 };
	struct tw_engage_record r = {
		.dir = e->dir,
		.response = e->response,
		.workloads = e->workloads,
		.warnings = e->warnings,
		.url = c->url,
		.interval_ms = c->interval_ms,
		.phase_ms = c->phase_ms,
		.stress = c->load != LOAD_OWN && tw_load_has_stress(),
		.cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN),
		.source = c->from,
		.group = c->of,
		.stop = &stop,
		.say = say,
	};
	char line[256];
	int rc;

	snprintf(line, sizeof(line),
		 "%zu phases of %.3g s by %s: %.1f min, then training; after an "
		 "interrupt the same command continues",
		 tw_plan_count(), (double)c->phase_ms / 1e3,
		 r.stress ? "stress-ng" : "own load",
		 (double)tw_plan_count() * (double)c->phase_ms / 6e4);
	say(line);
	if (tw_stop_open(&stop, err) < 0)
		return -1;
	rc = tw_engage_record(&r, &e->runs, err);
	tw_stop_close(&stop);
	allow_signals();
	return rc;
}

/* ---- training ---- */

static int train(struct engage *e, struct tw_err *err)
{
	static char isolator[] = TW_ISOLATOR_DEFAULT;
	const uint64_t start_ns = tw_now_ns();
	struct tw_train_flags f = { .name = e->c->name,
				    .group = e->c->group,
				    .trainers = e->c->trainers,
				    .isolator = isolator,
				    .workloads = e->workloads,
				    .seed = 1 };
	struct tw_train_job job = { 0 };
	struct tw_train_input in = { 0 };
	struct tw_progress_line progress;
	int rc = -1;

	tw_progress_line_start(&progress, "tallywatt engage");
	job.watch = &progress.watch;
	if (tw_strs_adds(&f.input, e->response, err) < 0 ||
	    tw_strs_adds(&f.spec, "here", err) < 0 ||
	    tw_train_flags_job(&f, &job, err) < 0 ||
	    tw_train_flags_read(&f, &job, &in, err) < 0)
		goto out;
	job.source = e->rows.source;
	job.correct_lag = true;
	job.isolation.source = job.source;
	e->times.parse_ns = tw_now_ns() - start_ns;
	if (tw_train(&job, &e->trained, err) < 0)
		goto out;
	e->times.publish_ns = tw_now_ns();
	if (tw_dir_make(e->model_db, err) < 0 ||
	    tw_pipeline_publish(e->model_db, e->c->name, &e->trained.pipeline, err) < 0)
		goto out;
	e->times.publish_ns = tw_now_ns() - e->times.publish_ns;
	e->times.total_ns = tw_now_ns() - start_ns;
	rc = 0;
out:
	tw_train_job_release(&f, &job);
	tw_train_input_release(&in);
	tw_strs_clear(&f.input);
	tw_strs_clear(&f.spec);
	return rc;
}

/* ---- the choice ---- */

/* The request of a client of this machine that has all features of the pipeline. */
static int make_wanted(const struct engage *e, const struct tw_index *x,
		       struct tw_wanted *w, struct tw_err *err)
{
	*w = (struct tw_wanted){ .classes = true,
				 .ensembles = true,
				 .trees = true,
				 .source = e->rows.source,
				 .output = TW_ABS_POWER,
				 .node_type = -1,
				 .loose_node_type = true,
				 .spec = e->spec,
				 .client = TW_CLIENT_CURRENT };
	w->pipeline = tw_must(strdup(e->c->name));
	for (size_t i = 0; i < tw_index_count(x); i++) {
		const struct tw_index_entry *entry = tw_index_at(x, i);

		if (strcmp(entry->pipeline, e->c->name) != 0)
			continue;
		for (size_t k = 0; k < entry->feature_count; k++)
			if (!tw_strs_has(&w->metrics, entry->features[k]) &&
			    tw_strs_adds(&w->metrics, entry->features[k], err) < 0)
				return -1;
	}
	return 0;
}

/* Load the model of this machine and its validation rows. No model is not a failure. */
static int choose(struct engage *e, struct tw_err *err)
{
	struct tw_index *x = NULL;
	struct tw_wanted w = { 0 };
	struct tw_choice choice;
	struct tw_err ignored = { 0 };
	int rc = -1;

	if (tw_index_load(e->model_db, NULL, NULL, &x, err) < 0 ||
	    make_wanted(e, x, &w, err) < 0)
		goto out;
	if (tw_choose(x, &w, &choice, &e->why_none) == 0) {
		if (tw_power_model_load(choice.entry->zip_path, &e->chosen, err) < 0)
			goto out;
		e->validated = tw_validation_load(choice.entry->zip_path, &e->validation,
						  &ignored) == 0;
	}
	rc = 0;
out:
	tw_wanted_release(&w);
	tw_index_unref(x);
	return rc;
}

/* ---- the report ---- */

static int report(struct engage *e, struct tw_err *err)
{
	struct tw_engage_report r = { .dir = e->dir,
				      .spec = &e->spec,
				      .probe = e->probe,
				      .meters = &e->meters,
				      .rows = &e->rows,
				      .runs = &e->runs,
				      .trained = &e->trained,
				      .model_db = e->model_db,
				      .pipeline = e->c->name,
				      .chosen = e->chosen,
				      .validation = e->validated ? &e->validation : NULL,
				      .why_none = e->why_none.text };
	char *warnings = NULL;
	size_t len;
	int rc;

	if (tw_file_read(e->warnings, WARNINGS_MAX, &warnings, &len, err) < 0)
		return -1;
	r.warnings = warnings;
	rc = tw_engage_report_write(&r, err);
	free(warnings);
	return rc;
}

static void print(const struct engage *e)
{
	struct tw_buf b = { 0 };

	tw_train_result_report(&e->trained, &e->times, &b);
	tw_engage_summary(&e->rows, &e->runs, &b);
	if (e->chosen != NULL) {
		const struct tw_model_info *i = tw_power_model_info(e->chosen);

		tw_buf_addf(&b, "\nmodel: %s/%s/%s/%s/%s, error %.3f W\n", e->c->name,
			    i->source->name, tw_output_name(i->output), i->group->name,
			    i->name, i->mae_w);
	} else {
		tw_buf_addf(&b, "\nno model serves this machine: %s\n", e->why_none.text);
	}
	tw_buf_addf(&b, "model database: %s\nreport: %s/report.html\n", e->model_db,
		    e->dir);
	tw_command_print(&b);
}

static void release(struct engage *e)
{
	free(e->dir);
	free(e->model_db);
	free(e->response);
	free(e->workloads);
	free(e->warnings);
	if (e->lock >= 0)
		close(e->lock);
	json_decref(e->probe);
	tw_engage_meters_release(&e->meters);
	tw_workload_runs_release(&e->runs);
	tw_engage_rows_release(&e->rows);
	tw_train_result_release(&e->trained);
	tw_power_model_free(e->chosen);
	tw_dataset_release(&e->validation);
}

/* Judge the attribution of the collector. */
static int judge(struct engage *e, struct tw_err *err)
{
	struct tw_stop stop = { 0 };
	struct tw_shares shares;
	struct tw_buf b = { 0 };
	const struct tw_engage_shares s = {
		.url = e->c->url,
		.phase_ms = e->c->phase_ms,
		.works = e->c->works,
		.cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN),
		.stop = &stop,
		.say = say,
	};
	char line[128];
	int rc;

	snprintf(line, sizeof(line), "%u runs of %.3g s; nothing else should run",
		 (1U << s.works) + 1, (double)s.phase_ms / 1e3);
	say(line);
	if (tw_http_init(err) < 0 || find_collector(e, err) < 0 ||
	    tw_stop_open(&stop, err) < 0)
		return -1;
	rc = tw_engage_shares_run(&s, &shares, err);
	tw_stop_close(&stop);
	/* The rule is read after the runs: the collector learns during them. */
	if (rc < 0 || read_collector(e, err) < 0)
		return -1;
	shares.rule = e->meters.rule;
	tw_shares_report(&shares, &b);
	tw_command_print(&b);
	return 0;
}

static int engage(void *config, struct tw_err *err)
{
	struct engage e = { .c = config, .lock = -1 };
	struct tw_err ignored = { 0 };
	int rc = -1;

	if (e.c->attribution) {
		rc = judge(&e, err);
		goto out;
	}
	if (tw_http_init(err) < 0 || find_collector(&e, err) < 0 ||
	    open_dir(&e, err) < 0 ||
	    tw_machine_spec_discover("/proc", "/sys", &e.spec, err) < 0 ||
	    probe(&e, err) < 0 || record(&e, err) < 0)
		goto out;
	if (tw_engage_rows_read(e.response, e.c->from, e.c->of, &e.rows, err) < 0)
		goto out;
	/* The meters as they are now: at the start some had no power yet. */
	(void)read_collector(&e, &ignored);
	say("training");
	if (train(&e, err) < 0 || choose(&e, err) < 0 || report(&e, err) < 0)
		goto out;
	print(&e);
	rc = 0;
out:
	release(&e);
	return rc;
}

const struct tw_command tw_command_engage = {
	.opts = TW_COMMAND_OPTS(
		"engage", NULL,
		"Teach a power model of this machine: workloads, recording, training."),
	.config_size = sizeof(struct config),
	.check = check_use,
	.work = engage,
};
