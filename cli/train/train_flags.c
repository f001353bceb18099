/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/train/train_flags.h"

#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "cli/train/train_input.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/zip/zip.h"
#include "model-db/pipeline.h"
#include "model-db/publish.h"
#include "profiler/name.h"
#include "trainer/fit/trainer.h"
#include "trainer/names.h"
#include "trainer/train_result.h"
#include "trainer/train_until.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW(kind, flag, field, what, line) \
	TW_OPT_ROW(struct tw_train_flags, kind, flag, field, what, line)

/* Data and machines; a plan has them in another form. */
#define INPUT_ROWS                                                                       \
	{ ROW(LIST, "input", input, "FILES",                                             \
	      "Prometheus responses to train from: [MACHINE=]FILE, or a URL") },         \
		{ ROW(LIST, "csv", csv, "FILES", "or extracted tables: [GROUP=]FILE") }, \
		{ ROW(LIST, "spec", spec, "FILE|here",                                   \
		      "spec of the machine (tallywatt spec), or here: this machine; of " \
		      "several: MACHINE=FILE") },                                        \
		{ ROW(TEXT, "vendor", vendor, "NAME", "vendor of the machine's CPUs") }, \
		{ ROW(TEXT, "processor", processor, "NAME",                              \
		      "model of the machine's CPUs") },                                  \
		{ ROW(U32, "cores", cores, "N", "logical CPUs of the machine"),          \
		  .fallback = "0", .max = 65536 },                                       \
		{ ROW(U32, "chips", chips, "N", "CPU packages of the machine"),          \
		  .fallback = "0", .max = 1024 },                                        \
		{ ROW(U32, "memory", memory, "N", "memory of the machine, GiB"),         \
		  .fallback = "0", .max = 1u << 24 },                                    \
		{ ROW(U32, "frequency", frequency, "N",                                  \
		      "frequency of the machine, MHz"),                                  \
		  .fallback = "0", .max = 100000 },                                      \
		{ ROW(U32, "threads-per-core", threads_per_core, "N",                    \
		      "threads of a core"),                                              \
		  .fallback = "0", .max = 64 },                                          \
		{ ROW(TEXT, "cache", cache, "DIR",                                       \
		      "directory for downloads of inputs (default: "                     \
		      "$XDG_CACHE_HOME/tallywatt)") },                                   \
		TW_CREDENTIALS_OPTS(struct tw_train_flags, NULL)

/* The options that models depend on, beside the data: a plan stores them. */
#define JOB_ROWS                                                                         \
	{ ROW(TEXT, "name", name, "NAME", "name of the pipeline") },                     \
		{ ROW(TEXT, "source", source, "SOURCE",                                  \
		      "energy source (default: all of the response)") },                 \
		{ ROW(TEXT, "group", group, "GROUP",                                     \
		      "feature group (default: all of the response)") },                 \
		{ ROW(LIST, "thirdparty-metrics", names, "NAMES",                        \
		      "metrics to use as features, in addition to the group's, or "      \
		      "alone") },                                                        \
		{ ROW(TEXT, "trainers", trainers, "NAMES",                               \
		      "comma-separated trainers (default: all but AutoTrainer)") },      \
		{ ROW(TEXT, "abs-trainers", abs_trainers, "NAMES",                       \
		      "trainers of AbsPower models, instead of --trainers") },           \
		{ ROW(TEXT, "dyn-trainers", dyn_trainers, "NAMES",                       \
		      "trainers of DynPower models, instead of --trainers") },           \
		{ ROW(TEXT, "isolator", isolator, "NAME",                                \
		      "isolator of DynPower models"),                                    \
		  .fallback = TW_ISOLATOR_DEFAULT },                                     \
		TW_ISOLATION_OPTS(struct tw_train_flags),                                \
		{ ROW(TEXT, "model-db", model_db, "DIR",                                 \
		      "publish to this model database"),                                 \
		  .env = "TW_MODEL_DB" },                                                \
		{ ROW(BOOL, "replace", replace, NULL,                                    \
		      "replace the pipeline instead of adding to it") },                 \
		{ ROW(TEXT, "origin", origin, "TEXT",                                    \
		      "origin of the data (default: the file's name)") },                \
		{ ROW(TEXT, "machine", machine, "NAME",                                  \
		      "only this machine (default: all, each a node type); with --csv: " \
		      "its machine") },                                                  \
		{ ROW(U32, "seed", seed, "N",                                            \
		      "seed of random choices; same data and seed give the same "        \
		      "models"),                                                         \
		  .fallback = "1", .max = UINT32_MAX },                                  \
		{ ROW(U32, "folds", folds, "N",                                          \
		      "number of blocks of time to validate on; 0: 5"),                  \
		  .fallback = "0", .max = 100 },                                         \
		{ ROW(TEXT, "workloads", workloads, "FILE|inputs",                       \
		      "validate also with workloads left out: those of a table, or "     \
		      "each input") },                                                   \
		{ ROW(BOOL, "shuffled", shuffled, NULL,                                  \
		      "also report the errors of shuffled rows, for comparison") },      \
		{ ROW(BOOL, "unconstrained", unconstrained, NULL,                        \
		      "fit as kepler-model-server does, for comparison") },              \
		TW_OPTS_EXTRACTOR(struct tw_train_flags, extractor, window),             \
		TW_OPTS_SERIES(struct tw_train_flags, resets, vm_metrics, gauges,        \
			       correct_lag)

static const struct tw_opt options[] = {
	INPUT_ROWS,
	JOB_ROWS,
	{ ROW(TEXT, "output", output, "FILE", "write the pipeline as a zip") },
	TW_OPTS_SIGN(struct tw_train_flags),
	{ ROW(U32, "threads", threads, "N", "number of threads; 0: one for each CPU"),
	  .fallback = "0", .max = 1024 },
	{ ROW(TEXT, "keep-until", keep_until, "mae:W,mape:%",
	      "train on growing prefixes of the data until this accuracy") },
#if TW_FLEET
	{ ROW(TEXT, "plan", plan, "FILE",
	      "train units of this plan (tallywatt plan), which has the other options") },
	{ ROW(TEXT, "units", units, "I/N|FILE",
	      "units of the plan: the I-th of N shards, or those of a file, one a "
	      "line") },
	{ ROW(TEXT, "parts", parts, "DIR",
	      "directory for the results of the units, for tallywatt merge") },
#endif
	{ ROW(BOOL, "json", json, NULL, "print the models as JSON") },
	{ ROW(TEXT, "url", url, "URL",
	      "train at this tw-trainer instead, and show the progress") },
};

const struct tw_opts tw_train_opts = {
	.program = "tallywatt train",
	.summary = "Train a pipeline of power models.",
	TW_OPTS_TABLE(options),
};

#if TW_FLEET
static const struct tw_opt plan_options[] = {
	INPUT_ROWS,
	JOB_ROWS,
	{ ROW(TEXT, "output", output, "FILE", "write the plan to this file") },
	{ ROW(BOOL, "json", json, NULL, "print JSON") },
};

const struct tw_opts tw_plan_opts = {
	.program = "tallywatt plan",
	.summary = "Divide a training into units that several workers train.",
	TW_OPTS_TABLE(plan_options),
};

static const struct tw_opt job_options[] = { JOB_ROWS };

const struct tw_opts tw_train_job_opts = {
	.program = "plan",
	TW_OPTS_TABLE(job_options),
};
#endif

/* ---- what to do ---- */

/* The trainers of an output type: its own option, else --trainers, else all. */
static int list_trainers(const char *own, const char *both, struct tw_strs *out,
			 struct tw_err *err)
{
	if (own != NULL || both != NULL)
		return tw_strs_split(out, own != NULL ? own : both, err);
	for (size_t i = 0; i < tw_trainer_count(); i++)
		if (!tw_trainer_at(i)->slow &&
		    tw_strs_adds(out, tw_trainer_at(i)->name, err) < 0)
			return -1;
	return 0;
}

static int set_text(char out[TW_SPEC_TEXT], const char *flag, const char *text,
		    struct tw_err *err)
{
	if (text == NULL)
		return 0;
	if (strlen(text) >= TW_SPEC_TEXT)
		return tw_fail(err, TW_INVALID, "--%s: longer than %d bytes", flag,
			       TW_SPEC_TEXT - 1);
	strcpy(out, text);
	return 0;
}

static void set_figure(uint32_t *out, uint32_t given)
{
	if (given != 0)
		*out = given;
}

/* Flags override --spec. */
static int set_spec(const struct tw_train_flags *f, struct tw_machine_spec *s,
		    struct tw_err *err)
{
	set_figure(&s->cores, f->cores);
	set_figure(&s->chips, f->chips);
	set_figure(&s->memory_gib, f->memory);
	set_figure(&s->frequency_mhz, f->frequency);
	set_figure(&s->threads_per_core, f->threads_per_core);
	if (set_text(s->vendor, "vendor", f->vendor, err) < 0)
		return -1;
	if (set_text(s->processor, "processor", f->processor, err) < 0)
		return -1;
	tw_processor_drop_cores(s->processor);
	return 0;
}

struct tw_input_cache tw_train_flags_cache(const struct tw_train_flags *f)
{
	return (struct tw_input_cache){ .dir = f->cache, .web = &f->web };
}

int tw_train_flags_check_input(struct tw_train_flags *f, struct tw_err *err)
{
	if (tw_input_query_chunk(&f->input, err) < 0)
		return tw_err_wrap(err, "--input");
	if ((f->input.count == 0) == (f->csv.count == 0))
		return tw_fail(err, TW_INVALID, "want one of --input and --csv");
	if (f->name == NULL)
		return tw_fail(err, TW_INVALID, "--name is missing");
	if (f->csv.count > 0 && f->source == NULL)
		return tw_fail(err, TW_INVALID, "--csv needs --source");
	if (f->csv.count > 0 && f->correct_lag)
		return tw_fail(
			err, TW_INVALID,
			"--correct-lag needs --input; a table is corrected when it is "
			"extracted");
	return 0;
}

int tw_train_flags_job(struct tw_train_flags *f, struct tw_train_job *job,
		       struct tw_err *err)
{
	if (tw_pipeline_name_check(f->name, strlen(f->name), err) < 0)
		return -1;
	if (f->folds == 1)
		return tw_fail(err, TW_INVALID,
			       "--folds: 1 leaves no rows to train on, want 2 or more");
	job->name = f->name;
	job->origin = f->origin;
	job->smooth = f->extractor > 0 ? f->window : 0;
	job->seed = f->seed;
	job->threads = f->threads;
	job->folds = f->folds;
	job->resets = (enum tw_resets)f->resets;
	job->vm_metrics = f->vm_metrics;
	job->correct_lag = f->correct_lag;
	job->machine = f->machine;
	job->shuffled = f->shuffled;
	job->unconstrained = f->unconstrained;
	job->by_response = f->workloads != NULL && strcmp(f->workloads, "inputs") == 0;
	if (f->source != NULL && tw_names_source(f->source, &job->source, err) < 0)
		return -1;
	if (f->group != NULL && tw_names_group(f->group, &job->group, err) < 0)
		return -1;
	if (tw_thirdparty_init(&f->thirdparty, &f->names, err) < 0)
		return tw_err_wrap(err, "--thirdparty-metrics");
	if (tw_thirdparty_declare(&f->thirdparty, &f->gauges, err) < 0)
		return tw_err_wrap(err, "--gauges");
	job->thirdparty = &f->thirdparty;
	job->group = tw_thirdparty_group(job->thirdparty, job->group);
	job->isolation.abs_pipeline =
		f->isolation.abs_pipeline != NULL ? f->isolation.abs_pipeline : f->name;
	job->isolation.source = job->source;
	if (tw_names_isolator(f->isolator, &job->isolator, err) < 0 ||
	    set_spec(f, &job->spec, err) < 0)
		return -1;
	if (list_trainers(f->abs_trainers, f->trainers, &job->abs_trainers, err) < 0 ||
	    list_trainers(f->dyn_trainers, f->trainers, &job->dyn_trainers, err) < 0)
		return -1;
	if (job->abs_trainers.count == 0 && job->dyn_trainers.count == 0)
		return tw_fail(err, TW_INVALID, "--trainers: expected at least one name");
	if (tw_names_trainers(&job->abs_trainers, "abs_trainers", err) < 0)
		return -1;
	return tw_names_trainers(&job->dyn_trainers, "dyn_trainers", err);
}

int tw_train_flags_until(const struct tw_train_flags *f, struct tw_until *out,
			 bool *wanted, struct tw_err *err)
{
	*wanted = f->keep_until != NULL;
	if (*wanted && tw_until_parse(f->keep_until, out, err) < 0)
		return tw_err_wrap(err, "--keep-until");
	return 0;
}

/* ---- the data ---- */

static int read_tables(const struct tw_train_flags *f, const struct tw_train_job *job,
		       struct tw_train_input *in, struct tw_err *err)
{
	struct tw_buf warnings = { 0 };
	int rc = -1;

	if (tw_train_input_csv(in, &f->csv, job->source, job->group, &warnings, NULL,
			       NULL, err) < 0)
		goto out;
	tw_command_warn(&warnings);

	rc = 0;
out:
	tw_buf_clear(&warnings);
	return rc;
}

/* The isolator's inputs; its pipeline and source are those of the job. */
static int read_isolation(const struct tw_train_flags *f, struct tw_train_job *job,
			  struct tw_isolation_input *in, struct tw_err *err)
{
	if (tw_isolation_read(&f->isolation, f->model_db, in, err) < 0)
		return -1;
	in->config.abs_pipeline = job->isolation.abs_pipeline;
	in->config.source = job->source;
	job->isolation = in->config;
	return 0;
}

int tw_train_flags_read_options(const struct tw_train_flags *f, struct tw_train_job *job,
				struct tw_train_input *in, struct tw_err *err)
{
	in->thirdparty = job->thirdparty;
	job->known = &in->known;
	if (f->model_db != NULL && !f->replace && job->planned == NULL &&
	    tw_pipeline_known(f->model_db, f->name, &in->known, err) < 0)
		return -1;
	if (read_isolation(f, job, &in->isolation, err) < 0)
		return -1;
	if (f->workloads != NULL && !job->by_response) {
		if (tw_workload_runs_load(f->workloads, &in->workloads, err) < 0)
			return -1;
		job->workloads = &in->workloads;
	}
	if (tw_train_input_specs(in, &f->spec, &job->spec, err) < 0 ||
	    set_spec(f, &job->spec, err) < 0)
		return -1;
	job->specs = in->spec;
	job->spec_count = in->specs;
	return 0;
}

int tw_train_flags_read(const struct tw_train_flags *f, struct tw_train_job *job,
			struct tw_train_input *in, struct tw_err *err)
{
	if (tw_train_flags_read_options(f, job, in, err) < 0)
		return -1;
	if (f->csv.count > 0) {
		if (read_tables(f, job, in, err) < 0)
			return -1;
	} else if (tw_train_input_responses(in, &f->input, err) < 0) {
		return -1;
	}
	job->responses = in->response;
	job->response_count = in->responses;
	job->tables = in->table;
	job->table_count = in->tables;
	return 0;
}

void tw_train_job_release(struct tw_train_flags *f, struct tw_train_job *job)
{
	tw_strs_clear(&job->abs_trainers);
	tw_strs_clear(&job->dyn_trainers);
	tw_thirdparty_release(&f->thirdparty);
}

/* ---- progress ---- */

/* Until the first line, and between lines. */
#define PATIENCE_NS UINT64_C(5000000000)
#define BETWEEN_NS UINT64_C(2000000000)

static void show_progress(void *arg, const struct tw_train_progress *at)
{
	struct tw_progress_line *p = arg;
	const uint64_t now_ns = tw_now_ns();
	uint64_t next_ns = p->next_ns;

	if (at->of == 0 || now_ns < next_ns ||
	    !atomic_compare_exchange_strong(&p->next_ns, &next_ns, now_ns + BETWEEN_NS))
		return;
	fprintf(stderr, "%s: %zu of %zu fits, %.0f s\n", p->program, at->fits, at->of,
		(double)(now_ns - p->start_ns) / 1e9);
}

void tw_progress_line_start(struct tw_progress_line *p, const char *program)
{
	p->watch = (struct tw_train_watch){ .progress = show_progress, .arg = p };
	p->program = program;
	p->start_ns = tw_now_ns();
	p->next_ns = p->start_ns + PATIENCE_NS;
}

/* ---- the destination ---- */

static int publish_to_db(const struct tw_train_flags *f, const struct tw_signer *signer,
			 struct tw_train_result *r, struct tw_err *err)
{
	const struct tw_publish_terms terms = { .signer = signer };

	if (f->model_db == NULL)
		return 0;
	return f->replace ? tw_pipeline_publish_with(f->model_db, f->name, &r->pipeline,
						     &terms, err)
			  : tw_pipeline_update(f->model_db, f->name, &r->pipeline, signer,
					       err);
}

int tw_train_publish(const struct tw_train_flags *f, const char *program,
		     const struct tw_signer *signer, struct tw_train_result *r,
		     struct tw_err *err)
{
	const char *output = f->output;
	char here[NAME_MAX], *zip = NULL;
	size_t len;
	int rc = -1;

	if (f->model_db == NULL && output == NULL) {
		snprintf(here, sizeof(here), "%.200s.zip", f->name);
		output = here;
		fprintf(stderr,
			"%s: without --model-db and --output, the pipeline is kept in "
			"./%s alone\n",
			program, here);
	}
	if (publish_to_db(f, signer, r, err) < 0)
		goto out;
	if (output != NULL && (tw_zip_write(&r->pipeline, &zip, &len, err) < 0 ||
			       tw_file_replace(output, zip, len, err) < 0))
		goto out;
	rc = 0;
out:
	free(zip);
	return rc;
}
