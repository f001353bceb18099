/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/http/client/credentials.h"
#include "trainer/record/record.h"
#include "trainer/record/stop.h"
#include "trainer/response/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The targets that the operands name. */
struct targets {
	struct tw_target at[TW_RECORD_TARGETS_MAX];
	size_t count;
};

struct config {
	char *output, *metric;
	struct tw_strs thirdparty;
	uint64_t interval_ms, timeout_ms, for_ms, save_ms, answer_max;
	bool append, progress;
	struct tw_credentials_config web;
	struct targets targets;
	struct tw_credentials access;
};

static const struct tw_opt options[] = {
	{ TW_ROW(TEXT, "output", output, "FILE", "output file"), .required = true },
	{ TW_ROW(DURATION_MS, "interval", interval_ms, "TIME",
		 "time between two scrapes"),
	  .fallback = "3s", .min = 10 },
	{ TW_ROW(DURATION_MS, "for", for_ms, "TIME",
		 "end after this time (default: when interrupted)") },
	{ TW_ROW(DURATION_MS, "save-every", save_ms, "TIME",
		 "write the file at this interval; 0: only at the end"),
	  .fallback = "10m" },
	{ TW_ROW(BOOL, "append", append, NULL, "continue the series of the file") },
	{ TW_ROW(TEXT, "metric", metric, "REGEX",
		 "names of metrics, instead of those of a schema") },
	{ TW_ROW(LIST, "thirdparty-metrics", thirdparty, "NAMES",
		 "additional metrics, separated by commas") },
	{ TW_ROW(DURATION_MS, "timeout", timeout_ms, "TIME", "time limit of a scrape"),
	  .fallback = "10s" },
	{ TW_ROW(SIZE_BYTES, "max-answer", answer_max, "SIZE",
		 "size limit of an exporter's reply"),
	  .fallback = "64MiB" },
	{ TW_ROW(BOOL, "progress", progress, NULL,
		 "print progress even if stderr is not a terminal") },
	TW_CREDENTIALS_OPTS(struct config, NULL),
};

static void say(const char *text)
{
	fprintf(stderr, "tallywatt record: %s\n", text);
}

static void report(const struct config *c, const struct tw_record_result *r)
{
	if (c->progress || isatty(2))
		fprintf(stderr,
			"tallywatt record: '%s': %zu series, %" PRIu64
			" samples; %" PRIu64 " scrapes, %" PRIu64 " failed\n",
			c->output, r->series, r->samples, r->scrapes, r->failed);
	if (r->late > 0)
		fprintf(stderr,
			"tallywatt record: %" PRIu64
			" polls were skipped: an answer took "
			"longer than the interval\n",
			r->late);
	if (r->not_finite > 0 || r->repeated > 0)
		fprintf(stderr,
			"tallywatt record: left out %" PRIu64
			" samples that are NaN or infinite, %" PRIu64
			" of series that were told twice\n",
			r->not_finite, r->repeated);
}

static int take_operands(void *config, char **operand, size_t count, struct tw_err *err)
{
	struct config *c = config;
	struct targets *t = &c->targets;

	if (count == 0)
		return tw_fail(err, TW_INVALID, "the URL of an exporter is missing");
	if (count > TW_RECORD_TARGETS_MAX)
		return tw_fail(err, TW_INVALID, "%zu targets, limit is %d", count,
			       TW_RECORD_TARGETS_MAX);
	for (size_t i = 0; i < count; i++) {
		if (tw_target_parse(operand[i], &t->at[i], err) < 0)
			return -1;
		t->count++;
		for (size_t k = 0; k < i; k++)
			if (strcmp(t->at[k].name, t->at[i].name) == 0)
				return tw_fail(err, TW_INVALID,
					       "two targets '%.64s': want NAME=URL",
					       t->at[i].name);
	}
	return 0;
}

static int record(void *config, struct tw_err *err)
{
	const struct config *c = config;
	struct tw_metric_choice choice = { 0 };
	struct tw_record r = { .target = c->targets.at,
			       .targets = c->targets.count,
			       .choice = &choice,
			       .access = &c->access.access,
			       .interval_ms = c->interval_ms,
			       .timeout_ms = c->timeout_ms,
			       .for_ms = c->for_ms,
			       .save_ms = c->save_ms,
			       .answer_max = c->answer_max,
			       .output = c->output,
			       .append = c->append,
			       .say = say };
	struct tw_record_result result;
	struct tw_stop stop = { 0 };
	int rc = -1;

	if (tw_stop_open(&stop, err) < 0)
		return -1;
	r.stop = &stop;
	if (tw_metric_choice_open(&choice, c->metric, &c->thirdparty, err) < 0 ||
	    tw_http_init(err) < 0 || tw_record_run(&r, &result, err) < 0)
		goto out;
	report(c, &result);
	rc = 0;
out:
	tw_metric_choice_release(&choice);
	tw_stop_close(&stop);
	return rc;
}

static int check_use(void *config, struct tw_err *err)
{
	struct config *c = config;

	return tw_command_credentials(&c->access, &c->web, NULL, "tallywatt record", err);
}

static void release(void *config)
{
	struct config *c = config;

	for (size_t i = 0; i < c->targets.count; i++)
		tw_target_release(&c->targets.at[i]);
	tw_credentials_release(&c->access);
}

const struct tw_command tw_command_record = {
	.opts = TW_COMMAND_OPTS(
		"record", "[NAME=]URL...",
		"Scrape exporters at an interval and write a response file."),
	.config_size = sizeof(struct config),
	.operands = take_operands,
	.check = check_use,
	.work = record,
	.release = release,
};
