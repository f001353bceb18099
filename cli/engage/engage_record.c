/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/engage/engage_record.h"

#include "cli/command.h"
#include "cli/engage/engage_rows.h"
#include "cli/memory.h"
#include "collector/system/process.h"
#include "collector/workloads/tasks.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/date.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/http/client/http.h"
#include "profiler/load.h"
#include "profiler/workload_plan.h"
#include "trainer/record/record.h"
#include "trainer/record/stop.h"
#include "trainer/response/schema.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- other processes ---- */

#define STAT_MAX 2048
#define PROCESSES_MAX ((size_t)1 << 22)
/* comm of tw-collector, whose work is part of every phase. */
#define COLLECTOR "tw-collector"

struct tw_others_process {
	uint32_t pid;
	uint64_t start_ns, cpu_ns;
	char comm[16];
};

static int add(struct tw_others *o, const struct tw_task *t, struct tw_err *err)
{
	struct tw_others_process *p;

	if (o->count == PROCESSES_MAX)
		return tw_fail(err, TW_INVALID, "more than %zu processes", PROCESSES_MAX);
	tw_must_have(tw_grow(&o->at, &o->size, o->count, sizeof(*o->at)));
	p = &o->at[o->count++];
	*p = (struct tw_others_process){ .pid = t->tgid,
					 .start_ns = t->start_ns,
					 .cpu_ns = t->cpu_ns };
	snprintf(p->comm, sizeof(p->comm), "%.*s", (int)strnlen(t->comm, sizeof(t->comm)),
		 t->comm);
	/* Names go to reports and terminals. */
	for (char *c = p->comm; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	const struct tw_others_process *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

int tw_others_look(struct tw_others *o, struct tw_err *err)
{
	DIR *dir = opendir("/proc");
	const uint32_t ticks_per_s = tw_proc_ticks_per_s();
	const struct dirent *d;
	int rc = -1;

	*o = (struct tw_others){ .time_ns = tw_now_ns() };
	if (dir == NULL)
		return tw_fail_errno(err, errno, "cannot open '/proc'");
	while ((d = readdir(dir)) != NULL) {
		char path[300], text[STAT_MAX];
		struct tw_err gone = { 0 };
		struct tw_task t;
		uint64_t pid;
		size_t len;

		if (!tw_parse_u64(d->d_name, strlen(d->d_name), &pid))
			continue;
		/* A process that exits meanwhile is not an error. */
		snprintf(path, sizeof(path), "%s/stat", d->d_name);
		if (tw_file_read_at(dirfd(dir), path, text, sizeof(text), &len, &gone) <
			    0 ||
		    tw_proc_stat_parse(text, len, ticks_per_s, &t, &gone) < 0)
			continue;
		if (add(o, &t, err) < 0)
			goto out;
	}
	if (o->count > 0)
		qsort(o->at, o->count, sizeof(*o->at), by_pid);
	rc = 0;
out:
	closedir(dir);
	if (rc < 0)
		tw_others_release(o);
	return rc;
}

static bool is_other(const struct tw_others_process *p, pid_t group)
{
	return p->pid != (uint32_t)getpid() && strcmp(p->comm, COLLECTOR) != 0 &&
	       (group == 0 || getpgid((pid_t)p->pid) != group);
}

/* CPU time since the first look; all of it if the process began later. */
static uint64_t used_ns(const struct tw_others *first, const struct tw_others_process *p)
{
	const struct tw_others_process *was = NULL;

	if (first->count > 0)
		was = bsearch(p, first->at, first->count, sizeof(*p), by_pid);
	if (was == NULL || was->start_ns != p->start_ns)
		return p->cpu_ns;
	return p->cpu_ns > was->cpu_ns ? p->cpu_ns - was->cpu_ns : 0;
}

int tw_others_compare(const struct tw_others *first, pid_t group,
		      struct tw_others_use *out, struct tw_err *err)
{
	struct tw_others now;
	struct tw_others_use use = { 0 };
	double span_ns;

	if (tw_others_look(&now, err) < 0)
		return -1;
	span_ns = (double)(now.time_ns - first->time_ns) + 1;
	for (size_t i = 0; i < now.count; i++) {
		const double cpus = (double)used_ns(first, &now.at[i]) / span_ns;

		if (!is_other(&now.at[i], group))
			continue;
		use.cpus += cpus;
		if (cpus > use.most_cpus) {
			use.most_cpus = cpus;
			memcpy(use.most, now.at[i].comm, sizeof(use.most));
		}
	}
	tw_others_release(&now);
	*out = use;
	return 0;
}

void tw_others_release(struct tw_others *o)
{
	free(o->at);
	*o = (struct tw_others){ 0 };
}

/* ---- the recording ---- */

#define WARNINGS_MAX ((size_t)1 << 20)
#define ANSWER_MAX ((size_t)64 << 20)
#define TIMEOUT_MS 10000
/* Other processes may use this share of the machine, and this many CPUs, at least. */
#define OTHERS_SHARE 0.02
#define OTHERS_CPUS 0.05
/* With fewer rows, a phase teaches little. */
#define ROWS_MIN 3
/* stress-ng ends by itself so long after the phase, if this program does not end it. */
#define LIMIT_MORE_S 60

struct work {
	const struct tw_engage_record *r;
	struct tw_target target;
	struct tw_metric_choice choice;
	struct tw_workload_runs runs;
	struct tw_buf warnings;
};

/* The phase that runs. */
struct phase {
	const struct tw_planned *plan;
	struct tw_load load;
	struct tw_others others;
	struct tw_record_result recorded;
	int64_t from_ms, to_ms;
	bool ran; /* the workload ran until the end */
};

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void warn(struct work *w, const struct phase *p, const char *text)
{
	char line[TW_ERR_TEXT + 64];

	snprintf(line, sizeof(line), "%s: %s", p->plan->name, text);
	w->r->say(line);
	tw_buf_addf(&w->warnings, "%s\n", line);
}

/* ---- files ---- */

/* Whether the phase is complete: phases of one name are complete in their order. */
static bool is_complete(const struct tw_workload_runs *runs, size_t i)
{
	const ptrdiff_t name = tw_strs_find(&runs->names, tw_plan_at(i)->name);
	size_t count = 0;

	for (size_t k = 0; k < runs->count; k++)
		count += (ptrdiff_t)runs->run[k].name == name;
	return count > tw_plan_repeat(i);
}

static int read_files(struct work *w, struct tw_err *err)
{
	const bool response = access(w->r->response, F_OK) == 0;
	char *text = NULL;
	size_t len;

	if (access(w->r->workloads, F_OK) < 0)
		return 0;
	if (!response)
		return tw_fail(err, TW_INVALID,
			       "'%.100s' lists phases, but '%.100s' is missing: remove "
			       "the former to start again",
			       w->r->workloads, w->r->response);
	if (tw_workload_runs_load(w->r->workloads, &w->runs, err) < 0)
		return -1;
	if (access(w->r->warnings, F_OK) < 0)
		return 0;
	if (tw_file_read(w->r->warnings, WARNINGS_MAX, &text, &len, err) < 0)
		return -1;
	tw_buf_add(&w->warnings, text, len);
	free(text);
	return 0;
}

static void add_line(struct tw_buf *b, const char *name, int64_t from_ms, int64_t to_ms)
{
	char from[TW_DATE_TEXT], to[TW_DATE_TEXT];

	tw_format_date_ms(from_ms, from);
	tw_format_date_ms(to_ms, to);
	tw_buf_addf(b, "%s,%s,%s\n", name, from, to);
}

/* Add the phase to workloads.csv, and read the file again. */
static int note_phase(struct work *w, const struct phase *p, struct tw_err *err)
{
	struct tw_workload_runs runs = { 0 };
	struct tw_buf b = { 0 };
	int rc = -1;

	tw_buf_adds(&b, "workload,start,end\n");
	for (size_t i = 0; i < w->runs.count; i++)
		add_line(&b, w->runs.names.at[w->runs.run[i].name],
			 w->runs.run[i].from_ms, w->runs.run[i].to_ms);
	add_line(&b, p->plan->name, p->from_ms, p->to_ms);
	if (tw_command_write(&w->warnings, NULL, w->r->warnings, err) < 0 ||
	    tw_command_write(&b, NULL, w->r->workloads, err) < 0 ||
	    tw_workload_runs_load(w->r->workloads, &runs, err) < 0)
		goto out;
	tw_workload_runs_release(&w->runs);
	w->runs = runs;
	rc = 0;
out:
	tw_buf_clear(&b);
	return rc;
}

/* ---- checks of a phase ---- */

static void check_others(struct work *w, struct phase *p)
{
	const double limit = fmax(OTHERS_CPUS, OTHERS_SHARE * w->r->cpus);
	struct tw_others_use use;
	struct tw_err ignored = { 0 };
	char text[TW_ERR_TEXT];

	if (tw_others_compare(&p->others, tw_load_group(&p->load), &use, &ignored) < 0 ||
	    use.cpus <= limit)
		return;
	snprintf(text, sizeof(text), "other processes used %.2f CPUs (most: %s, %.2f)",
		 use.cpus, use.most, use.most_cpus);
	warn(w, p, text);
}

static void check_recording(struct work *w, const struct phase *p)
{
	char text[TW_ERR_TEXT];

	if (p->recorded.failed == 0 && p->recorded.late == 0)
		return;
	snprintf(text, sizeof(text),
		 "%" PRIu64 " of %" PRIu64 " scrapes failed, %" PRIu64 " were not made",
		 p->recorded.failed, p->recorded.scrapes, p->recorded.late);
	warn(w, p, text);
}

/* Print the phase's watts. Fail if a workload ran, and the recording has no power. */
static int show_phase(struct work *w, const struct phase *p, struct tw_err *err)
{
	struct tw_engage_rows rows = { 0 };
	struct tw_engage_mean m;
	struct tw_err why = { 0 };
	char line[160];

	if (tw_engage_rows_read(w->r->response, w->r->source, w->r->group, &rows, &why) <
	    0) {
		/* At rest there may be no process with CPU time yet. */
		if (why.code != TW_NOMEM && p->plan->spin == TW_SPIN_NONE)
			return 0;
		return tw_fail(err, why.code, "%s", why.text);
	}
	m = tw_engage_rows_mean(&rows, p->from_ms, p->to_ms);
	tw_engage_rows_release(&rows);
	if (m.rows < ROWS_MIN) {
		snprintf(line, sizeof(line),
			 "%zu rows: use a longer --phase or a shorter --interval",
			 m.rows);
		warn(w, p, line);
	}
	if (m.rows == 0)
		return 0;
	if (isnan(m.cpus))
		snprintf(line, sizeof(line), "  %s: %.1f W, %zu rows", p->plan->name,
			 m.watts, m.rows);
	else
		snprintf(line, sizeof(line), "  %s: %.1f W, %.2f CPUs, %zu rows",
			 p->plan->name, m.watts, m.cpus, m.rows);
	w->r->say(line);
	return 0;
}

/* ---- one phase ---- */

static int scrape(struct work *w, struct phase *p, struct tw_err *err)
{
	const struct tw_http_access access = { 0 };
	const struct tw_record r = { .target = &w->target,
				     .targets = 1,
				     .choice = &w->choice,
				     .access = &access,
				     .interval_ms = w->r->interval_ms,
				     .timeout_ms = TIMEOUT_MS,
				     .for_ms = w->r->phase_ms,
				     .answer_max = ANSWER_MAX,
				     .output = w->r->response,
				     .append = true,
				     .stop = w->r->stop,
				     .say = w->r->say };

	/* The first row's step begins before the workload. */
	p->from_ms = now_ms() + (int64_t)w->r->interval_ms;
	if (tw_record_run(&r, &p->recorded, err) < 0)
		return -1;
	p->to_ms = now_ms();
	return 0;
}

/* Run the workload and record it. The processes are gone afterwards, in any case. */
static int run_phase(struct work *w, struct phase *p, struct tw_err *err)
{
	const struct tw_load_config c = { .cpus = w->r->cpus,
					  .stress = w->r->stress,
					  .dir = w->r->dir,
					  .limit_s =
						  w->r->phase_ms / 1000 + LIMIT_MORE_S };
	struct tw_err why = { 0 };
	int rc = -1;

	if (tw_others_look(&p->others, err) < 0 ||
	    tw_load_start(p->plan, &c, &p->load, err) < 0)
		goto out;
	if (scrape(w, p, err) < 0) {
		tw_err_wrap(err, "%s", p->plan->name);
		goto out;
	}
	if (!w->r->stop->requested) {
		p->ran = tw_load_check(&p->load, &why) == 0;
		if (!p->ran)
			warn(w, p, why.text);
		check_others(w, p);
		check_recording(w, p);
	}
	rc = 0;
out:
	tw_load_end(&p->load);
	tw_others_release(&p->others);
	return rc;
}

static size_t count_left(const struct work *w)
{
	size_t left = 0;

	for (size_t i = 0; i < tw_plan_count(); i++)
		left += !is_complete(&w->runs, i);
	return left;
}

static void announce(const struct work *w, size_t i)
{
	const struct tw_planned *p = tw_plan_at(i);
	const uint64_t left_s = count_left(w) * w->r->phase_ms / 1000;
	char line[200];

	snprintf(line, sizeof(line),
		 "[%zu/%zu] %s: %s, %.3g s; %" PRIu64 " min %02" PRIu64 " s left", i + 1,
		 tw_plan_count(), p->name, p->summary, (double)w->r->phase_ms / 1e3,
		 left_s / 60, left_s % 60);
	w->r->say(line);
}

static int fail_stopped(const struct work *w, struct tw_err *err)
{
	return tw_fail(
		err, TW_IO,
		"interrupted: %zu of %zu phases are recorded in '%.100s'; the same "
		"command continues",
		tw_plan_count() - count_left(w), tw_plan_count(), w->r->dir);
}

static int do_phase(struct work *w, size_t i, struct tw_err *err)
{
	struct phase p = { .plan = tw_plan_at(i) };

	announce(w, i);
	if (run_phase(w, &p, err) < 0)
		return -1;
	if (w->r->stop->requested)
		return fail_stopped(w, err);
	if (show_phase(w, &p, err) < 0)
		return -1;
	return p.ran && p.to_ms > p.from_ms ? note_phase(w, &p, err) : 0;
}

static int do_phases(struct work *w, struct tw_err *err)
{
	for (size_t i = 0; i < tw_plan_count(); i++) {
		if (is_complete(&w->runs, i))
			continue;
		if (do_phase(w, i, err) < 0)
			return -1;
	}
	return 0;
}

int tw_engage_record(const struct tw_engage_record *r, struct tw_workload_runs *out,
		     struct tw_err *err)
{
	struct work w = { .r = r };
	int rc = -1;

	if (tw_target_parse(r->url, &w.target, err) < 0 ||
	    tw_metric_choice_open(&w.choice, NULL, NULL, err) < 0 ||
	    read_files(&w, err) < 0)
		goto out;
	if (do_phases(&w, err) < 0)
		goto out;
	*out = w.runs;
	w.runs = (struct tw_workload_runs){ 0 };
	rc = 0;
out:
	tw_metric_choice_release(&w.choice);
	tw_target_release(&w.target);
	tw_workload_runs_release(&w.runs);
	tw_buf_clear(&w.warnings);
	return rc;
}
