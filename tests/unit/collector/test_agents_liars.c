/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 200 agents of which 10 lie, each in a way of its own (make nightly-liars: 80 of them):
 * the sums of the honest ones are exact, the liars are named, and memory is bounded.
 */
#include "tests/unit/tw_test.h"

#include "collector/agents/agents.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "tests/unit/collector/package_row.h"
#include "tests/unit/collector/scripted_ask.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGENTS 200
#define PODS 4
#define ROUNDS 3
#define UJ_OF_ROUND 1000
#define LIARS "http://liars-%d"
/* What 200 agents may take: a row of an agent and its sums are about 1 KiB. */
#define BYTES_MAX (UINT64_C(600) << 20)

/* Places 0 to FIRST - 1 answer before the honest agents, the others after them. */
enum way {
	WAY_ENERGY,   /* 30 GJ in a moment */
	WAY_WATTS,    /* a gigawatt */
	WAY_RESTART,  /* another process in each answer, with 30 GJ */
	WAY_PODS,     /* 90 kW in each of its pods */
	WAY_SOURCES,  /* 64 new sources in each answer */
	WAY_NAMES,    /* 8,192 new pods in each answer */
	WAY_CUT,      /* and more of them than an answer may have */
	WAY_ZONE,     /* a kind of zone that nobody knows */
	WAY_INSTANCE, /* it says that it is another agent's process */
	WAY_NODE,     /* it says that it is on another agent's node */
	WAYS
};

static const char *const left_out_of[WAYS] = {
	[WAY_SOURCES] = "sources",
	[WAY_NAMES] = "sums",
	[WAY_CUT] = "rows",
	[WAY_NODE] = "node name",
};

static const char *const reasons[WAYS] = {
	[WAY_ENERGY] = "impossible power",  [WAY_WATTS] = "impossible power",
	[WAY_RESTART] = "impossible power", [WAY_PODS] = "impossible power",
	[WAY_ZONE] = "unknown zone",        [WAY_INSTANCE] = "the same as http://agent-",
};

/* ---- the agents ---- */

/* The liar at a place, or WAYS. Instances and names are of those who had them first. */
static enum way way_of(uint32_t place, uint32_t liars)
{
	uint32_t early = 0;

	for (uint32_t i = 0; i < liars; i++) {
		const enum way way = (enum way)(i % WAYS);
		const bool late = way >= WAY_INSTANCE;

		if (place == (late ? AGENTS - 1 - (i - early) : early))
			return way;
		early += !late;
	}
	return WAYS;
}

static struct tw_ask_message row_of(uint32_t place, const char *level, const char *id,
				    uint64_t uj)
{
	struct tw_ask_message m = { .kind = TW_ASK_AGENT_ROW, .place = place };

	m.of.row = package_row(level, id, uj);
	return m;
}

static uint32_t tell_pods(int fd, uint32_t place, uint64_t uj)
{
	for (int i = 0; i < PODS; i++) {
		char id[32];
		struct tw_ask_message m;

		snprintf(id, sizeof(id), "pod-%u-%d", place, i);
		m = row_of(place, "pod", id, uj);
		strcpy(m.of.row.name_space, uj > 0 ? "shop" : "");
		scripted_ask_tell(fd, &m);
	}
	return PODS;
}

static uint32_t tell_names(int fd, uint32_t place, uint64_t round)
{
	for (int i = 0; i < 8191; i++) {
		struct tw_ask_message m;
		char id[32];

		snprintf(id, sizeof(id), "%u-%d-%d", place, (int)round, i);
		m = row_of(place, "pod", id, 0);
		strcpy(m.of.row.name_space, id);
		scripted_ask_tell(fd, &m);
	}
	return 8191;
}

static uint32_t tell_sources(int fd, uint32_t place, uint64_t round)
{
	for (int i = 0; i < 64; i++) {
		char id[32];
		struct tw_ask_message m;

		snprintf(id, sizeof(id), "s%u-%d-%d", place, (int)round, i);
		m = row_of(place, "node", id, 0);
		snprintf(m.of.row.energy[0].source, sizeof(m.of.row.energy[0].source),
			 "%.23s", id);
		scripted_ask_tell(fd, &m);
	}
	return 64;
}

static uint32_t tell_lie(int fd, uint32_t place, enum way way, uint64_t round,
			 struct tw_ask_answer *a)
{
	const uint64_t lie_uj = UINT64_C(30000000000) * 1000000 * (round + 1);
	struct tw_ask_message m = row_of(place, "node", "zone", 0);
	uint32_t rows = 1;

	switch (way) {
	case WAY_ENERGY:
	case WAY_RESTART:
		m.of.row.energy[0].dynamic_uj = lie_uj;
		if (way == WAY_RESTART)
			snprintf(a->instance, sizeof(a->instance), "%u again %d", place,
				 (int)round);
		break;
	case WAY_WATTS:
		m.of.row.energy[0].watts = 1e9;
		break;
	case WAY_ZONE:
		strcpy(m.of.row.energy[0].zone, "moon");
		break;
	case WAY_PODS:
		/* In the time since the first answer's base, about 40 s. */
		rows += tell_pods(fd, place,
				  UINT64_C(90000) * 40 * 1000000 * (round + 1));
		break;
	case WAY_SOURCES:
		rows += tell_sources(fd, place, round);
		break;
	case WAY_CUT:
		a->rows_cut = 1;
		/* fall through */
	case WAY_NAMES:
		rows += tell_names(fd, place, round);
		break;
	case WAY_INSTANCE:
		strcpy(a->instance, "process 100");
		m.of.row.energy[0].dynamic_uj = 77;
		break;
	case WAY_NODE:
		strcpy(a->node, "node-101");
		/* Energy that is possible: it is in the liar's own sum, not the node's.
		 */
		break;
	default:
		break;
	}
	scripted_ask_tell(fd, &m);
	return rows;
}

static void tell_answer(int fd, uint32_t place, uint32_t liars, uint64_t round)
{
	const enum way way = way_of(place, liars);
	const uint64_t uj = UJ_OF_ROUND * (round + 1) + place;
	struct tw_ask_message m = { .kind = TW_ASK_AGENT_ANSWER, .place = place };
	struct tw_ask_answer a = { .uptime_ms = 1000, .elapsed_ms = 1000 };

	snprintf(a.node, sizeof(a.node), "node-%u", place);
	snprintf(a.instance, sizeof(a.instance), "process %u", place);
	if (way == WAYS) {
		const struct tw_ask_message node = row_of(place, "node", "zone", uj);

		scripted_ask_tell(fd, &node);
		a.rows = 1 + tell_pods(fd, place, uj);
	} else {
		a.rows = tell_lie(fd, place, way, round, &a);
	}
	m.of.answer = a;
	scripted_ask_tell(fd, &m);
}

/* A stand-in for tw-ask: the first URL says how many lie. */
static void play(int fd, const char *settings)
{
	const char *at = strstr(settings, "http://liars-");
	int liars = 0;

	if (at == NULL || sscanf(at, LIARS, &liars) != 1)
		return;
	for (uint32_t place = 0; place < AGENTS; place++) {
		struct tw_ask_message m = { .kind = TW_ASK_AGENT, .place = place };

		snprintf(m.of.url, sizeof(m.of.url), "http://agent-%u", place);
		scripted_ask_tell(fd, &m);
	}
	for (uint64_t round = 0; round < ROUNDS; round++)
		for (uint32_t place = 0; place < AGENTS; place++)
			tell_answer(fd, place, (uint32_t)liars, round);
	scripted_ask_hear(fd);
}

/* ---- the aggregator ---- */

static bool all_have_answered(const struct tw_agents *a)
{
	struct tw_agent_state s;
	size_t agents = 0;

	for (size_t at = 0; tw_agents_next(a, &at, &s); at++) {
		if (s.answers + s.failures < ROUNDS)
			return false;
		agents++;
	}
	return agents == AGENTS;
}

static uint64_t energy_of(const struct tw_sum *sum)
{
	uint64_t uj = 0;

	for (size_t i = 0; i < sum->parts; i++)
		uj += sum->part[i].dynamic_uj + sum->part[i].idle_uj;
	return uj;
}

/* The liars' own sums are 0: all that the others have is theirs alone. */
static void check_nodes(const struct tw_sums *s, uint32_t liars)
{
	const struct tw_sum *sum = NULL;
	uint64_t honest = 0;

	while ((sum = tw_sums_next(s, TW_SUM_NODE, sum)) != NULL) {
		uint32_t place;

		if (sscanf(sum->names.node, "node-%u", &place) != 1 ||
		    way_of(place, liars) != WAYS) {
			assert_int_equal(energy_of(sum), 0);
			continue;
		}
		assert_int_equal(energy_of(sum), UJ_OF_ROUND * ROUNDS + place);
		honest++;
	}
	assert_int_equal(honest, AGENTS - liars);
}

static void check_liars(const struct tw_agents *a, uint32_t liars)
{
	struct tw_agent_state s;

	for (size_t at = 0; tw_agents_next(a, &at, &s); at++) {
		uint32_t place = 0;
		enum way way;

		assert_int_equal(sscanf(s.url, "http://agent-%u", &place), 1);
		way = way_of(place, liars);
		if (way == WAYS || reasons[way] == NULL) {
			if (!s.up)
				fail_msg("%s: %s", s.url, s.why);
		} else if (s.up ||
			   strncmp(s.why, reasons[way], strlen(reasons[way])) != 0) {
			fail_msg("%s, way %d: '%s'", s.url, (int)way, s.why);
		}
		for (int what = 0; what < TW_LEFTS; what++)
			if (way == WAYS && s.left_out[what] != 0)
				fail_msg("%s: %s left out", s.url, tw_left_names[what]);
			else if (way < WAYS && left_out_of[way] != NULL &&
				 (way != WAY_NAMES || liars >= 20) &&
				 strcmp(tw_left_names[what], left_out_of[way]) == 0 &&
				 s.left_out[what] == 0)
				fail_msg("%s, way %d: nothing left out", s.url, (int)way);
	}
}

static uint32_t liars_wanted(void)
{
	const char *text = getenv("TW_LIARS");

	return text != NULL ? (uint32_t)strtoul(text, NULL, 10) : WAYS;
}

static void liars_change_no_sum_of_others(void **state)
{
	const uint32_t liars = liars_wanted();
	const struct tw_ask_config ask = { .program = scripted_ask() };
	struct tw_agents_options o = { .guests = TW_GUESTS_AUTO,
				       .interval_ms = 10000,
				       .timeout_ms = 5000,
				       .refresh_ms = 30000 };
	struct tw_agents *a = NULL;
	struct tw_err err = { 0 };
	struct tw_sums *s;
	uint64_t before, all = 0, bytes;
	char url[32];

	(void)state;
	snprintf(url, sizeof(url), LIARS, (int)liars);
	assert_int_equal(tw_strs_adds(&o.urls, url, &err), 0);
	assert_int_equal(tw_strs_split(&o.levels, "node,namespace,pod", &err), 0);
	if (tw_agents_open(&o, &ask, 120000, &a, &err) < 0)
		fail_msg("%s", err.text);
	before = mallinfo2().uordblks;
	while (!all_have_answered(a)) {
		scripted_ask_wait(tw_agents_fd(a));
		tw_agents_drain(a);
	}
	bytes = mallinfo2().uordblks - before;
	print_message("%u liars of %d agents: %u MiB\n", liars, AGENTS,
		      (unsigned)(bytes >> 20));
	assert_true(bytes < BYTES_MAX);
	s = tw_agents_sums(a);
	check_nodes(s, liars);
	for (uint32_t place = 0; place < AGENTS; place++)
		if (way_of(place, liars) == WAYS)
			all += UJ_OF_ROUND * ROUNDS + place;
	assert_int_equal(energy_of(tw_sums_all(s)), all);
	for (const struct tw_sum *n = NULL;
	     (n = tw_sums_next(s, TW_SUM_NAMESPACE, n)) != NULL;)
		assert_int_equal(energy_of(n), strcmp(n->names.name_space, "shop") == 0
						       ? PODS * all
						       : 0);
	check_liars(a, liars);
	tw_agents_close(a);
	tw_strs_clear(&o.urls);
	tw_strs_clear(&o.levels);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(liars_change_no_sum_of_others),
	};

	(void)argc;
	if (scripted_ask_is_it(argv[0]))
		return scripted_ask_run(play);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
