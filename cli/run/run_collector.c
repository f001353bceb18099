/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/memory.h"
#include "cli/run/run_child.h"
#include "cli/run/run_energy.h"
#include "cli/top/top_rows.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/http/client/http.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAUSE_MS 50
/* A tick that is so late will not come. */
#define PATIENCE_TICKS 3
#define PATIENCE_MS 10000
#define INTERVAL_MAX_S 86400
/* The collector and the kernel differ by at most this share in a cgroup's CPU time. */
#define CLOCKS_DIFFER 0.1

struct tw_run_collector {
	char *url;
	struct tw_http *http;
	double interval_s;
	uint64_t newest;             /* serial of the newest process before the run's */
	uint64_t ticks, first_ticks; /* of the last answer; when the run began */
	double peak_w;
	struct tw_run_rates rates; /* of the last answer */
};

/* ---- answers ---- */

static uint64_t count_of(const json_t *o, const char *key)
{
	const char *text = tw_json_text_or(o, key, "");
	uint64_t n;

	return tw_parse_u64(text, strlen(text), &n) ? n : 0;
}

static double rate_of(const json_t *answer, const char *key)
{
	const json_t *v = json_object_get(answer, key);

	return json_is_number(v) && json_number_value(v) >= 0 ? json_number_value(v)
							      : NAN;
}

/* *out is yours: json_decref(). */
static int ask(struct tw_run_collector *c, const char *levels, json_t **out,
	       struct tw_err *err)
{
	const struct tw_http_call how = { .session = c->http };
	double interval_s = 0;
	struct tw_http_answer answer = { 0 };
	long long ticks;
	char path[64];
	int rc = -1;

	*out = NULL;
	snprintf(path, sizeof(path), "/api/v1/power?level=%s", levels);
	if (tw_http_api_call(c->url, path, &how, &answer, err) < 0)
		return -1;
	if (tw_json_parse(answer.body, answer.len, "answer", out, err) == 0) {
		if (tw_json_int(*out, "answer", "ticks", false, 0, INT64_MAX, &ticks,
				err) == 0 &&
		    tw_json_number(*out, "answer", "interval_seconds", false, &interval_s,
				   err) == 0)
			rc = interval_s >= 0 && interval_s <= INTERVAL_MAX_S
				     ? 0
				     : tw_fail(err, TW_PARSE,
					       "answer.interval_seconds: %g, want at "
					       "most %d",
					       interval_s, INTERVAL_MAX_S);
	}
	if (rc < 0) {
		json_decref(*out);
		*out = NULL;
	}
	tw_http_answer_release(&answer);
	if (rc < 0)
		return tw_err_wrap(err, "'%s'", c->url);
	c->rates.per_kwh[TW_TARIFF_CO2E] = rate_of(*out, "co2e_grams_per_kwh");
	c->rates.per_kwh[TW_TARIFF_PRICE] = rate_of(*out, "price_per_kwh");
	c->ticks = (uint64_t)ticks;
	c->interval_s = interval_s;
	return 0;
}

/* Whether a row is of the cgroup with this name, or of one below it. */
static bool is_below(const json_t *row, const char *name)
{
	const char *path = tw_json_text_or(row, "cgroup", ""), *at = strstr(path, name);

	return at != NULL && at > path && at[-1] == '/' &&
	       (at[strlen(name)] == '\0' || at[strlen(name)] == '/');
}

static bool has_process(const struct tw_run_collector *c, const struct tw_run_child *of,
			const json_t *row)
{
	const uint64_t pid = count_of(row, "pid");

	/* Pids are used again; serials are not. */
	if (count_of(row, "serial") <= c->newest)
		return false;
	for (size_t i = 0; i < of->count; i++)
		if (of->pids[i] == pid)
			return true;
	return false;
}

/* With a cgroup, the processes of the run are those that have moved to another one. */
static bool is_of_run(const struct tw_run_collector *c, const struct tw_run_child *of,
		      const json_t *row)
{
	const bool below = of->cgroup != NULL && is_below(row, of->name);

	return strcmp(tw_json_text_or(row, "level", ""), "cgroup") == 0
		       ? below
		       : !below && has_process(c, of, row);
}

/* The sums over the rows of a run. */
struct sum {
	size_t rows;
	double joules, watts, cpu_s;
};

static void add_row(const json_t *answer, const json_t *row, struct sum *s)
{
	const json_t *z;
	size_t i;

	s->rows++;
	s->cpu_s += tw_json_number_or(row, "cpu_time_ms", 0) / 1e3;
	json_array_foreach(json_object_get(row, "zones"), i, z) {
		if (!tw_top_adds_up(answer, tw_json_text_or(z, "zone", "")))
			continue;
		s->joules += tw_json_number_or(z, "dynamic_joules", 0);
		s->watts += tw_json_number_or(z, "dynamic_watts", 0);
	}
}

static struct sum sum_of(const struct tw_run_collector *c, const struct tw_run_child *of,
			 const json_t *answer)
{
	struct sum s = { 0 };
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(answer, "workloads"), i, row)
		if (is_of_run(c, of, row))
			add_row(answer, row, &s);
	return s;
}

/* ---- the machine ---- */

static void add_source(char *list, size_t size, const char *source)
{
	const size_t used = strlen(list);

	if (strstr(list, source) == NULL)
		snprintf(list + used, size - used, "%s%.64s", used > 0 ? ", " : "",
			 source);
}

/* Add a zone of the machine, if it is read and in no other. NaN idle_w: not known yet. */
static void add_zone(const json_t *answer, const json_t *z, struct tw_run_figures *out,
		     double *idle_w)
{
	const json_t *idle = json_object_get(z, "idle_power_watts");

	if (!tw_top_adds_up(answer, tw_json_text_or(z, "zone", "")) ||
	    !json_is_true(json_object_get(z, "used")))
		return;
	out->machine_joules += tw_json_number_or(z, "dynamic_joules", 0) +
			       tw_json_number_or(z, "idle_joules", 0);
	add_source(out->source, sizeof(out->source), tw_json_text_or(z, "source", ""));
	out->estimated |= json_is_true(json_object_get(z, "estimated"));
	out->with_idle |= json_is_false(json_object_get(z, "idle_known"));
	if (json_is_number(idle))
		*idle_w = (isnan(*idle_w) ? 0 : *idle_w) + json_number_value(idle);
}

/* Source, idle power and error, of a machine that has zones with a reading. */
static void read_node(const json_t *answer, double seconds, struct tw_run_figures *out)
{
	const json_t *row, *z;
	double idle_w = NAN;
	size_t i, k;

	json_array_foreach(json_object_get(answer, "workloads"), i, row)
		if (strcmp(tw_json_text_or(row, "level", ""), "node") == 0)
			json_array_foreach(json_object_get(row, "zones"), k, z)
				add_zone(answer, z, out, &idle_w);
	out->simulated = strstr(out->source, "fake") != NULL;
	/* The idle power of a machine is known if each of its zones has a known one. */
	out->idle_joules = out->with_idle ? NAN : idle_w * seconds;
	out->with_idle |= isnan(idle_w) && !out->estimated;
	out->error_joules = out->estimated ? tw_top_error_w(answer) * seconds : NAN;
}

/* ---- a run ---- */

/* All processes of a machine are a long answer. */
static const char *levels_of(const struct tw_run_child *child)
{
	if (child->cgroup == NULL)
		return "node,process";
	return child->has_left ? "node,cgroup,process" : "node,cgroup";
}

int tw_run_collector_open(const char *url, struct tw_run_collector **out,
			  struct tw_err *err)
{
	struct tw_run_collector *c = tw_must(calloc(1, sizeof(*c)));
	json_t *answer = NULL;

	c->url = tw_must(strdup(url));
	if (tw_http_init(err) < 0 || tw_http_open(&c->http, err) < 0 ||
	    ask(c, "node", &answer, err) < 0)
		goto failed;
	if (json_array_size(json_object_get(answer, "sum")) == 0) {
		tw_fail(err, TW_IO, "'%s' does not know the power of its machine", url);
		goto failed;
	}
	json_decref(answer);
	*out = c;
	return 0;
failed:
	json_decref(answer);
	tw_run_collector_close(c);
	return -1;
}

void tw_run_collector_close(struct tw_run_collector *c)
{
	if (c == NULL)
		return;
	tw_http_close(c->http);
	free(c->url);
	free(c);
}

uint64_t tw_run_collector_tick_ms(const struct tw_run_collector *c)
{
	return (uint64_t)(c->interval_s * 1e3);
}

const struct tw_run_rates *tw_run_collector_rates(const struct tw_run_collector *c)
{
	return &c->rates;
}

/* The first tick has the command for a part only. */
static void take_peak(struct tw_run_collector *c, const struct sum *s)
{
	if (s->rows > 0 && c->ticks > c->first_ticks + 1 && !(s->watts <= c->peak_w))
		c->peak_w = s->watts;
}

void tw_run_collector_look(struct tw_run_collector *c, const struct tw_run_child *child)
{
	struct tw_err ignored = { 0 };
	json_t *answer = NULL;
	struct sum s;

	if (ask(c, levels_of(child), &answer, &ignored) < 0)
		return;
	s = sum_of(c, child, answer);
	take_peak(c, &s);
	json_decref(answer);
}

/* The answer with these levels, of a tick that began after now. */
static int wait_for_tick(struct tw_run_collector *c, const char *levels, json_t **out,
			 struct tw_err *err)
{
	const uint64_t until_ms =
		tw_now_ms() + PATIENCE_TICKS * tw_run_collector_tick_ms(c) + PATIENCE_MS;
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
	uint64_t wanted;

	if (ask(c, "node", out, err) < 0)
		return -1;
	wanted = c->ticks + 1;
	while (c->ticks < wanted) {
		json_decref(*out);
		*out = NULL;
		if (tw_now_ms() > until_ms)
			return tw_fail(err, TW_IO, "'%s': no tick for %.0f s", c->url,
				       PATIENCE_TICKS * c->interval_s +
					       PATIENCE_MS / 1e3);
		nanosleep(&pause, NULL);
		if (ask(c, "node", out, err) < 0)
			return -1;
	}
	json_decref(*out);
	*out = NULL;
	return ask(c, levels, out, err);
}

int tw_run_collector_mark(struct tw_run_collector *c, struct tw_err *err)
{
	json_t *answer = NULL;
	const json_t *row;
	size_t i;

	if (ask(c, "process", &answer, err) < 0)
		return -1;
	c->newest = 0;
	json_array_foreach(json_object_get(answer, "workloads"), i, row)
		if (count_of(row, "serial") > c->newest)
			c->newest = count_of(row, "serial");
	json_decref(answer);
	return 0;
}

int tw_run_collector_begin(struct tw_run_collector *c, struct tw_err *err)
{
	json_t *answer = NULL;

	c->peak_w = NAN;
	if (wait_for_tick(c, "node", &answer, err) < 0)
		return -1;
	json_decref(answer);
	c->first_ticks = c->ticks;
	return 0;
}

/*
 * Estimate the energy of processes that no tick saw: the others' joules for each second
 * of CPU time. With a cgroup, a small difference is one between two clocks.
 */
static void add_unseen(const struct tw_run_child *child, const struct sum *s,
		       struct tw_run_figures *out)
{
	const double known_s = s->cpu_s * (child->cgroup != NULL ? 1 + CLOCKS_DIFFER : 1);

	if (s->cpu_s <= 0 || child->cpu_s <= known_s)
		return;
	out->unseen = 1 - s->cpu_s / child->cpu_s;
	out->joules *= child->cpu_s / s->cpu_s;
}

int tw_run_collector_end(struct tw_run_collector *c, const struct tw_run_child *child,
			 struct tw_run_figures *out, struct tw_err *err)
{
	const double seconds = (double)(child->ended_ns - child->began_ns) / 1e9;
	json_t *answer = NULL;
	struct sum s;

	*out = (struct tw_run_figures){ .processes = child->cgroup == NULL };
	/* Processes that left the cgroup may have ended before a look at them. */
	if (wait_for_tick(c, "node,cgroup,process", &answer, err) < 0)
		return -1;
	s = sum_of(c, child, answer);
	out->joules = s.rows > 0 ? s.joules : NAN;
	out->peak_w = c->peak_w;
	add_unseen(child, &s, out);
	read_node(answer, seconds, out);
	if (s.rows == 0)
		snprintf(out->why, sizeof(out->why),
			 "the collector has no %s of it (its ticks are %g s)",
			 child->cgroup != NULL ? "cgroup" : "process", c->interval_s);
	json_decref(answer);
	return 0;
}

int tw_run_collector_read(struct tw_run_collector *c, const struct tw_run_child *child,
			  size_t count, struct tw_run_figures *out, double *seconds,
			  struct tw_err *err)
{
	json_t *answer = NULL;

	if (wait_for_tick(c, "node,process", &answer, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const struct sum s = sum_of(c, &child[i], answer);

		out[i] = (struct tw_run_figures){ .joules = s.joules, .cpu_s = s.cpu_s };
	}
	out[count] = (struct tw_run_figures){ 0 };
	read_node(answer, 0, &out[count]);
	*seconds = (double)c->ticks * c->interval_s;
	json_decref(answer);
	return 0;
}
