/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "cli/prom_source.h"
#include "lib/core/date.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/http/client/credentials.h"
#include "trainer/record/prom_query.h"
#include "trainer/record/stop.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

struct config {
	char *step, *metric, *output, *to_csv;
	struct tw_prom_source prom;
	struct tw_strs match, thirdparty;
	bool progress;
	struct tw_credentials_config web;
	struct tw_prom_range range; /* computed from start, end, last and step */
	struct tw_credentials access;
};

static const struct tw_opt options[] = {
	TW_OPTS_PROM(struct config),
	{ TW_ROW(TEXT, "output", output, "FILE", "file to write the response to"),
	  .required = true },
	{ TW_ROW(TEXT, "to-csv", to_csv, "DIR",
		 "also write a table of each metric into this directory: METRIC.csv") },
	{ TW_ROW(DURATION_MS, "last", prom.last_ms, "TIME",
		 "length of the recording, without --start"),
	  .env = "PROM_QUERY_INTERVAL", .fallback = "300s" },
	{ TW_ROW(TEXT, "step", step, "TIME",
		 "time between two samples (default: samples as scraped)"),
	  .env = "PROM_QUERY_STEP" },
	{ TW_ROW(TEXTS, "match", match, "MATCHERS",
		 "only series with these labels: instance=\"a\",job=~\"b|c\"") },
	{ TW_ROW(TEXT, "metric", metric, "REGEX",
		 "names of metrics, instead of those of a schema") },
	{ TW_ROW(LIST, "thirdparty-metrics", thirdparty, "NAMES",
		 "additional metrics, separated by commas"),
	  .env = "PROM_THIRDPARTY_METRICS" },
	{ TW_ROW(BOOL, "progress", progress, NULL,
		 "print progress even if stderr is not a terminal") },
	TW_CREDENTIALS_OPTS(struct config, "PROM_SSL_DISABLE"),
};

static const char *const old_keys[] = {
	"PROM_SERVER",
	"PROM_QUERY_INTERVAL",
	"PROM_QUERY_STEP",
	"PROM_SSL_DISABLE",
	"PROM_HEADERS",
	"PROM_THIRDPARTY_METRICS",
	NULL,
};

static void say(const char *text)
{
	fprintf(stderr, "tallywatt query: %s\n", text);
}

/* On a terminal, overwrite one line. */
static void show_progress(void *arg, const char *metric, size_t number, size_t metrics,
			  double part)
{
	(void)arg;
	fprintf(stderr, "%stallywatt query: %zu of %zu metrics, %3.0f %% of %.64s%s",
		isatty(2) ? "\r\033[K" : "", number, metrics, part * 100, metric,
		isatty(2) ? "" : "\n");
}

static int find_range(const struct config *c, struct tw_prom_range *out,
		      struct tw_err *err)
{
	struct tw_prom_range range;
	uint64_t step_ms = 0;

	if (tw_prom_source_range(&c->prom, &range, err) < 0)
		return -1;
	if (c->step != NULL && tw_parse_duration_ms(c->step, &step_ms, err) < 0)
		return tw_err_wrap(err, "--step");
	if (c->step != NULL && (step_ms == 0 || step_ms > (uint64_t)TW_DATE_MAX_MS))
		return tw_fail(err, TW_INVALID, "--step is not above 0");
	range.step_ms = (int64_t)step_ms;
	*out = range;
	return 0;
}

static void report(const struct config *c, const struct tw_prom_query_result *r,
		   bool shown)
{
	if (shown)
		fprintf(stderr,
			"%stallywatt query: '%s': %zu metrics, %zu series, %" PRIu64
			" samples\n",
			isatty(2) ? "\r\033[K" : "", c->output, r->metrics, r->series,
			r->samples);
	if (r->not_finite > 0)
		fprintf(stderr,
			"tallywatt query: %" PRIu64 " samples that are NaN or infinite "
			"were left out\n",
			r->not_finite);
}

static int query(void *config, struct tw_err *err)
{
	const struct config *c = config;
	bool shown = c->progress || isatty(2);
	const struct tw_prom_query q = { .range = c->range,
					 .match = &c->match,
					 .metrics = c->metric,
					 .more = &c->thirdparty,
					 .points = c->prom.points,
					 .output = c->output,
					 .csv_dir = c->to_csv,
					 .progress = shown ? show_progress : NULL };
	struct tw_prom_client_config how =
		tw_prom_source_client(&c->prom, &c->access, say);
	struct tw_prom_client *client = NULL;
	struct tw_prom_query_result result;
	struct tw_stop stop = { 0 };
	int rc = -1;

	if (tw_stop_open(&stop, err) < 0)
		return -1;
	how.stop = &stop;
	if (tw_http_init(err) < 0 || tw_prom_client_new(&how, &client, err) < 0 ||
	    tw_prom_query_run(client, &q, &result, err) < 0)
		goto out;
	report(c, &result, shown);
	rc = 0;
out:
	if (rc < 0 && shown && isatty(2))
		fputc('\n', stderr);
	tw_prom_client_free(client);
	tw_stop_close(&stop);
	return rc;
}

static int check_use(void *config, struct tw_err *err)
{
	struct config *c = config;

	if (find_range(c, &c->range, err) < 0)
		return -1;
	return tw_command_credentials(&c->access, &c->web, "PROM_HEADERS",
				      "tallywatt query", err);
}

static void release(void *config)
{
	struct config *c = config;

	tw_credentials_release(&c->access);
}

const struct tw_command tw_command_query = {
	.opts = TW_COMMAND_OPTS("query", NULL,
				"Write a response file from a Prometheus server."),
	.config_size = sizeof(struct config),
	.old_keys = old_keys,
	.check = check_use,
	.work = query,
	.release = release,
};
