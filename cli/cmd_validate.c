/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_isolation.h"
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "cli/evaluate.h"
#include "estimator/predict/power_model.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/writer.h"
#include "trainer/response/prom_store.h"
#include "trainer/fit/workload_runs.h"
#include "trainer/names.h"

#include <stdio.h>

struct config {
	struct tw_strs models, gauges;
	char *input, *machine, *isolator, *workloads, *model_db;
	struct tw_isolation_texts isolation;
	unsigned resets;
	bool vm_metrics, correct_lag, json;
	bool reported; /* the quality of the recording is printed */
	struct tw_evaluation judge;
};

static const struct tw_opt options[] = {
	{ TW_ROW(LIST, "model", models, "DIR|ZIP,..", "models to evaluate"),
	  .required = true },
	{ TW_ROW(TEXT, "input", input, "FILE",
		 "Prometheus response or table (CSV) to evaluate on"),
	  .required = true },
	{ TW_ROW(TEXT, "machine", machine, "NAME",
		 "machine to use, if the response has several") },
	{ TW_ROW(TEXT, "isolator", isolator, "NAME",
		 "isolator of DynPower models (default: the isolator of the model's "
		 "training)") },
	TW_ISOLATION_OPTS(struct config),
	{ TW_ROW(TEXT, "model-db", model_db, "DIR", "model database of --abs-pipeline") },
	{ TW_ROW(TEXT, "workloads", workloads, "FILE",
		 "evaluate also by workload: CSV with workload, start, end") },
	TW_ROW_JSON,
	TW_OPTS_SERIES(struct config, resets, vm_metrics, gauges, correct_lag),
};

static int check_use(void *config, struct tw_err *err)
{
	struct config *c = config;
	struct tw_evaluation *j = &c->judge;

	j->machine = c->machine;
	j->resets = (enum tw_resets)c->resets;
	j->vm_metrics = c->vm_metrics;
	j->correct_lag = c->correct_lag;
	if (c->isolator != NULL)
		return tw_names_isolator(c->isolator, &j->isolator, err);
	return 0;
}

/* Print the quality of the recording, once: models differ in the group only. */
static void tell_quality(struct config *c, const struct tw_quality *q)
{
	struct tw_buf text = { 0 };

	if (c->reported || q->rows == 0)
		return;
	c->reported = true;
	tw_quality_to_text(q, &text);
	tw_command_warn(&text);
	tw_buf_clear(&text);
}

static int judge_one(struct config *c, const struct tw_evaluation *j, const char *path,
		     struct tw_buf *out, struct tw_err *err)
{
	struct tw_power_model *p = NULL;
	struct tw_evaluated judged = { 0 };
	int rc = -1;

	if (tw_power_model_load(path, &p, err) < 0)
		goto out;
	if (tw_evaluate_model(j, p, &judged, err) < 0) {
		tw_err_wrap(err, "'%.80s'", path);
		goto out;
	}
	tell_quality(c, &judged.quality);
	if (c->json)
		tw_evaluated_add_json(&judged, path, c->input, out);
	else
		tw_evaluated_to_text(&judged, path, out);

	rc = 0;
out:
	tw_evaluated_release(&judged);
	tw_power_model_free(p);
	return rc;
}

/* A model that fails does not stop the others. */
static int judge(void *config, struct tw_err *err)
{
	struct config *c = config;
	struct tw_evaluation *j = &c->judge;
	struct tw_isolation_input isolation = { 0 };
	struct tw_buf out = { 0 };
	int rc = -1;

	if (tw_evaluation_read(j, c->input, &c->models, err) < 0 ||
	    tw_isolation_read(&c->isolation, c->model_db, &isolation, err) < 0)
		goto out;
	if (j->response != NULL)
		tw_prom_declare_gauges(j->response, &c->gauges);
	j->isolation = &isolation.config;
	if (c->workloads != NULL &&
	    tw_workload_runs_load(c->workloads, &j->workloads, err) < 0)
		goto out;
	if (c->json)
		tw_json_add_array(&out, NULL);
	for (size_t i = 0; i < c->models.count; i++) {
		struct tw_err why = { 0 };

		if (judge_one(c, j, c->models.at[i], &out, &why) == 0)
			continue;
		/*
		 * The first failure becomes the error; each failure is printed when it
		 * happens.
		 */
		if (err->code != TW_OK)
			fprintf(stderr, "tallywatt validate: %s\n", why.text);
		tw_fail(err, why.code, "%s", why.text);
	}
	if (c->json) {
		tw_json_end_array(&out);
		tw_json_indent(&out);
	}
	tw_command_print(&out);
	rc = err->code == TW_OK ? 0 : -1;
out:
	tw_isolation_input_release(&isolation);
	return rc;
}

static void release(void *config)
{
	struct config *c = config;

	tw_evaluation_release(&c->judge);
}

const struct tw_command tw_command_validate = {
	.opts = TW_COMMAND_OPTS("validate", NULL, "Evaluate models against a recording."),
	.config_size = sizeof(struct config),
	.check = check_use,
	.work = judge,
	.release = release,
};
