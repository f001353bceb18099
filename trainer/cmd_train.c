/* SPDX-License-Identifier: Apache-2.0 */
#include "isolator/isolator.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/file.h"
#include "lib/json.h"
#include "lib/opt.h"
#include "lib/zip.h"
#include "model-db/pipeline.h"
#include "profiler/discover.h"
#include "trainer/command.h"
#include "trainer/names.h"
#include "trainer/prom.h"
#include "trainer/train.h"
#include "trainer/train_input.h"
#include "trainer/train_report.h"

#include <gsl/gsl_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SPEC_MAX 65536

struct config {
	char *input, *csv, *name, *source, *group, *origin, *isolator;
	char *trainers, *abs_trainers, *dyn_trainers;
	char *model_db, *output, *spec, *processor, *vendor, *machine;
	uint32_t cores, chips, memory, frequency, threads_per_core;
	uint32_t threads, seed, folds;
	unsigned resets;
	bool vm_metrics;
};

#define TEXT(flag, field, what, line)                                               \
	{                                                                           \
		.name = flag, .type = TW_OPT_TEXT,                                  \
		.offset = offsetof(struct config, field), .arg = what, .help = line \
	}
#define NUMBER(flag, field, preset, most, line)                               \
	{                                                                     \
		.name = flag, .type = TW_OPT_U32,                             \
		.offset = offsetof(struct config, field), .fallback = preset, \
		.arg = "N", .help = line, .max = most                         \
	}

static const struct tw_opt options[] = {
	TEXT("input", input, "FILE", "Prometheus response to train from"),
	TEXT("csv", csv, "FILES",
	     "or extracted tables: [GROUP=]FILE, separated by commas"),
	TEXT("name", name, "NAME", "of the pipeline"),
	TEXT("source", source, "SOURCE",
	     "energy source; else each that the response has"),
	TEXT("group", group, "GROUP", "feature group; else each that the response has"),
	TEXT("trainers", trainers, "NAMES", "separated by commas; else all"),
	TEXT("abs-trainers", abs_trainers, "NAMES",
	     "for AbsPower, instead of --trainers"),
	TEXT("dyn-trainers", dyn_trainers, "NAMES",
	     "for DynPower, instead of --trainers"),
	{ .name = "isolator",
	  .type = TW_OPT_TEXT,
	  .fallback = TW_ISOLATOR_DEFAULT,
	  .offset = offsetof(struct config, isolator),
	  .arg = "NAME",
	  .help = "what tells the workloads' power from the rest" },
	{ .name = "model-db",
	  .env = "TW_MODEL_DB",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, model_db),
	  .arg = "DIR",
	  .help = "publish in this model database" },
	TEXT("output", output, "FILE", "write the pipeline as a zip"),
	TEXT("origin", origin, "TEXT", "where the data is from; else the file's name"),
	TEXT("machine", machine, "NAME",
	     "only this machine of the response; else each, a node type of its own"),
	TEXT("spec", spec, "FILE|here",
	     "machine that was measured: as tallywatt spec prints it, or this one"),
	TEXT("vendor", vendor, "NAME", "of the CPUs of the machine that was measured"),
	TEXT("processor", processor, "NAME", "their model"),
	NUMBER("cores", cores, "0", 65536, "its logical CPUs"),
	NUMBER("chips", chips, "0", 1024, "its CPU packages"),
	NUMBER("memory", memory, "0", 1u << 24, "its memory, GiB"),
	NUMBER("frequency", frequency, "0", 100000, "its frequency, MHz"),
	NUMBER("threads-per-core", threads_per_core, "0", 64, "its threads a core"),
	NUMBER("threads", threads, "0", 1024, "threads to train on; 0: one a CPU"),
	NUMBER("seed", seed, "1", UINT32_MAX, "same data, same seed: same models"),
	NUMBER("folds", folds, "0", 100, "blocks of time to validate on; 0: 5"),
	{ .name = "resets",
	  .type = TW_OPT_CHOICE,
	  .offset = offsetof(struct config, resets),
	  .fallback = "refuse",
	  .arg = "HOW",
	  .choices = tw_resets_names,
	  .help = "where a counter falls: refuse the data, or carry the rate on" },
	{ .name = "vm-metrics",
	  .type = TW_OPT_BOOL,
	  .offset = offsetof(struct config, vm_metrics),
	  .help = "take the series of job \"vm\"" },
};

static const struct tw_opts opts = {
	.program = "tallywatt train",
	.summary = "Train a pipeline of power models.",
	.opt = options,
	.count = sizeof(options) / sizeof(options[0]),
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- what to do ---- */

/* The names given for an output type: its own, else those for both, else all. */
static int list_trainers(const char *own, const char *both, struct tw_strs *out,
			 struct tw_err *err)
{
	if (own != NULL || both != NULL)
		return tw_strs_split(out, own != NULL ? own : both, err);
	for (size_t i = 0; i < tw_trainer_count(); i++)
		if (tw_strs_adds(out, tw_trainer_at(i)->name, err) < 0)
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

/* What the flags say goes before what --spec says. */
static int set_spec(const struct config *c, struct tw_machine_spec *s, struct tw_err *err)
{
	set_figure(&s->cores, c->cores);
	set_figure(&s->chips, c->chips);
	set_figure(&s->memory_gib, c->memory);
	set_figure(&s->frequency_mhz, c->frequency);
	set_figure(&s->threads_per_core, c->threads_per_core);
	if (set_text(s->vendor, "vendor", c->vendor, err) < 0)
		return -1;
	return set_text(s->processor, "processor", c->processor, err);
}

/* The last part of a path. */
static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* What is wrong here is wrong use. job's lists are the caller's to clear. */
static int make_job(const struct config *c, struct tw_train_job *job, struct tw_err *err)
{
	if ((c->input == NULL) == (c->csv == NULL))
		return tw_fail(err, TW_INVALID, "want one of --input and --csv");
	if (c->machine != NULL && c->input == NULL)
		return tw_fail(err, TW_INVALID, "--machine needs --input");
	if (c->name == NULL)
		return tw_fail(err, TW_INVALID, "--name is missing");
	if (c->csv != NULL && c->source == NULL)
		return tw_fail(err, TW_INVALID, "--csv needs --source");
	if (tw_name_check("pipeline name", c->name, strlen(c->name), err) < 0)
		return -1;
	if (c->folds == 1)
		return tw_fail(err, TW_INVALID,
			       "--folds: 1 leaves no rows to train on, want 2 or more");
	job->name = c->name;
	job->origin =
		c->origin != NULL ? c->origin : base_name(c->input ? c->input : c->csv);
	job->seed = c->seed;
	job->threads = c->threads;
	job->folds = c->folds;
	job->resets = (enum tw_resets)c->resets;
	job->vm_metrics = c->vm_metrics;
	job->machine = c->machine;
	if (c->source != NULL && tw_names_source(c->source, &job->source, err) < 0)
		return -1;
	if (c->group != NULL && tw_names_group(c->group, &job->group, err) < 0)
		return -1;
	if (tw_names_isolator(c->isolator, &job->isolator, err) < 0 ||
	    set_spec(c, &job->spec, err) < 0)
		return -1;
	if (list_trainers(c->abs_trainers, c->trainers, &job->abs_trainers, err) < 0 ||
	    list_trainers(c->dyn_trainers, c->trainers, &job->dyn_trainers, err) < 0)
		return -1;
	if (job->abs_trainers.count == 0 && job->dyn_trainers.count == 0)
		return tw_fail(err, TW_INVALID, "--trainers names none");
	if (tw_names_trainers(&job->abs_trainers, "abs_trainers", err) < 0)
		return -1;
	return tw_names_trainers(&job->dyn_trainers, "dyn_trainers", err);
}

/* ---- doing it ---- */

/* Of the data's machine, which this one need not be: nothing is assumed. */
static int read_spec(const char *from, struct tw_machine_spec *out, struct tw_err *err)
{
	json_t *obj = NULL;
	char *data = NULL;
	size_t len;
	int rc = -1;

	if (strcmp(from, "here") == 0)
		return tw_machine_spec_discover("/proc", "/sys", out, err);
	if (tw_file_read(from, SPEC_MAX, &data, &len, err) < 0)
		goto out;
	if (tw_json_parse(data, len, from, &obj, err) < 0)
		goto out;
	if (tw_machine_spec_from_json(obj, from, out, err) < 0)
		goto out;

	rc = 0;
out:
	json_decref(obj);
	free(data);
	return rc;
}

static int read_tables(const struct config *c, const struct tw_train_job *job,
		       struct tw_train_input *in, struct tw_err *err)
{
	struct tw_strs files = { 0 };
	struct tw_buf warnings = { 0 };
	int rc = -1;

	if (tw_strs_split(&files, c->csv, err) < 0)
		goto out;
	if (files.count == 0) {
		tw_fail(err, TW_INVALID, "--csv names no file");
		goto out;
	}
	if (tw_train_input_csv(in, &files, job->source, job->group, &warnings, err) < 0)
		goto out;
	if (warnings.len > 0)
		fprintf(stderr, "%s", warnings.data);

	rc = 0;
out:
	tw_buf_clear(&warnings);
	tw_strs_clear(&files);
	return rc;
}

static int read_input(const struct config *c, struct tw_train_job *job,
		      struct tw_train_input *in, struct tw_err *err)
{
	if (c->csv != NULL) {
		if (read_tables(c, job, in, err) < 0)
			return -1;
	} else if (tw_prom_read(c->input, &in->response, err) < 0) {
		return -1;
	}
	job->response = in->response;
	job->tables = in->table;
	job->table_count = in->tables;
	return 0;
}

static int publish(const struct config *c, const struct tw_train_result *r,
		   struct tw_err *err)
{
	char *zip = NULL;
	size_t len;
	int rc = -1;

	if (c->output != NULL) {
		if (tw_zip_write(&r->pipeline, &zip, &len, err) < 0 ||
		    tw_file_replace(c->output, zip, len, err) < 0)
			goto out;
	}
	if (c->model_db != NULL &&
	    tw_pipeline_publish(c->model_db, c->name, &r->pipeline, err) < 0)
		goto out;

	rc = 0;
out:
	free(zip);
	return rc;
}

static int print_report(const struct tw_train_result *r, const struct tw_train_times *t,
			struct tw_err *err)
{
	struct tw_buf report = { 0 };
	int rc = -1;

	tw_train_report(r, t, &report);
	if (tw_buf_failed(&report))
		tw_fail(err, TW_NOMEM, "report");
	else if (fwrite(report.data, 1, report.len, stdout) != report.len ||
		 fflush(stdout) != 0)
		tw_fail(err, TW_IO, "cannot write to stdout");
	else
		rc = 0;
	tw_buf_clear(&report);
	return rc;
}

static int train(const struct config *c, struct tw_train_job *job, struct tw_err *err)
{
	struct tw_train_result result = { 0 };
	struct tw_train_input in = { 0 };
	struct tw_train_times times = { 0 };
	const uint64_t start = now_ns();
	uint64_t before;
	int rc = -1;

	if (c->spec != NULL &&
	    (read_spec(c->spec, &job->spec, err) < 0 || set_spec(c, &job->spec, err) < 0))
		goto out;
	if (read_input(c, job, &in, err) < 0)
		goto out;
	times.parse_ns = now_ns() - start;
	if (tw_train(job, &result, err) < 0)
		goto out;
	before = now_ns();
	if (publish(c, &result, err) < 0)
		goto out;
	times.publish_ns = now_ns() - before;
	times.total_ns = now_ns() - start;
	if (print_report(&result, &times, err) < 0)
		goto out;

	rc = 0;
out:
	tw_train_result_release(&result);
	tw_train_input_release(&in);
	return rc;
}

static int run(int argc, char **argv)
{
	struct config c = { 0 };
	struct tw_train_job job = { 0 };
	enum tw_opts_action action;
	struct tw_err err = { 0 };
	int rest, status = TW_EXIT_USAGE;

	/* GSL's default handler aborts the process. */
	gsl_set_error_handler_off();

	if (tw_opts_parse(&opts, argc, argv, &c, &action, &rest, &err) < 0)
		goto out;
	status = TW_EXIT_OK;
	if (action == TW_OPTS_EXIT)
		goto out;
	status = TW_EXIT_USAGE;
	if (make_job(&c, &job, &err) < 0)
		goto out;
	status = train(&c, &job, &err) < 0 ? TW_EXIT_FAILED : TW_EXIT_OK;
out:
	if (status != TW_EXIT_OK)
		fprintf(stderr, "tallywatt train: %s\n", err.text);
	tw_strs_clear(&job.abs_trainers);
	tw_strs_clear(&job.dyn_trainers);
	tw_opts_release(&opts, &c);
	return status;
}

const struct tw_command tw_command_train = {
	.name = "train",
	.summary = "train a pipeline of power models",
	.run = run,
};
