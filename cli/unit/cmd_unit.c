/* SPDX-License-Identifier: Apache-2.0 */
/* tallywatt unit: joules of a unit of work, by regression of energy on counters of work.
 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "cli/prom_source.h"
#include "cli/unit/unit_report.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/http/client/credentials.h"
#include "trainer/record/prom_query.h"
#include "trainer/record/stop.h"
#include "trainer/unit/unit_data.h"
#include "trainer/unit/unit_warnings.h"

#include <math.h>
#include <stdio.h>

#define KG_MAX 1e9
#define INTENSITY_MAX 1e6

struct config {
	struct tw_unit_ask ask;
	char *input, *svg, *rules, *batch, *sci, *intensity, *embodied, *reserved;
	uint32_t lifespan;
	bool json;
	struct tw_prom_source prom;
	struct tw_credentials_config web;
	/* Made of these: */
	struct tw_prom_range range;
	struct tw_credentials access;
	struct tw_unit_data data;
	struct tw_sci_input sci_in;
};

static const struct tw_opt options[] = {
	{ TW_ROW(TEXTS, "work", ask.work, "[NAME=]SELECTOR",
		 "counter of work: metric{label=\"value\"}; up to 8 times"),
	  .required = true },
	{ TW_ROW(TEXTS, "energy", ask.energy, "SELECTOR",
		 "counters of energy, J (default: " TW_UNIT_NODE_ENERGY ")") },
	{ TW_ROW(TEXT, "idle", ask.idle, "W|SELECTOR",
		 "idle power or energy to subtract [leave out series of mode idle]") },
	{ TW_ROW(TEXT, "input", input, "FILE",
		 "response file to read instead of a Prometheus") },
	TW_OPTS_PROM(struct config),
	{ TW_ROW(DURATION_MS, "last", prom.last_ms, "TIME",
		 "length of the recording, without --start"),
	  .fallback = "24h" },
	{ TW_ROW(TEXT, "block", ask.block, "TIME",
		 "length of a block (default: 4 or more samples)") },
	{ TW_ROW(TEXT, "batch", batch, "SELECTOR",
		 "gauge of the size of batches: joules by that size, too") },
	{ TW_ROW(TEXT, "svg", svg, "FILE", "draw power against work to this file") },
	{ TW_ROW(TEXT, "rules", rules, "FILE",
		 "write recording rules of Prometheus with the result") },
	{ TW_ROW(TEXT, "sci", sci, "NAME",
		 "also the Software Carbon Intensity, for each unit of this work") },
	{ TW_ROW(TEXT, "intensity", intensity, "G|SELECTOR",
		 "carbon intensity of --sci, gCO2e/kWh") },
	{ TW_ROW(TEXT, "embodied", embodied, "KG",
		 "embodied emissions of the hardware for --sci, kgCO2e") },
	{ TW_ROW(U32, "lifespan", lifespan, "YEARS", "lifespan of the hardware"),
	  .fallback = "4", .min = 1, .max = 100 },
	{ TW_ROW(TEXT, "reserved", reserved, "PERCENT",
		 "share of the hardware that is reserved for the selection"),
	  .fallback = "100" },
	TW_ROW_JSON,
	TW_CREDENTIALS_OPTS(struct config, "PROM_SSL_DISABLE"),
};

static const char *const old_keys[] = { "PROM_SERVER", "PROM_SSL_DISABLE", "PROM_HEADERS",
					NULL };

static void say(const char *text)
{
	fprintf(stderr, "tallywatt unit: %s\n", text);
}

/* ---- wrong use ---- */

static int check_sci(struct config *c, struct tw_err *err)
{
	struct tw_sci_input *s = &c->sci_in;
	double percent;

	if (c->sci == NULL) {
		if (c->intensity != NULL || c->embodied != NULL)
			return tw_fail(err, TW_INVALID,
				       "--intensity and --embodied need --sci NAME");
		return 0;
	}
	if (c->intensity == NULL || c->embodied == NULL)
		return tw_fail(err, TW_INVALID,
			       "--sci needs --intensity and --embodied (0: left out)");
	if (tw_unit_data_find(&c->data, c->sci, &s->work, err) < 0)
		return tw_err_wrap(err, "--sci");
	s->intensity = NAN;
	s->lifespan_years = c->lifespan;
	if (tw_unit_data_either(&c->data, TW_UNIT_INTENSITY, c->intensity, INTENSITY_MAX,
				&s->intensity, err) < 0)
		return tw_err_wrap(err, "--intensity");
	if (tw_unit_data_number(c->embodied, KG_MAX, &s->embodied_kg, err) < 0)
		return tw_err_wrap(err, "--embodied");
	if (tw_unit_data_number(c->reserved, 100, &percent, err) < 0)
		return tw_err_wrap(err, "--reserved");
	s->reserved = percent / 100;
	return 0;
}

static int check_use(void *config, struct tw_err *err)
{
	struct config *c = config;

	if (tw_unit_data_open(&c->data, &c->ask, "--", err) < 0)
		return -1;
	if (c->batch != NULL &&
	    tw_unit_data_add(&c->data, TW_UNIT_BATCH, c->batch, err) < 0)
		return tw_err_wrap(err, "--batch");
	if (check_sci(c, err) < 0 || tw_prom_source_range(&c->prom, &c->range, err) < 0)
		return -1;
	return tw_command_credentials(&c->access, &c->web, "PROM_HEADERS",
				      "tallywatt unit", err);
}

/* ---- work ---- */

static int query(struct config *c, struct tw_err *err)
{
	const struct tw_prom_query q = { .range = c->range, .points = c->prom.points };
	struct tw_prom_client_config how =
		tw_prom_source_client(&c->prom, &c->access, say);
	struct tw_prom_client *client = NULL;
	struct tw_stop stop = { 0 };
	int rc = -1;

	if (tw_stop_open(&stop, err) < 0)
		return -1;
	how.stop = &stop;
	if (tw_http_init(err) == 0 && tw_prom_client_new(&how, &client, err) == 0 &&
	    tw_unit_data_query(&c->data, client, &q, err) == 0)
		rc = 0;
	tw_prom_client_free(client);
	tw_stop_close(&stop);
	return rc;
}

static int find(struct config *c, struct tw_unit_result *r, struct tw_err *err)
{
	if ((c->input != NULL ? tw_unit_data_read(&c->data, c->input, err)
			      : query(c, err)) < 0 ||
	    tw_unit_data_blocks(&c->data, c->data.block_ms, &r->blocks, err) < 0 ||
	    tw_unit_fit(&r->blocks, &r->fit, err) < 0)
		return -1;
	r->idle_w = r->fit.idle_j / r->fit.seconds;
	r->has_sci = c->sci != NULL;
	r->sci_in = c->sci_in;
	if (r->has_sci && tw_sci_compute(&r->blocks, &r->sci_in, &r->sci, err) < 0)
		return -1;
	r->has_batches = c->batch != NULL;
	if (r->has_batches && tw_unit_batches(&r->blocks, &r->fit, r->batch, err) < 0)
		return tw_err_wrap(err, "--batch");
	return tw_unit_warnings(&c->data, &r->blocks, &r->fit, &r->warnings, err);
}

static int write_files(const struct config *c, const struct tw_unit_result *r,
		       struct tw_err *err)
{
	struct tw_buf b = { 0 };
	int rc = -1;

	if (c->svg != NULL) {
		tw_unit_report_svg(r, &b);
		if (tw_command_write(&b, NULL, c->svg, err) < 0)
			goto out;
		tw_buf_clear(&b);
	}
	if (c->rules != NULL) {
		tw_unit_report_rules(r, &b);
		if (tw_command_write(&b, NULL, c->rules, err) < 0)
			goto out;
	}
	rc = 0;
out:
	tw_buf_clear(&b);
	return rc;
}

static int unit(void *config, struct tw_err *err)
{
	struct config *c = config;
	struct tw_unit_result r = { .data = &c->data };
	struct tw_buf out = { 0 };
	int rc = -1;

	if (find(c, &r, err) < 0 || write_files(c, &r, err) < 0)
		goto out;
	if (c->json)
		tw_unit_report_json(&r, &out);
	else
		tw_unit_report_table(&r, &out);
	tw_command_print(&out);
	for (size_t i = 0; i < r.warnings.count; i++)
		fprintf(stderr, "tallywatt unit: warning: %s\n", r.warnings.at[i]);
	rc = 0;
out:
	tw_strs_clear(&r.warnings);
	tw_unit_blocks_release(&r.blocks);
	tw_unit_fit_release(&r.fit);
	return rc;
}

static void release(void *config)
{
	struct config *c = config;

	tw_credentials_release(&c->access);
	tw_unit_data_release(&c->data);
}

const struct tw_command tw_command_unit = {
	.opts = TW_COMMAND_OPTS(
		"unit", NULL,
		"Find the joules of a unit of work: of a request, a token, a job."),
	.config_size = sizeof(struct config),
	.old_keys = old_keys,
	.check = check_use,
	.work = unit,
	.release = release,
};
