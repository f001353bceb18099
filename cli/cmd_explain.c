/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "cli/memory.h"
#include "collector/power/features.h"
#include "collector/power/node.h"
#include "collector/system/roots.h"
#include "estimator/predict/certificate.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/field/feature.h"
#include "lib/json/json.h"
#include "model-db/index/choose.h"
#include "model-db/index/explain.h"
#include "model-db/index/index.h"
#include "model-db/index/index_load.h"
#include "model-db/index/index_use.h"
#include "profiler/discover.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct config {
	char *model_db, *source, *trainer, *filter;
	unsigned output;
	struct tw_strs metrics;
	uint32_t cores, rows;
	/* Parsed from the options above: */
	const struct tw_energy_source *from;
};

static const struct tw_opt options[] = {
	{ TW_ROW(TEXT, "model-db", model_db, "DIR", "model database to choose from"),
	  .env = "TW_MODEL_DB", .fallback = TW_MODEL_DB },
	{ TW_ROW(TEXT, "source", source, "NAME", "energy source"),
	  .fallback = "rapl-sysfs" },
	{ TW_ROW(CHOICE, "output-type", output, "TYPE", "AbsPower or DynPower"),
	  .fallback = "AbsPower", .choices = tw_output_names },
	{ TW_ROW(LIST, "metrics", metrics, "NAME,...",
		 "features of the machine (default: those of tw-collector on this "
		 "machine, without hardware counters)") },
	{ TW_ROW(U32, "cores", cores, "N",
		 "cores of the machine; 0: those of this machine"),
	  .fallback = "0" },
	{ TW_ROW(TEXT, "trainer", trainer, "NAME", "only models of this trainer") },
	{ TW_ROW(TEXT, "filter", filter, "TEXT",
		 "only models within these errors: mae:5;mape:10") },
	{ TW_ROW(U32, "rows", rows, "N", "number of other models to show; 0: all"),
	  .fallback = "12" },
};

static int check(void *config, struct tw_err *err)
{
	struct config *c = config;

	c->from = tw_energy_source_wanted(c->source);
	if (c->from == NULL)
		return tw_fail(err, TW_INVALID, "--source '%s': no such energy source",
			       c->source);
	return 0;
}

/* The features of a collector here. Whether there are counters is known to root only. */
static int find_metrics(struct tw_strs *out, struct tw_err *err)
{
	static const struct tw_roots roots = { .proc = "/proc",
					       .sys = "/sys",
					       .dev = "/dev" };
	struct tw_features features = { 0 };
	struct tw_node node;
	int rc = -1;

	if (tw_node_open(&node, &roots, err) < 0)
		return -1;
	if (tw_features_open(&features, &node, NULL, err) == 0 &&
	    tw_strs_copy(out, &features.names, err) == 0)
		rc = 0;
	tw_features_release(&features);
	tw_node_release(&node);
	return rc;
}

/* As tw-estimator asks: make_entry() in estimator/models.c. */
static int make_wanted(const struct config *c, struct tw_wanted *w, struct tw_err *err)
{
	struct tw_err unknown = { 0 };

	*w = (struct tw_wanted){ .classes = true,
				 .ensembles = true,
				 .trees = true,
				 .source = c->from,
				 .output = (enum tw_output)c->output,
				 .node_type = -1,
				 .loose_node_type = true,
				 .client = TW_CLIENT_CURRENT };
	/* Another machine's processor is not known. */
	if (c->cores == 0 &&
	    tw_machine_spec_discover("/proc", "/sys", &w->spec, &unknown) < 0)
		w->spec = (struct tw_machine_spec){ 0 };
	if (c->cores > 0)
		w->spec.cores = c->cores;
	if ((c->metrics.count > 0 ? tw_strs_copy(&w->metrics, &c->metrics, err)
				  : find_metrics(&w->metrics, err)) < 0)
		return -1;
	w->trainer = c->trainer != NULL ? tw_must(strdup(c->trainer)) : NULL;
	w->filter = c->filter != NULL ? tw_must(strdup(c->filter)) : NULL;
	return 0;
}

/* Check models without a certificate, until the choice has passed. */
static void prove(struct tw_index *x, const struct tw_wanted *w)
{
	for (;;) {
		struct tw_choice choice;
		struct tw_err why = { 0 };
		const bool done =
			w->trainer != NULL || tw_choose(x, w, &choice, &why) < 0 ||
			tw_index_prove(x, choice.entry, tw_certify_model, &why) == 0;

		tw_must_have(why.code != TW_NOMEM);
		if (done)
			return;
		fprintf(stderr, "tallywatt explain: model left out: %s\n", why.text);
	}
}

/* ---- output ---- */

static void add_figure(struct tw_buf *b, const json_t *model, const char *key)
{
	const json_t *v = json_object_get(model, key);

	if (json_is_number(v))
		tw_buf_addf(b, " %8.2f", json_number_value(v));
	else
		tw_buf_addf(b, " %8s", "-");
}

static void add_model(struct tw_buf *b, const json_t *m, const char *why)
{
	tw_buf_addf(b, "%-16s %-18s %-30s", tw_json_text_or(m, "pipeline", "-"),
		    tw_json_text_or(m, "feature_group", "-"),
		    tw_json_text_or(m, "model_name", "-"));
	add_figure(b, m, "mae");
	add_figure(b, m, "series_mae");
	add_figure(b, m, "mape");
	tw_buf_addf(b, "  %s\n", why);
}

static void add_head(struct tw_buf *b, const struct config *c, const struct tw_wanted *w)
{
	tw_buf_addf(b, "%s of %s for a machine", tw_output_names[c->output],
		    c->from->name);
	if (w->spec.cores > 0)
		tw_buf_addf(b, " of %u cores", w->spec.cores);
	tw_buf_adds(b, " with the features");
	for (size_t i = 0; i < w->metrics.count; i++)
		tw_buf_addf(b, "%s %s", i > 0 ? "," : "", w->metrics.at[i]);
	tw_buf_addf(
		b,
		"\n\nOrder: usable with these features, certificate, similar machine,\n"
		"error (%s) of rows as a series, fewest features.\n\n"
		"%-16s %-18s %-30s %8s %8s %8s\n",
		TW_INDEX_SERIES_ERROR, "pipeline", "group", "model", "MAE W", "series W",
		"MAPE %");
}

static void add_explanation(struct tw_buf *b, const json_t *root, uint32_t rows)
{
	const json_t *chosen = json_object_get(root, "chosen"), *m;
	json_int_t left_out = json_integer_value(json_object_get(root, "left_out"));
	uint32_t shown = 0;
	size_t i;

	if (json_is_object(chosen))
		add_model(b, chosen, "CHOSEN");
	json_array_foreach(json_object_get(root, "candidates"), i, m) {
		if (json_is_null(json_object_get(m, "lost")))
			continue;
		if (rows > 0 && shown++ >= rows)
			left_out++;
		else
			add_model(b, m, tw_json_text_or(m, "lost", "-"));
	}
	if (left_out > 0)
		tw_buf_addf(b, "and %lld more\n", (long long)left_out);
	if (!json_is_object(chosen))
		tw_buf_addf(b, "\n%s\n", tw_json_text_or(root, "error", "-"));
}

static int print(const struct config *c, const struct tw_wanted *w,
		 const struct tw_buf *answer, struct tw_err *err)
{
	struct tw_buf b = { 0 };
	json_t *root = NULL;

	tw_must_have(!tw_buf_failed(answer));
	if (tw_json_parse(answer->data, answer->len, "explanation", &root, err) < 0)
		return -1;
	add_head(&b, c, w);
	add_explanation(&b, root, c->rows);
	tw_command_print(&b);
	json_decref(root);
	return 0;
}

static int explain(void *config, struct tw_err *err)
{
	const struct config *c = config;
	struct tw_index *x = NULL;
	struct tw_wanted w = { 0 };
	struct tw_buf answer = { 0 };
	int rc = -1;

	if (access(c->model_db, F_OK) < 0) {
		tw_fail_errno(err, errno, "cannot read '%s'", c->model_db);
		goto out;
	}
	if (make_wanted(c, &w, err) < 0 ||
	    tw_index_load(c->model_db, NULL, NULL, &x, err) < 0)
		goto out;
	prove(x, &w);
	if (tw_explain(x, &w, &answer, err) < 0 || print(c, &w, &answer, err) < 0)
		goto out;
	rc = 0;
out:
	tw_buf_clear(&answer);
	tw_wanted_release(&w);
	tw_index_unref(x);
	return rc;
}

const struct tw_command tw_command_explain = {
	.opts = TW_COMMAND_OPTS("explain", NULL,
				"Explain which model tw-estimator and tw-collector "
				"choose for a machine."),
	.config_size = sizeof(struct config),
	.check = check,
	.work = explain,
};
