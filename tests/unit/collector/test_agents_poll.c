/* SPDX-License-Identifier: Apache-2.0 */
/* Which agents are polled, by the messages of tw-ask: a queue here, at a time of its own.
 */
#include "collector/agents/agents.h"

#include "collector/agents/agent.h"
#include "lib/ask/ask.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "tests/unit/collector/package_row.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/tw_test.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MESSAGES 1024
#define PLACES 1024
#define LOOKUPS 64

/* ---- the helper ---- */

static struct {
	struct tw_ask_message *queue[MESSAGES];
	size_t first, count;
	uint64_t now_s;
	json_t *settings;
	bool exited, open;
} helper;

int clock_gettime(clockid_t clock, struct timespec *out)
{
	(void)clock;
	*out = (struct timespec){ .tv_sec = (time_t)helper.now_s };
	return 0;
}

int tw_ask_open(const struct tw_ask_config *c, const char *job, json_t *settings,
		struct tw_ask **out, struct tw_err *err)
{
	(void)c;
	assert_string_equal(job, "agents");
	if (settings == NULL)
		return tw_fail(err, TW_NOMEM, "settings");
	json_decref(helper.settings);
	helper.settings = settings;
	helper.open = true;
	*out = (struct tw_ask *)&helper;
	return 0;
}

bool tw_ask_next(struct tw_ask *a, struct tw_ask_message *out)
{
	(void)a;
	if (helper.first == helper.count)
		return false;
	*out = *helper.queue[helper.first];
	free(helper.queue[helper.first++]);
	return true;
}

int tw_ask_fd(const struct tw_ask *a)
{
	(void)a;
	return helper.exited ? -1 : 7;
}

void tw_ask_close(struct tw_ask *a)
{
	struct tw_ask_message m;

	while (tw_ask_next(a, &m))
		;
	json_decref(helper.settings);
	helper.settings = NULL;
	helper.open = false;
}

void tw_ask_wait(const struct tw_ask *a, unsigned ms)
{
	(void)a;
	(void)ms;
}

void tw_ask_again(struct tw_ask *a)
{
	(void)a;
}

static struct tw_ask_message *say(enum tw_ask_kind kind, uint32_t place)
{
	struct tw_ask_message *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	if (helper.first == helper.count)
		helper.first = helper.count = 0;
	assert_true(helper.count < MESSAGES);
	helper.queue[helper.count++] = m;
	m->kind = kind;
	m->place = place;
	return m;
}

/* ---- the fixture ---- */

struct poll {
	struct tw_agents_options o;
	struct tw_agents *a;
};

static void open_agents(struct poll *p, const char *levels, enum tw_guests guests)
{
	const struct tw_ask_config ask = { .filter = true };
	struct tw_err err = { 0 };

	tw_agents_close(p->a);
	p->a = NULL;
	tw_strs_clear(&p->o.levels);
	assert_int_equal(tw_strs_split(&p->o.levels, levels, &err), 0);
	p->o.guests = guests;
	if (tw_agents_open(&p->o, &ask, 60000, &p->a, &err) < 0)
		fail_msg("%s", err.text);
}

static int set_up(void **state)
{
	struct poll *p = calloc(1, sizeof(*p));
	struct tw_err err = { 0 };

	if (p == NULL)
		return -1;
	helper.now_s = 100000;
	helper.exited = false;
	p->o.interval_ms = 10000;
	p->o.refresh_ms = 30000;
	p->o.timeout_ms = 5000;
	assert_int_equal(tw_strs_split(&p->o.urls, "http://a,dns:b", &err), 0);
	open_agents(p, "node,vm,pod", TW_GUESTS_AUTO);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct poll *p = *state;

	tw_agents_close(p->a);
	assert_false(helper.open);
	tw_strs_clear(&p->o.urls);
	tw_strs_clear(&p->o.levels);
	free(p);
	return 0;
}

static void poll_from_now(struct poll *p, uint32_t place, const char *url)
{
	strcpy(say(TW_ASK_AGENT, place)->of.url, url);
	tw_agents_drain(p->a);
}

static struct tw_ask_row *say_row(uint32_t place, const char *level, const char *id,
				  uint64_t uj)
{
	struct tw_ask_row *r = &say(TW_ASK_AGENT_ROW, place)->of.row;

	*r = package_row(level, id, uj);
	return r;
}

static struct tw_ask_answer *say_answer(uint32_t place, const char *node,
					const char *instance, uint64_t uptime_s,
					uint32_t rows)
{
	struct tw_ask_answer *a = &say(TW_ASK_AGENT_ANSWER, place)->of.answer;

	*a = (struct tw_ask_answer){
		.uptime_ms = uptime_s * 1000, .took_ms = 7, .bytes = 99, .rows = rows
	};
	strcpy(a->node, node);
	strcpy(a->instance, instance);
	return a;
}

/* An answer of a node alone. */
static void answer(struct poll *p, uint32_t place, const char *node, const char *instance,
		   uint64_t uptime_s, uint64_t uj)
{
	say_row(place, "node", "zone", uj);
	say_answer(place, node, instance, uptime_s, 1);
	tw_agents_drain(p->a);
}

/* The agent of the URL that is shown; false: it is not. */
static bool find(const struct poll *p, const char *url, struct tw_agent_state *out)
{
	for (size_t at = 0; tw_agents_next(p->a, &at, out); at++)
		if (strcmp(out->url, url) == 0)
			return true;
	return false;
}

static struct tw_agent_state state_of(const struct poll *p, const char *url)
{
	struct tw_agent_state s;

	if (!find(p, url, &s))
		fail_msg("no agent %s", url);
	return s;
}

static uint64_t energy_of(const struct tw_sum *sum)
{
	uint64_t uj = 0;

	for (size_t i = 0; sum != NULL && i < sum->parts; i++)
		uj += sum->part[i].dynamic_uj + sum->part[i].idle_uj;
	return uj;
}

static uint64_t all_energy(struct poll *p)
{
	return energy_of(tw_sums_all(tw_agents_sums(p->a)));
}

static uint64_t node_energy(struct poll *p, const char *node)
{
	const struct tw_sums *s = tw_agents_sums(p->a);

	for (const struct tw_sum *n = NULL;
	     (n = tw_sums_next(s, TW_SUM_NODE, n)) != NULL;)
		if (strcmp(n->names.node, node) == 0)
			return energy_of(n);
	return UINT64_MAX;
}

static double watts_of(const struct tw_sum *sum)
{
	double watts = 0;

	for (size_t i = 0; i < sum->parts; i++)
		watts += sum->part[i].powered ? sum->part[i].watts : 0;
	return watts;
}

static double all_watts(struct poll *p)
{
	return watts_of(tw_sums_all(tw_agents_sums(p->a)));
}

/* ---- start ---- */

static void the_helper_asks_for_the_levels_and_for_machines(void **state)
{
	static const struct {
		const char *levels, *query;
	} cases[] = {
		{ "node", "node,vm" },
		{ "vm", "node,vm" },
		{ "namespace", "node,vm,pod" },
		{ "pod", "node,vm,pod" },
		{ "container", "node,vm,container" },
		{ "job", "node,vm,job" },
		{ "node,namespace,pod,container,vm,job", "node,vm,pod,container,job" },
	};
	struct poll *p = *state;

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		char wanted[256], *settings;

		open_agents(p, cases[i].levels, TW_GUESTS_AUTO);
		snprintf(wanted, sizeof(wanted),
			 "{\"interval_ms\":10000,\"query\":\"/api/v1/power?level=%s\","
			 "\"refresh_ms\":30000,\"timeout_ms\":5000,"
			 "\"urls\":[\"http://a\",\"dns:b\"]}",
			 cases[i].query);
		settings = json_dumps(helper.settings, JSON_COMPACT | JSON_SORT_KEYS);
		assert_string_equal(settings, wanted);
		free(settings);
	}
	assert_true(tw_agents_shows(p->a, "job"));
	open_agents(p, "node", TW_GUESTS_AUTO);
	assert_false(tw_agents_shows(p->a, "job"));
	assert_int_equal(tw_agents_fd(p->a), 7);
}

static void without_memory_there_are_no_agents(void **state)
{
	struct poll *p = *state;
	const struct tw_ask_config ask = { .filter = true };

	for (int n = 1;; n++) {
		struct tw_agents *a = NULL;
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_agents_open(&p->o, &ask, 60000, &a, &err);
		if (!fail_alloc_told(rc, &err)) {
			tw_agents_close(a);
			break;
		}
	}
}

/* ---- polls ---- */

static void an_agent_is_up_from_its_answer_to_its_failure(void **state)
{
	struct poll *p = *state;
	struct tw_agent_state s;

	poll_from_now(p, PLACES - 1, "http://a");
	poll_from_now(p, PLACES, "http://beyond");
	assert_false(find(p, "http://beyond", &s));
	s = state_of(p, "http://a");
	assert_false(s.up);
	assert_string_equal(s.why, "not asked yet");
	assert_true(s.age_ms == UINT64_MAX && s.answers == 0 && s.role == TW_AGENT_NODE);
	answer(p, PLACES - 1, "n1", "i1", 5, 100);
	helper.now_s += 4;
	s = state_of(p, "http://a");
	assert_true(s.up && s.age_ms == 4000 && s.took_ms == 7 && s.bytes == 99);
	assert_true(s.rows == 1 && s.answers == 1 && s.failures == 0 && s.restarts == 0);
	assert_string_equal(s.node, "n1");
	assert_string_equal(s.instance, "i1");
	assert_string_equal(s.why, "");
	assert_float_equal(all_watts(p), 5, 1e-9);
	assert_float_equal(
		watts_of(tw_sums_next(tw_agents_sums(p->a), TW_SUM_NODE, NULL)), 5, 1e-9);
	strcpy(say(TW_ASK_AGENT_FAILED, PLACES - 1)->why, "timeout");
	helper.queue[helper.count - 1]->of.answer.took_ms = 5000;
	tw_agents_drain(p->a);
	s = state_of(p, "http://a");
	assert_true(!s.up && s.failures == 1 && s.answers == 1 && s.took_ms == 5000);
	assert_string_equal(s.why, "timeout");
	/* A reason as long as its room. */
	memset(say(TW_ASK_AGENT_FAILED, PLACES - 1)->why, 'x', TW_ASK_WHY - 1);
	tw_agents_drain(p->a);
	assert_int_equal(strlen(state_of(p, "http://a").why), TW_ASK_WHY - 1);
	assert_float_equal(all_watts(p), 0, 1e-9);
	assert_int_equal(all_energy(p), 100);
	answer(p, PLACES - 1, "n1", "i1", 15, 130);
	assert_string_equal(state_of(p, "http://a").why, "");
	assert_int_equal(all_energy(p), 130);
}

/* Of places that no agent has, nothing is taken. */
static void messages_of_no_agent_change_nothing(void **state)
{
	struct poll *p = *state;
	static const enum tw_ask_kind kinds[] = { TW_ASK_AGENT_GONE, TW_ASK_AGENT_ROW,
						  TW_ASK_AGENT_ANSWER,
						  TW_ASK_AGENT_FAILED, TW_ASK_ZONE };

	poll_from_now(p, 0, "http://a");
	for (size_t i = 0; i < TW_COUNT(kinds); i++) {
		say(kinds[i], 1);
		say(kinds[i], PLACES);
		say(kinds[i], UINT32_MAX);
	}
	tw_agents_drain(p->a);
	assert_int_equal(state_of(p, "http://a").failures, 0);
	answer(p, 0, "n1", "i1", 5, 100);
	assert_int_equal(all_energy(p), 100);
}

static void an_answer_has_its_own_rows_and_all_of_them(void **state)
{
	struct poll *p = *state;

	poll_from_now(p, 0, "http://a");
	poll_from_now(p, 1, "http://b");
	/* Rows of another agent came between. */
	say_row(0, "node", "zone", 1000);
	say_row(1, "node", "zone", 20);
	say_answer(1, "n2", "i2", 5, 1);
	say_answer(0, "n1", "i1", 5, 1);
	tw_agents_drain(p->a);
	assert_int_equal(state_of(p, "http://a").answers, 0);
	assert_int_equal(state_of(p, "http://b").answers, 1);
	/* One of its rows is missing. */
	say_row(0, "node", "zone", 1000);
	say_answer(0, "n1", "i1", 5, 2);
	tw_agents_drain(p->a);
	assert_int_equal(state_of(p, "http://a").answers, 0);
	/* Rows that no answer has ended are not the next one's. */
	answer(p, 0, "n1", "i1", 5, 300);
	assert_int_equal(all_energy(p), 320);
}

static void the_sum_waits_until_each_was_asked(void **state)
{
	struct poll *p = *state;

	poll_from_now(p, 0, "http://a");
	poll_from_now(p, 1, "http://b");
	poll_from_now(p, 2, "http://c");
	answer(p, 1, "n2", "i2", 5, 20);
	assert_int_equal(all_energy(p), 0);
	assert_int_equal(node_energy(p, "n2"), 20);
	/* One that is gone is not waited for. */
	say(TW_ASK_AGENT_GONE, 2);
	answer(p, 1, "n2", "i2", 6, 30);
	assert_int_equal(all_energy(p), 0);
	strcpy(say(TW_ASK_AGENT_FAILED, 0)->why, "refused");
	tw_agents_drain(p->a);
	assert_int_equal(all_energy(p), 30);
	/* Later ones are not waited for. */
	poll_from_now(p, 3, "http://d");
	answer(p, 1, "n2", "i2", 7, 31);
	assert_int_equal(all_energy(p), 31);
	answer(p, 0, "n1", "i1", 7, 5);
	assert_int_equal(all_energy(p), 36);
}

/* Nor does a helper that failed before it named an agent make a sum whole. */
static void without_an_agent_there_is_no_whole_sum(void **state)
{
	struct poll *p = *state;

	strcpy(say(TW_ASK_FAILED, 0)->why, "it crashed");
	tw_agents_drain(p->a);
	poll_from_now(p, 0, "http://a");
	poll_from_now(p, 1, "http://b");
	answer(p, 0, "n1", "i1", 5, 20);
	assert_int_equal(all_energy(p), 0);
	answer(p, 1, "n2", "i2", 5, 30);
	assert_int_equal(all_energy(p), 50);
}

/* A drain has an end: a tick waits for it. */
static void a_drain_takes_some_messages(void **state)
{
	struct poll *p = *state;
	struct tw_agent_state s;

	for (uint32_t i = 0; i < 520; i++)
		snprintf(say(TW_ASK_AGENT, i)->of.url, TW_ASK_AGENT_URL, "http://%u", i);
	tw_agents_drain(p->a);
	assert_true(find(p, "http://511", &s));
	assert_false(find(p, "http://512", &s));
	tw_agents_drain(p->a);
	assert_true(find(p, "http://519", &s));
}

/* ---- addresses that come and go ---- */

static void an_address_that_is_gone_is_remembered_for_an_hour(void **state)
{
	struct poll *p = *state;
	struct tw_agent_state s;

	poll_from_now(p, 0, "http://a");
	answer(p, 0, "n1", "i1", 5, 100);
	say(TW_ASK_AGENT_GONE, 0);
	tw_agents_drain(p->a);
	assert_false(find(p, "http://a", &s));
	assert_float_equal(all_watts(p), 0, 1e-9);
	/* An answer that comes late has no agent. */
	answer(p, 0, "n1", "i1", 6, 120);
	helper.now_s += 3600;
	assert_int_equal(all_energy(p), 100);
	/* At another place, and of the same counters. */
	poll_from_now(p, 4, "http://a");
	assert_string_equal(state_of(p, "http://a").why,
			    "its name has lost this address");
	assert_false(state_of(p, "http://a").up);
	answer(p, 4, "n1", "i1", 3605, 150);
	assert_int_equal(all_energy(p), 150);
	assert_int_equal(state_of(p, "http://a").answers, 2);
	say(TW_ASK_AGENT_GONE, 4);
	tw_agents_drain(p->a);
	helper.now_s += 3601;
	assert_int_equal(all_energy(p), 150);
	poll_from_now(p, 0, "http://a");
	assert_string_equal(state_of(p, "http://a").why, "not asked yet");
	/* What it has counted meanwhile is not known to be after the base. */
	answer(p, 0, "n1", "i1", 7206, 190);
	assert_int_equal(all_energy(p), 150);
	answer(p, 0, "n1", "i1", 7207, 191);
	assert_int_equal(all_energy(p), 151);
}

/* It may have begun between two lookups: an interval and a refresh ago. */
static void an_agent_that_began_since_the_last_lookup_counts_from_its_start(void **state)
{
	struct poll *p = *state;

	poll_from_now(p, 0, "http://a");
	poll_from_now(p, 1, "http://b");
	answer(p, 0, "n1", "i1", 41, 100);
	answer(p, 1, "n2", "i2", 42, 70);
	assert_int_equal(node_energy(p, "n1"), 100);
	assert_int_equal(node_energy(p, "n2"), 0);
	assert_int_equal(all_energy(p), 100);
}

static void one_process_has_one_address(void **state)
{
	struct poll *p = *state;
	struct tw_agent_state s;

	poll_from_now(p, 0, "http://a");
	poll_from_now(p, 1, "http://b");
	answer(p, 0, "n1", "i1", 5, 100);
	answer(p, 1, "n1", "i1", 5, 100);
	s = state_of(p, "http://b");
	assert_false(s.up);
	assert_string_equal(s.why, "the same as http://a");
	assert_int_equal(all_energy(p), 100);
	/* The first is gone: the process has moved, and its counters go on. */
	say(TW_ASK_AGENT_GONE, 0);
	answer(p, 1, "n1", "i1", 15, 130);
	assert_true(state_of(p, "http://b").up);
	assert_int_equal(all_energy(p), 130);
	assert_int_equal(node_energy(p, "n1"), 130);
	/* It comes back, and gets its process back from who has taken it. */
	poll_from_now(p, 2, "http://a");
	s = state_of(p, "http://a");
	assert_string_equal(s.why, "its name has lost this address");
	assert_int_equal(s.failures, 0);
	answer(p, 2, "n1", "i1", 25, 160);
	assert_true(state_of(p, "http://a").up);
	s = state_of(p, "http://b");
	assert_false(s.up);
	assert_string_equal(s.why, "the same as http://a");
	assert_int_equal(s.failures, 2);
	assert_int_equal(all_energy(p), 160);
	answer(p, 1, "n1", "i1", 26, 170);
	assert_false(state_of(p, "http://b").up);
	/* An agent of an old release has no instance: such are not the same. */
	answer(p, 1, "n2", "", 26, 3);
	poll_from_now(p, 0, "http://c");
	answer(p, 0, "n3", "", 26, 4);
	assert_true(state_of(p, "http://b").up && state_of(p, "http://c").up);
	/* The second had lost its counters with its process: its first answer is a base.
	 */
	assert_int_equal(all_energy(p), 164);
}

/* Also where another one, that took it over, answers first. */
static void a_process_is_of_the_address_that_proved_it(void **state)
{
	struct poll *p = *state;

	poll_from_now(p, 0, "http://a");
	poll_from_now(p, 1, "http://b");
	answer(p, 0, "n1", "i1", 5, 100);
	say(TW_ASK_AGENT_GONE, 0);
	answer(p, 1, "n1", "i1", 15, 110);
	poll_from_now(p, 2, "http://a");
	answer(p, 1, "n1", "i1", 16, 111);
	assert_true(state_of(p, "http://b").up);
	answer(p, 2, "n1", "i1", 17, 112);
	assert_true(state_of(p, "http://a").up);
	answer(p, 1, "n1", "i1", 18, 113);
	assert_string_equal(state_of(p, "http://b").why, "the same as http://a");
	assert_true(state_of(p, "http://a").up);
	assert_int_equal(all_energy(p), 112);
	/* With another process it has a proof of its own. */
	helper.now_s++;
	answer(p, 1, "n2", "i2", 1, 7);
	answer(p, 2, "n1", "i2", 19, 113);
	assert_string_equal(state_of(p, "http://a").why, "the same as http://b");
	assert_true(state_of(p, "http://b").up);
}

static void a_name_of_a_node_is_of_the_first(void **state)
{
	struct poll *p = *state;

	poll_from_now(p, 0, "http://a");
	poll_from_now(p, 1, "http://b");
	answer(p, 0, "n1", "i1", 5, 100);
	answer(p, 1, "n1", "i2", 5, 7);
	assert_int_equal(node_energy(p, "n1"), 100);
	assert_int_equal(node_energy(p, "http://b"), 7);
	assert_int_equal(state_of(p, "http://b").left_out[TW_LEFT_NODE], 1);
	assert_int_equal(state_of(p, "http://a").left_out[TW_LEFT_NODE], 0);
	/* It keeps its name, and the second gets it once it is free. */
	answer(p, 0, "n1", "i1", 15, 110);
	assert_int_equal(node_energy(p, "n1"), 110);
	say(TW_ASK_AGENT_GONE, 0);
	answer(p, 1, "n1", "i2", 15, 9);
	assert_int_equal(state_of(p, "http://b").left_out[TW_LEFT_NODE], 1);
	assert_int_equal(all_energy(p), 119);
	/* Of one letter, too. */
	answer(p, 1, "x", "i2", 16, 9);
	poll_from_now(p, 0, "http://d");
	answer(p, 0, "x", "i4", 5, 0);
	assert_int_equal(state_of(p, "http://d").left_out[TW_LEFT_NODE], 1);
	/* Without a name nobody takes one. */
	answer(p, 1, "", "i2", 16, 10);
	poll_from_now(p, 0, "http://c");
	answer(p, 0, "", "i3", 5, 1);
	assert_int_equal(state_of(p, "http://c").left_out[TW_LEFT_NODE], 0);
}

static void energy_that_cannot_be_bars_an_agent_for_a_while(void **state)
{
	struct poll *p = *state;

	poll_from_now(p, 0, "http://a");
	answer(p, 0, "n1", "i1", 5, 100);
	answer(p, 0, "n1", "i1", 6, UINT64_C(1) << 58);
	assert_false(state_of(p, "http://a").up);
	assert_non_null(strstr(state_of(p, "http://a").why, "impossible power, over"));
	helper.now_s += 599;
	answer(p, 0, "n1", "i1", 605, (UINT64_C(1) << 58) + 5);
	assert_string_equal(state_of(p, "http://a").why,
			    "impossible power in the last 10 minutes");
	assert_int_equal(state_of(p, "http://a").failures, 2);
	helper.now_s += 1;
	answer(p, 0, "n1", "i1", 606, (UINT64_C(1) << 58) + 7);
	assert_true(state_of(p, "http://a").up);
	assert_int_equal(all_energy(p), 102);
	/* Watts alone bar nobody, and are not taken. */
	say_row(0, "node", "zone", (UINT64_C(1) << 58) + 8)->energy[0].watts = 1e9;
	say_answer(0, "n1", "i1", 607, 1);
	tw_agents_drain(p->a);
	assert_false(state_of(p, "http://a").up);
	answer(p, 0, "n1", "i1", 608, (UINT64_C(1) << 58) + 9);
	assert_true(state_of(p, "http://a").up);
	assert_int_equal(all_energy(p), 104);
}

/* ---- guests ---- */

static void guest_answers(struct poll *p, uint32_t place, uint64_t uptime_s, uint64_t uj)
{
	say_row(place, "node", "zone", uj);
	strcpy(say_answer(place, "guest", "ig", uptime_s, 1)->vm_id, "U");
	tw_agents_drain(p->a);
}

static void host_answers(struct poll *p, uint32_t place, uint64_t uptime_s, uint64_t uj,
			 uint64_t vm_uj)
{
	say_row(place, "node", "zone", uj)->energy[0].watts = 50;
	say_row(place, "vm", "u", vm_uj);
	say_answer(place, "host", "ih", uptime_s, 2);
	tw_agents_drain(p->a);
}

/* What a guest has beyond its host counts after three intervals. */
static void a_guest_is_known_by_its_host(void **state)
{
	struct poll *p = *state;

	poll_from_now(p, 0, "http://guest");
	poll_from_now(p, 1, "http://host");
	guest_answers(p, 0, 5, 50);
	assert_int_equal(state_of(p, "http://guest").role, TW_AGENT_NODE);
	host_answers(p, 1, 5, 1000, 40);
	assert_int_equal(state_of(p, "http://guest").role, TW_AGENT_GUEST);
	assert_int_equal(state_of(p, "http://host").role, TW_AGENT_NODE);
	assert_int_equal(all_energy(p), 1000);
	helper.now_s += 29;
	host_answers(p, 1, 34, 1000, 40);
	assert_int_equal(all_energy(p), 1000);
	helper.now_s += 1;
	guest_answers(p, 0, 35, 50);
	assert_int_equal(all_energy(p), 1010);
	assert_int_equal(state_of(p, "http://guest").beyond_uj[TW_ZONE_PACKAGE], 10);
	assert_int_equal(node_energy(p, "guest"), 50);
	/* The VM's 5 W are the host's. */
	assert_float_equal(all_watts(p), 50, 1e-9);
	open_agents(p, "node,vm", TW_GUESTS_ADD);
	poll_from_now(p, 0, "http://guest");
	poll_from_now(p, 1, "http://host");
	guest_answers(p, 0, 5, 50);
	host_answers(p, 1, 5, 1000, 40);
	assert_int_equal(state_of(p, "http://guest").role, TW_AGENT_NODE);
	assert_int_equal(all_energy(p), 1050);
	assert_float_equal(all_watts(p), 55, 1e-9);
}

/* Nor can a host's VM without an id take the energy of the agents that have none. */
static void an_agent_without_an_id_is_no_guest(void **state)
{
	struct poll *p = *state;

	poll_from_now(p, 0, "http://a");
	poll_from_now(p, 1, "http://liar");
	answer(p, 0, "n1", "i1", 5, 100);
	say_row(1, "node", "zone", 7);
	say_row(1, "vm", "", 1000);
	say_answer(1, "liar", "il", 5, 2);
	tw_agents_drain(p->a);
	assert_int_equal(state_of(p, "http://a").role, TW_AGENT_NODE);
	assert_int_equal(all_energy(p), 107);
}

/* One that shows the watts of all its host reads the host's meter. */
static void a_guest_that_shows_its_host_has_no_watts(void **state)
{
	struct poll *p = *state;

	poll_from_now(p, 1, "http://host");
	poll_from_now(p, 0, "http://guest");
	host_answers(p, 1, 5, 1000, 40);
	say_row(0, "node", "zone", 500)->energy[0].watts = 52;
	strcpy(say_answer(0, "guest", "ig", 5, 1)->vm_id, "u");
	tw_agents_drain(p->a);
	assert_float_equal(all_watts(p), 50, 1e-9);
	assert_int_equal(all_energy(p), 1000);
	/* Its host has another machine now: it is a node. */
	say_row(1, "node", "zone", 1000)->energy[0].watts = 50;
	say_answer(1, "host", "ih", 6, 1);
	tw_agents_drain(p->a);
	assert_float_equal(all_watts(p), 102, 1e-9);
}

static void guest_shows(struct poll *p, double watts)
{
	say_row(0, "node", "zone", 0)->energy[0].watts = watts;
	strcpy(say_answer(0, "guest", "ig", 5, 1)->vm_id, "u");
	tw_agents_drain(p->a);
}

/* Each answer of a guest is one comparison, however often others answer meanwhile. */
static void a_guest_is_compared_once_an_answer(void **state)
{
	struct poll *p = *state;

	poll_from_now(p, 1, "http://host");
	poll_from_now(p, 0, "http://guest");
	host_answers(p, 1, 5, 1000, 40);
	guest_shows(p, 52);
	for (uint64_t i = 0; i < 5; i++)
		host_answers(p, 1, 6 + i, 1000, 40);
	assert_float_equal(all_watts(p), 50, 1e-9);
	helper.now_s++;
	guest_shows(p, 20);
	assert_float_equal(all_watts(p), 65, 1e-9);
}

/* A host that has another address is the host of its machines, whatever it says there. */
static void a_host_may_move(void **state)
{
	struct poll *p = *state;

	poll_from_now(p, 1, "http://host");
	poll_from_now(p, 0, "http://guest");
	host_answers(p, 1, 5, 1000, 40);
	say(TW_ASK_AGENT_GONE, 1);
	poll_from_now(p, 2, "http://moved");
	say_row(2, "vm", "u", 40)->energy[0].watts = 1e9;
	say_answer(2, "host", "ih", 6, 1);
	tw_agents_drain(p->a);
	assert_false(state_of(p, "http://moved").up);
	/* The guest shows what the host showed last. */
	guest_shows(p, 52);
	assert_float_equal(all_watts(p), 0, 1e-9);
	host_answers(p, 2, 7, 1000, 40);
	assert_float_equal(all_watts(p), 50, 1e-9);
}

static void energy_that_a_host_has_written_is_a_guest_s(void **state)
{
	static const struct {
		enum tw_guests guests;
		enum tw_agent_role role;
		uint64_t uj;
	} cases[] = { { TW_GUESTS_AUTO, TW_AGENT_GUEST, 0 },
		      { TW_GUESTS_ADD, TW_AGENT_NODE, 60 } };
	struct poll *p = *state;

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		open_agents(p, "node", cases[i].guests);
		poll_from_now(p, 0, "http://a");
		strcpy(say_row(0, "node", "zone", 60)->energy[0].source, "passthrough");
		say_answer(0, "n1", "i1", 5, 1);
		tw_agents_drain(p->a);
		assert_int_equal(state_of(p, "http://a").role, cases[i].role);
		assert_int_equal(all_energy(p), cases[i].uj);
	}
}

static void pods_of_a_guest_in_a_pod_are_in_its_namespace_once(void **state)
{
	struct poll *p = *state;
	const struct tw_sums *s;
	const struct tw_sum *shop;

	for (uint32_t in_pod = 0; in_pod < 2; in_pod++) {
		open_agents(p, "namespace", TW_GUESTS_AUTO);
		poll_from_now(p, 1, "http://host");
		poll_from_now(p, 0, "http://guest");
		say_row(1, "vm", "u", 40)->in_pod = in_pod;
		say_answer(1, "host", "ih", 5, 1);
		strcpy(say_row(0, "pod", "p", 30)->name_space, "shop");
		strcpy(say_answer(0, "guest", "ig", 5, 1)->vm_id, "u");
		tw_agents_drain(p->a);
		s = tw_agents_sums(p->a);
		shop = tw_sums_next(s, TW_SUM_NAMESPACE, NULL);
		assert_int_equal(energy_of(shop), in_pod != 0 ? 0 : 30);
	}
}

/* ---- the helper's own state ---- */

static void lookups_are_those_that_the_helper_makes(void **state)
{
	struct poll *p = *state;
	const struct tw_agents_lookup *l;
	size_t count;

	tw_agents_lookups(p->a, &count);
	assert_int_equal(count, 0);
	strcpy(say(TW_ASK_LOOKUP, 1)->of.url, "dns:b");
	strcpy(helper.queue[helper.count - 1]->why, "no such name");
	strcpy(say(TW_ASK_LOOKUP, LOOKUPS)->of.url, "dns:beyond");
	tw_agents_drain(p->a);
	l = tw_agents_lookups(p->a, &count);
	assert_int_equal(count, 2);
	assert_string_equal(l[1].name, "dns:b");
	assert_string_equal(l[1].why, "no such name");
	assert_string_equal(l[0].name, "");
	strcpy(say(TW_ASK_LOOKUP, LOOKUPS - 1)->of.url, "dns:last");
	strcpy(say(TW_ASK_LOOKUP, 1)->of.url, "dns:b");
	tw_agents_drain(p->a);
	l = tw_agents_lookups(p->a, &count);
	assert_int_equal(count, LOOKUPS);
	assert_string_equal(l[LOOKUPS - 1].name, "dns:last");
	assert_string_equal(l[1].why, "");
}

/* While it fails, all that were known are shown, with the first reason. */
static void a_helper_that_fails_fails_its_agents(void **state)
{
	struct poll *p = *state;
	struct tw_agent_state s;

	poll_from_now(p, 0, "http://a");
	poll_from_now(p, PLACES - 1, "http://b");
	answer(p, 0, "n1", "i1", 5, 100);
	assert_int_equal(all_energy(p), 0);
	strcpy(say(TW_ASK_FAILED, 0)->why, "it crashed");
	strcpy(say(TW_ASK_FAILED, 0)->why, "it has exited");
	tw_agents_drain(p->a);
	assert_string_equal(tw_agents_failure(p->a), "it crashed");
	assert_int_equal(all_energy(p), 100);
	s = state_of(p, "http://a");
	assert_true(!s.up && s.failures == 1);
	assert_string_equal(s.why, "it crashed");
	assert_false(state_of(p, "http://b").up);
	/* It starts anew, and gives places. */
	poll_from_now(p, 1, "http://a");
	assert_string_equal(tw_agents_failure(p->a), "");
	assert_false(find(p, "http://b", &s));
	answer(p, 1, "n1", "i1", 15, 110);
	assert_int_equal(all_energy(p), 110);
	/* It is gone: what it has said is taken, and nothing is asked for again. */
	helper.exited = true;
	say(TW_ASK_AGENT_GONE, 1);
	say(TW_ASK_AGENT_GONE, 0);
	tw_agents_drain(p->a);
	assert_int_equal(helper.count - helper.first, 1);
}

static void a_node_alone_is_what_its_agent_says(void **state)
{
	struct poll *p = *state;
	struct tw_sum_part part[TW_SUM_PARTS_MAX];

	poll_from_now(p, 0, "http://a");
	answer(p, 0, "n1", "i1", 5, 100);
	assert_int_equal(tw_agents_parts(p->a, 0, part), 1);
	assert_int_equal(part[0].dynamic_uj, 100);
	assert_true(part[0].powered && part[0].watts == 5);
	say(TW_ASK_AGENT_FAILED, 0);
	tw_agents_drain(p->a);
	assert_int_equal(tw_agents_parts(p->a, 0, part), 1);
	assert_int_equal(part[0].dynamic_uj, 100);
	assert_false(part[0].powered);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_helper_asks_for_the_levels_and_for_machines),
		TEST(without_memory_there_are_no_agents),
		TEST(an_agent_is_up_from_its_answer_to_its_failure),
		TEST(messages_of_no_agent_change_nothing),
		TEST(an_answer_has_its_own_rows_and_all_of_them),
		TEST(the_sum_waits_until_each_was_asked),
		TEST(without_an_agent_there_is_no_whole_sum),
		TEST(a_drain_takes_some_messages),
		TEST(an_address_that_is_gone_is_remembered_for_an_hour),
		TEST(an_agent_that_began_since_the_last_lookup_counts_from_its_start),
		TEST(one_process_has_one_address),
		TEST(a_process_is_of_the_address_that_proved_it),
		TEST(a_name_of_a_node_is_of_the_first),
		TEST(energy_that_cannot_be_bars_an_agent_for_a_while),
		TEST(a_guest_is_known_by_its_host),
		TEST(an_agent_without_an_id_is_no_guest),
		TEST(a_guest_that_shows_its_host_has_no_watts),
		TEST(a_guest_is_compared_once_an_answer),
		TEST(a_host_may_move),
		TEST(energy_that_a_host_has_written_is_a_guest_s),
		TEST(pods_of_a_guest_in_a_pod_are_in_its_namespace_once),
		TEST(lookups_are_those_that_the_helper_makes),
		TEST(a_helper_that_fails_fails_its_agents),
		TEST(a_node_alone_is_what_its_agent_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
