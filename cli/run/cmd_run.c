/* SPDX-License-Identifier: Apache-2.0 */
/* tallywatt run: the energy of a command and its children. */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "cli/memory.h"
#include "cli/run/run_child.h"
#include "cli/run/run_report.h"
#include "collector/system/roots.h"
#include "collector/workloads/cgroup.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HERE "http://127.0.0.1:8103"
#define REPEAT_MAX 10000
/* Pairs of --vs at most, without --repeat. */
#define PAIRS 20
/* Interval of the search for processes, and of reading meters. */
#define LOOK_MS 100
#define NOT_FOUND 127
#define NOT_EXECUTED 126

struct config {
	char *url, *vs, *output, *fail_above;
	char *tariff[TW_TARIFF_COUNT];
	char *proc, *sys, *dev, *powercap;
	bool json;
	uint32_t repeat; /* 0: not given */
	char **argv;
	double limit_percent; /* NaN: none */
	int status;
};

static const struct tw_opt options[] = {
	{ TW_ROW(TEXT, "url", url, "URL",
		 "a running tw-collector; empty: the meters [" HERE ", else the meters]"),
	  .env = "TW_COLLECTOR_URL" },
	{ TW_ROW(U32, "repeat", repeat, "N",
		 "run it so often; with --vs, that many pairs at most [1, 20 pairs]"),
	  .letter = 'r', .max = REPEAT_MAX },
	{ TW_ROW(TEXT, "vs", vs, "CMD",
		 "compare with this command of the shell, in turns") },
	{ TW_ROW(TEXT, "fail-above", fail_above, "PERCENT",
		 "exit 1 if it uses more than --vs by this, at the error rate") },
	{ TW_ROW(
		TEXT, "carbon", tariff[TW_TARIFF_CO2E], "G|FILE",
		"carbon intensity in gCO2e/kWh: a number, or a file of TIME,NUMBER lines "
		"[the collector's]") },
	{ TW_ROW(TEXT, "price", tariff[TW_TARIFF_PRICE], "N|FILE",
		 "price of a kWh, likewise") },
	{ TW_ROW(BOOL, "json", json, NULL, "print JSON on stdout, after the command") },
	{ TW_ROW(TEXT, "output", output, "FILE", "write the report to this file") },
	TW_OPTS_MACHINE_METERS,
};

static int take_command(void *config, char **operand, size_t count, struct tw_err *err)
{
	struct config *c = config;

	if (count == 0)
		return tw_fail(err, TW_INVALID, "no command (tallywatt run -- COMMAND)");
	c->argv = operand;
	return 0;
}

static int check_use(void *config, struct tw_err *err)
{
	struct config *c = config;
	const char *limit = c->fail_above;

	c->limit_percent = NAN;
	if (limit == NULL)
		return 0;
	if (c->vs == NULL)
		return tw_fail(err, TW_INVALID, "--fail-above needs --vs");
	if (!tw_parse_double(limit, strlen(limit), &c->limit_percent) ||
	    !(c->limit_percent >= 0))
		return tw_fail(err, TW_INVALID,
			       "--fail-above: '%.64s' is not a number of "
			       "0 or more",
			       limit);
	return 0;
}

/* ---- the source of energy ---- */

/* Either a collector or meters. */
struct work {
	struct config *c;
	struct tw_run_collector *collector;
	struct tw_run_meter *meter;
	struct tw_cgroup_tree *tree;
	struct tw_run *run;
	size_t count, size;
	struct tw_run_mean pairs;
	struct tw_run_tariff tariff;
	bool stopped;
};

static int open_source(struct work *w, struct tw_err *err)
{
	const struct config *c = w->c;
	const struct tw_roots roots = { c->proc, c->sys, c->dev, c->powercap };
	struct tw_err why = { 0 };

	if (c->url != NULL && c->url[0] == '\0')
		return tw_run_meter_open(&roots, &w->meter, err);
	if (tw_run_collector_open(c->url != NULL ? c->url : HERE, &w->collector, &why) ==
	    0)
		return tw_cgroup_tree_open(&roots, TW_CGROUPS_AUTO, &w->tree, err);
	if (c->url != NULL || why.code != TW_IO)
		return tw_fail(err, why.code, "%s", why.text);
	return tw_run_meter_open(&roots, &w->meter, err);
}

/* ---- a run ---- */

static void look_at_tariff(struct work *w)
{
	tw_run_tariff_look(&w->tariff, w->collector != NULL
					       ? tw_run_collector_rates(w->collector)
					       : NULL);
}

static void wait_for(struct work *w, struct tw_run_child *child)
{
	const uint64_t tick_ms =
		w->collector != NULL ? tw_run_collector_tick_ms(w->collector) : LOOK_MS;
	uint64_t waited_ms = 0;

	while (!tw_run_child_wait(child, LOOK_MS)) {
		waited_ms += LOOK_MS;
		look_at_tariff(w);
		if (w->meter != NULL)
			tw_run_meter_look(w->meter);
		/* Few leave the command's cgroup, and /proc costs CPU time. */
		else if (child->cgroup == NULL || waited_ms >= tick_ms)
			tw_run_child_look(child);
		if (w->collector != NULL && waited_ms >= tick_ms) {
			tw_run_collector_look(w->collector, child);
			waited_ms = 0;
		}
	}
}

static void note_left(struct tw_run_child *child, struct tw_run *run)
{
	struct tw_buf names = { 0 };

	run->left_count = tw_run_child_left(child, &names);
	tw_must_have(!tw_buf_failed(&names));
	run->left = run->left_count > 0 ? tw_must(tw_buf_detach(&names, NULL)) : NULL;
	tw_buf_clear(&names);
}

/* The command has been made, and waits. */
static int follow(struct work *w, struct tw_run_child *child, const char *name,
		  struct tw_run *run, struct tw_err *err)
{
	struct tw_run_rates rates;

	if (w->meter != NULL)
		tw_run_meter_begin(w->meter);
	else if (tw_run_collector_begin(w->collector, err) < 0)
		return -1;
	if (tw_run_child_start(child, name, err) < 0) {
		w->c->status = err->code == TW_NOTFOUND ? NOT_FOUND : NOT_EXECUTED;
		return -1;
	}
	tw_run_tariff_begin(&w->tariff);
	wait_for(w, child);
	if (w->meter != NULL)
		tw_run_meter_end(w->meter, &run->figures);
	note_left(child, run);
	run->status = child->status;
	run->seconds = (double)(child->ended_ns - child->began_ns) / 1e9;
	w->stopped = child->stopped || child->status >= 128;
	if (w->collector != NULL &&
	    tw_run_collector_end(w->collector, child, &run->figures, err) < 0) {
		free(run->left);
		return -1;
	}
	run->cpu_seconds = child->cpu_s;
	look_at_tariff(w);
	rates = tw_run_tariff_end(&w->tariff);
	for (int i = 0; i < TW_TARIFF_COUNT; i++)
		run->figures.tariff[i] =
			run->figures.joules * rates.per_kwh[i] / TW_J_PER_KWH;
	return 0;
}

static int run_once(struct work *w, bool other, struct tw_err *err)
{
	static char shell[] = "/bin/sh", flag[] = "-c";
	char *const vs[] = { shell, flag, w->c->vs, NULL };
	char *const *argv = other ? vs : w->c->argv;
	struct tw_run run = { .other = other };
	struct tw_run_child child;
	int rc = -1;

	if (w->collector != NULL && tw_run_collector_mark(w->collector, err) < 0)
		return -1;
	if (tw_run_child_make(argv, w->tree, (unsigned)w->count, &child, err) == 0)
		rc = follow(w, &child, argv[0], &run, err);
	tw_run_child_release(&child);
	if (rc < 0)
		return -1;
	tw_must_have(tw_grow(&w->run, &w->size, w->count, sizeof(*w->run)));
	w->run[w->count++] = run;
	return 0;
}

/* Runs of a command that fails tell nothing. */
static bool ends(const struct work *w)
{
	const struct tw_run *last = &w->run[w->count - 1];

	return w->stopped || last->status != 0;
}

static int run_alone(struct work *w, struct tw_err *err)
{
	const uint32_t runs = w->c->repeat > 0 ? w->c->repeat : 1;

	for (uint32_t i = 0; i < runs; i++)
		if (run_once(w, false, err) < 0)
			return -1;
		else if (ends(w))
			break;
	return 0;
}

/* Run the pairs as AB BA AB, so that a drift of the machine affects both commands. */
static int run_pair(struct work *w, bool swap, struct tw_err *err)
{
	const struct tw_run *a, *b;

	if (run_once(w, swap, err) < 0)
		return -1;
	if (ends(w))
		return 0;
	if (run_once(w, !swap, err) < 0)
		return -1;
	/* A failed or stopped command makes no pair. */
	if (ends(w))
		return 0;
	a = &w->run[w->count - 2];
	b = &w->run[w->count - 1];
	if (!(a->figures.joules > 0) || !(b->figures.joules > 0)) {
		const char *why = a->figures.joules > 0 ? b->figures.why : a->figures.why;

		return tw_fail(err, TW_NOTFOUND, "--vs: a run without joules: %s",
			       why[0] != '\0' ? why : "its energy did not move");
	}
	tw_run_pair_add(&w->pairs, swap ? b->figures.joules : a->figures.joules,
			swap ? a->figures.joules : b->figures.joules);
	return 0;
}

static int run_pairs(struct work *w, struct tw_err *err)
{
	const uint32_t pairs = w->c->repeat > 0 ? w->c->repeat : PAIRS;

	for (uint32_t i = 0; i < pairs; i++) {
		struct tw_run_ratio r;

		if (run_pair(w, i % 2 != 0, err) < 0)
			return -1;
		r = tw_run_pairs_ratio(&w->pairs);
		if (ends(w) || tw_run_ratio_decides(&r))
			break;
	}
	return 0;
}

/* ---- the end ---- */

static char *join(char *const *argv)
{
	struct tw_buf b = { 0 };

	for (size_t i = 0; argv[i] != NULL; i++)
		tw_buf_addf(&b, "%s%s", i > 0 ? " " : "", argv[i]);
	return tw_must(tw_buf_detach(&b, NULL));
}

static int report(const struct work *w, struct tw_err *err)
{
	struct tw_run_report r = {
		.other = w->c->vs, .run = w->run, .count = w->count, .pairs = w->pairs
	};
	char *command = join(w->c->argv);
	struct tw_buf b = { 0 };
	int rc = 0;

	r.command = command;
	(w->c->json ? tw_run_report_json : tw_run_report_text)(&r, &b);
	if (w->c->output != NULL)
		rc = tw_command_write(&b, NULL, w->c->output, err);
	else if (w->c->json)
		tw_command_print(&b);
	else
		tw_command_warn(&b);
	tw_buf_clear(&b);
	free(command);
	return rc;
}

static void judge(const struct work *w)
{
	const struct tw_run_ratio r = tw_run_pairs_ratio(&w->pairs);

	w->c->status = w->count > 0 ? w->run[w->count - 1].status : 0;
	if (w->c->status == 0 && r.low > 1 + w->c->limit_percent / 100)
		w->c->status = TW_EXIT_FAILED;
}

static int run(void *config, struct tw_err *err)
{
	struct config *c = config;
	struct work w = { .c = c };
	int rc = -1;

	if (tw_run_tariff_open(&w.tariff, c->tariff, err) == 0 &&
	    open_source(&w, err) == 0 && tw_run_children_prepare(err) == 0 &&
	    (c->vs != NULL ? run_pairs : run_alone)(&w, err) == 0)
		rc = 0;
	if (rc == 0)
		judge(&w);
	if (rc == 0)
		rc = report(&w, err);
	for (size_t i = 0; i < w.count; i++)
		free(w.run[i].left);
	free(w.run);
	tw_run_collector_close(w.collector);
	tw_run_meter_close(w.meter);
	tw_run_tariff_release(&w.tariff);
	tw_cgroup_tree_close(w.tree);
	return rc;
}

static int status_of(const void *config)
{
	return ((const struct config *)config)->status;
}

const struct tw_command tw_command_run = {
	.opts = TW_COMMAND_OPTS("run", "-- COMMAND [ARGUMENT...]",
				"Report the energy of a command and its children."),
	.config_size = sizeof(struct config),
	.operands = take_command,
	.check = check_use,
	.work = run,
	.status = status_of,
};
