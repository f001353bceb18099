/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/agents/agents.h"

#include "collector/agents/agent.h"
#include "collector/ask/agent_lookup.h"
#include "collector/ask/agent_parse.h"
#include "collector/system/credentials.h"
#include "lib/core/array.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/http/client/url.h"
#include "lib/json/json.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)
/* Places of tw-ask. */
#define AGENTS_MAX 1024
#define LOOKUPS_MAX 64

/* Messages of one drain: a tick waits for them. */
#define DRAIN_MAX 512

/* How long an address that a name has lost is remembered, with its counters. */
#define KEEP_GONE_NS (UINT64_C(3600) * 1000 * MS)

/* Answers of its host that a guest's energy waits for. */
#define COVER_ROUNDS 3

#define URL_MAX_LEN 1024
#define URLS_MAX_LEN 100000

const char *const tw_guests_names[] = { "auto", "add", NULL };

/* An agent, by its URL. */
struct slot {
	struct tw_agent agent;
	bool polled; /* it has a place */
	uint64_t gone_ns;
	bool asked; /* it has answered or failed */
	bool up;
	bool named;                   /* its node's name is its own */
	char proved[TW_ASK_WORD * 2]; /* the instance that it was the first to have */
	char why[TW_ASK_WHY];
	uint64_t took_ms, answers, failures;
};

struct tw_agents {
	struct tw_ask *ask;
	struct tw_sums *sums;
	const struct tw_strs *levels;
	enum tw_guests guests;
	uint64_t keep_ns, late_ns;
	uint64_t cover_ns; /* how long a guest's energy waits for its host's */
	struct slot *slot[AGENTS_MAX * 2];
	size_t slots;
	struct slot *place[AGENTS_MAX]; /* by the messages' place */
	/* The rows of the answer that is arriving. */
	struct tw_ask_row *row;
	size_t rows;
	uint32_t rows_place;
	struct tw_agents_lookup lookup[LOOKUPS_MAX];
	size_t lookups;
	bool whole; /* all agents were asked once */
	char failure[TW_ASK_WHY];
};

/* ---- options ---- */

static int check_url(const char *text, struct tw_err *err)
{
	char *url = NULL;

	if (strlen(text) > URL_MAX_LEN)
		return tw_fail(err, TW_INVALID, "--agents: a URL of over %d bytes",
			       URL_MAX_LEN);
	if (tw_url_is(text) && strpbrk(text, "?# ") == NULL)
		return 0;
	if (strncmp(text, "dns:", 4) != 0)
		return tw_fail(err, TW_INVALID,
			       "--agents: '%.64s': want http://ADDR:PORT or dns:NAME",
			       text);
	if (tw_agent_name_read(text, &url, err) < 0)
		return tw_err_wrap(err, "--agents");
	free(url);
	return 0;
}

int tw_agents_options_check(const struct tw_agents_options *o, struct tw_err *err)
{
	size_t len = 0;

	for (size_t i = 0; i < o->urls.count; i++) {
		len += strlen(o->urls.at[i]) + 1;
		if (check_url(o->urls.at[i], err) < 0)
			return -1;
	}
	if (o->urls.count > AGENTS_MAX || len > URLS_MAX_LEN)
		return tw_fail(err, TW_INVALID,
			       "--agents: over %d URLs, or over %d bytes of them",
			       AGENTS_MAX, URLS_MAX_LEN);
	if (o->access != NULL && tw_secret_check(o->access, err) < 0)
		return tw_err_wrap(err, "--agents-access");
	return 0;
}

/* ---- start and end ---- */

/*
 * The levels to ask for. VMs tell which agents are guests.
 */
static void make_query(const struct tw_agents_options *o, char *out, size_t size)
{
	const bool pods =
		tw_strs_has(&o->levels, "pod") || tw_strs_has(&o->levels, "namespace");

	snprintf(out, size, "/api/v1/power?level=node,vm%s%s%s", pods ? ",pod" : "",
		 tw_strs_has(&o->levels, "container") ? ",container" : "",
		 tw_strs_has(&o->levels, "job") ? ",job" : "");
}

int tw_agents_open(const struct tw_agents_options *o, const struct tw_ask_config *ask,
		   uint64_t keep_ms, struct tw_agents **out, struct tw_err *err)
{
	struct tw_agents *a = calloc(1, sizeof(*a));
	char query[80];
	int rc = -1;

	if (a != NULL)
		a->row = calloc(TW_AGENT_ROWS_MAX, sizeof(*a->row));
	if (a == NULL || a->row == NULL) {
		tw_fail(err, TW_NOMEM, "agents");
		goto out;
	}
	a->levels = &o->levels;
	a->guests = (enum tw_guests)o->guests;
	a->keep_ns = keep_ms * MS;
	a->late_ns = (o->refresh_ms + o->interval_ms) * MS;
	a->cover_ns = COVER_ROUNDS * o->interval_ms * MS;
	make_query(o, query, sizeof(query));
	if (tw_sums_open(&a->sums, err) < 0 ||
	    tw_ask_open(ask, "agents",
			json_pack("{s:s,s:o,s:s*,s:I,s:I,s:I}", "query", query, "urls",
				  tw_json_texts(&o->urls), "access", o->access,
				  "interval_ms", (json_int_t)o->interval_ms, "timeout_ms",
				  (json_int_t)o->timeout_ms, "refresh_ms",
				  (json_int_t)o->refresh_ms),
			&a->ask, err) < 0)
		goto out;

	*out = a;
	a = NULL;
	rc = 0;
out:
	tw_agents_close(a);
	return rc;
}

void tw_agents_close(struct tw_agents *a)
{
	if (a == NULL)
		return;
	if (a->ask != NULL)
		tw_ask_close(a->ask);
	for (size_t i = 0; i < a->slots; i++) {
		tw_agent_clear(&a->slot[i]->agent, a->sums, 0);
		free(a->slot[i]);
	}
	tw_sums_close(a->sums);
	free(a->row);
	free(a);
}

int tw_agents_fd(const struct tw_agents *a)
{
	return tw_ask_fd(a->ask);
}

/* ---- slots ---- */

static struct slot *find_slot(const struct tw_agents *a, const char *url)
{
	for (size_t i = 0; i < a->slots; i++)
		if (strcmp(a->slot[i]->agent.url, url) == 0 && !a->slot[i]->polled)
			return a->slot[i];
	return NULL;
}

static void fail_slot(struct slot *s, const char *why, uint64_t took_ms)
{
	s->asked = true;
	s->up = false;
	s->failures++;
	s->took_ms = took_ms;
	snprintf(s->why, sizeof(s->why), "%.*s", (int)sizeof(s->why) - 1, why);
}

/* An agent whose state is remembered goes on. */
static void add_slot(struct tw_agents *a, uint32_t place, const char *url)
{
	struct slot *s = find_slot(a, url);

	if (place >= AGENTS_MAX)
		return;
	if (s == NULL) {
		s = a->slots < TW_COUNT(a->slot) ? calloc(1, sizeof(*s)) : NULL;
		if (s == NULL)
			return;
		a->slot[a->slots++] = s;
		snprintf(s->agent.url, sizeof(s->agent.url), "%s", url);
		s->agent.began_ns =
			tw_now_ns() > a->late_ns ? tw_now_ns() - a->late_ns : 1;
		snprintf(s->why, sizeof(s->why), "not asked yet");
	}
	s->polled = true;
	a->place[place] = s;
}

static void drop_slot(struct tw_agents *a, uint32_t place)
{
	struct slot *s = place < AGENTS_MAX ? a->place[place] : NULL;

	if (s == NULL)
		return;
	a->place[place] = NULL;
	s->polled = false;
	s->up = false;
	s->gone_ns = tw_now_ns();
	snprintf(s->why, sizeof(s->why), "its name has lost this address");
}

static void forget_gone(struct tw_agents *a, uint64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->slots; i++) {
		struct slot *s = a->slot[i];

		if (s->polled || now_ns - s->gone_ns <= KEEP_GONE_NS) {
			a->slot[kept++] = s;
			continue;
		}
		tw_agent_clear(&s->agent, a->sums, now_ns);
		free(s);
	}
	a->slots = kept;
}

/* ---- guests ---- */

/*
 * The energy of a guest's node is in its host's already: a host of ours has a VM of its
 * id, or the host has written the energy for it (collector/powercap.h).
 */
static const struct tw_sum *vm_of(const struct tw_agents *a, const char *vm_id)
{
	return a->guests == TW_GUESTS_AUTO && vm_id[0] != '\0'
		       ? tw_sums_vm(a->sums, vm_id)
		       : NULL;
}

static bool is_guest(const struct tw_agents *a, const struct slot *s)
{
	return vm_of(a, s->agent.last.vm_id) != NULL;
}

static struct tw_agent_part part_of(const struct tw_agents *a, const char *vm_id)
{
	const struct tw_sum *vm = vm_of(a, vm_id);

	return (struct tw_agent_part){ .vm = vm,
				       .passed_on = a->guests == TW_GUESTS_ADD,
				       .name_spaces = vm == NULL || !vm->in_pod };
}

/* Hosts may answer after their guests: wait until all were asked. */
static void settle(struct tw_agents *a)
{
	const uint64_t now_ns = tw_now_ns();
	bool whole = a->whole || a->slots > 0;

	for (size_t i = 0; !a->whole && i < a->slots; i++)
		whole = whole && (a->slot[i]->asked || !a->slot[i]->polled);
	if (!whole)
		return;
	a->whole = true;
	for (size_t i = 0; i < a->slots; i++)
		tw_agent_settle(&a->slot[i]->agent, a->sums,
				part_of(a, a->slot[i]->agent.last.vm_id), now_ns,
				a->cover_ns);
}

/* ---- messages ---- */

static void take_row(struct tw_agents *a, const struct tw_ask_message *m)
{
	if (m->place != a->rows_place)
		a->rows = 0;
	a->rows_place = m->place;
	if (a->rows < TW_AGENT_ROWS_MAX)
		a->row[a->rows++] = m->of.row;
}

/* Another agent with the same collector process; NULL: none. */
static struct slot *find_same(const struct tw_agents *a, const struct slot *s,
			      const char *instance)
{
	for (size_t i = 0; i < a->slots; i++) {
		struct slot *other = a->slot[i];

		if (other != s && instance[0] != '\0' &&
		    strcmp(other->agent.last.instance, instance) == 0)
			return other;
	}
	return NULL;
}

/* Whether another agent that is polled has the name of this one's node. */
static bool is_name_taken(const struct tw_agents *a, const struct slot *s,
			  const char *node)
{
	for (size_t i = 0; i < a->slots && node[0] != '\0'; i++) {
		const struct slot *other = a->slot[i];

		if (other != s && other->polled && other->named &&
		    strcmp(other->agent.last.node, node) == 0)
			return true;
	}
	return false;
}

/* A process with another address than before: its counters go on. */
static void move_agent(struct tw_agents *a, struct slot *to, struct slot *from)
{
	const struct tw_agent none = { .began_ns = tw_now_ns() };
	char url[TW_ASK_AGENT_URL];

	tw_agent_clear(&to->agent, a->sums, tw_now_ns());
	memcpy(url, to->agent.url, sizeof(url));
	to->agent = from->agent;
	tw_agent_moved(&to->agent, &from->agent);
	memcpy(to->agent.url, url, sizeof(url));
	memcpy(url, from->agent.url, sizeof(url));
	from->agent = none;
	memcpy(from->agent.url, url, sizeof(url));
	from->named = false;
}

static bool is_proved(const struct tw_agents *a, const char *instance)
{
	for (size_t i = 0; i < a->slots; i++)
		if (a->slot[i]->polled && strcmp(a->slot[i]->proved, instance) == 0)
			return true;
	return false;
}

/*
 * Whether the process of an answer is this agent's: the first address that had it keeps
 * it, as long as it is polled, and gets it back.
 */
static int own_instance(struct tw_agents *a, struct slot *s, const char *instance,
			struct tw_err *err)
{
	struct slot *same = find_same(a, s, instance);
	const bool first = strcmp(s->proved, instance) == 0;

	if (same != NULL && same->polled && !first)
		return tw_fail(err, TW_INVALID, "the same as %.64s", same->agent.url);
	if (same != NULL && same->polled) {
		struct tw_err why = { 0 };

		tw_fail(&why, TW_INVALID, "the same as %.64s", s->agent.url);
		fail_slot(same, why.text, same->took_ms);
	}
	if (same != NULL)
		move_agent(a, s, same);
	else if (!is_proved(a, instance))
		snprintf(s->proved, sizeof(s->proved), "%s", instance);
	return 0;
}

static void take_rows(struct tw_agents *a, struct slot *s,
		      const struct tw_answer_rows *rows,
		      const struct tw_ask_answer *answer, uint64_t now_ns)
{
	struct tw_agent_part part = part_of(a, answer->vm_id);

	part.nameless = is_name_taken(a, s, answer->node);
	s->named = !part.nameless;
	tw_agent_take(&s->agent, a->sums, rows, answer, part, now_ns);
}

static void take_answer(struct tw_agents *a, const struct tw_ask_message *m)
{
	struct slot *s = m->place < AGENTS_MAX ? a->place[m->place] : NULL;
	const struct tw_ask_answer *answer = &m->of.answer;
	const struct tw_answer_rows rows = { .at = a->row,
					     .count = m->place == a->rows_place ? a->rows
										: 0 };
	const uint64_t now_ns = tw_now_ns();
	struct tw_err why = { 0 };
	bool barred;
	int rc;

	a->rows = 0;
	if (s == NULL || rows.count != answer->rows)
		return;
	rc = own_instance(a, s, answer->instance, &why);
	if (rc == 0)
		rc = tw_agent_check(&s->agent, &rows, answer, now_ns, &why);
	barred = tw_agent_is_barred(&s->agent, now_ns);
	/* The counters of a barred agent go on, so that it can count again. */
	if (rc == 0 || s->agent.barred_ns == now_ns)
		take_rows(a, s, &rows, answer, now_ns);
	if (rc < 0 || barred) {
		fail_slot(s,
			  rc < 0 ? why.text : "impossible power in the last 10 minutes",
			  answer->took_ms);
	} else {
		s->asked = s->up = true;
		s->answers++;
		s->took_ms = answer->took_ms;
		s->why[0] = '\0';
	}
	settle(a);
}

static void take_lookup(struct tw_agents *a, const struct tw_ask_message *m)
{
	struct tw_agents_lookup *l;

	if (m->place >= LOOKUPS_MAX)
		return;
	if (m->place >= a->lookups)
		a->lookups = m->place + 1;
	l = &a->lookup[m->place];
	snprintf(l->name, sizeof(l->name), "%s", m->of.url);
	snprintf(l->why, sizeof(l->why), "%s", m->why);
}

/* The helper failed, and starts anew: it gives places again. */
static void take_failure(struct tw_agents *a, const struct tw_ask_message *m)
{
	/* After a failure the helper may exit: the first reason tells more. */
	if (a->failure[0] == '\0')
		snprintf(a->failure, sizeof(a->failure), "%s", m->why);
	for (uint32_t i = 0; i < AGENTS_MAX; i++) {
		if (a->place[i] == NULL)
			continue;
		fail_slot(a->place[i], m->why, 0);
		a->place[i]->polled = false;
		a->place[i]->gone_ns = tw_now_ns();
		a->place[i] = NULL;
	}
	settle(a);
}

static void take(struct tw_agents *a, const struct tw_ask_message *m)
{
	struct slot *s = m->place < AGENTS_MAX ? a->place[m->place] : NULL;

	switch (m->kind) {
	case TW_ASK_AGENT:
		a->failure[0] = '\0';
		add_slot(a, m->place, m->of.url);
		break;
	case TW_ASK_AGENT_GONE:
		drop_slot(a, m->place);
		break;
	case TW_ASK_AGENT_ROW:
		take_row(a, m);
		break;
	case TW_ASK_AGENT_ANSWER:
		take_answer(a, m);
		break;
	case TW_ASK_AGENT_FAILED:
		if (s != NULL)
			fail_slot(s, m->why, m->of.answer.took_ms);
		settle(a);
		break;
	case TW_ASK_LOOKUP:
		take_lookup(a, m);
		break;
	case TW_ASK_FAILED:
		take_failure(a, m);
		break;
	default:
		break;
	}
}

void tw_agents_drain(struct tw_agents *a)
{
	struct tw_ask_message m;

	for (int i = 0; i < DRAIN_MAX && tw_ask_next(a->ask, &m); i++) {
		take(a, &m);
		if (tw_ask_fd(a->ask) < 0)
			return;
	}
}

/* ---- for expositions ---- */

struct tw_sums *tw_agents_sums(struct tw_agents *a)
{
	const uint64_t now_ns = tw_now_ns();

	forget_gone(a, now_ns);
	tw_sums_expire(a->sums, now_ns, a->keep_ns);
	tw_sums_power_begin(a->sums);
	for (size_t i = 0; i < a->slots; i++)
		if (a->slot[i]->up)
			tw_agent_add_power(&a->slot[i]->agent, a->sums);
	for (size_t i = 0; i < a->slots; i++)
		if (a->slot[i]->up)
			tw_agent_add_power_to_all(
				&a->slot[i]->agent, a->sums,
				part_of(a, a->slot[i]->agent.last.vm_id));
	return a->sums;
}

bool tw_agents_shows(const struct tw_agents *a, const char *level)
{
	return tw_strs_has(a->levels, level);
}

bool tw_agents_next(const struct tw_agents *a, size_t *place, struct tw_agent_state *out)
{
	const uint64_t now_ns = tw_now_ns();

	for (; *place < a->slots; (*place)++) {
		const struct slot *s = a->slot[*place];
		const struct tw_agent *g = &s->agent;

		if (!s->polled && a->failure[0] == '\0')
			continue;
		*out = (struct tw_agent_state){
			.url = g->url,
			.node = g->last.node,
			.instance = g->last.instance,
			.up = s->up,
			.why = s->why,
			.role = is_guest(a, s) || (a->guests == TW_GUESTS_AUTO &&
						   g->passed_on)
					? TW_AGENT_GUEST
					: TW_AGENT_NODE,
			.age_ms = s->answers != 0 ? (now_ns - g->taken_ns) / MS
						  : UINT64_MAX,
			.took_ms = s->took_ms,
			.bytes = g->last.bytes,
			.rows = g->last.rows,
			.answers = s->answers,
			.failures = s->failures,
			.restarts = g->restarts,
			.beyond_uj = g->cover.beyond_uj,
		};
		if (g->quota != NULL)
			memcpy(out->left_out, g->quota->left_out, sizeof(out->left_out));
		return true;
	}
	return false;
}

size_t tw_agents_parts(const struct tw_agents *a, size_t place,
		       struct tw_sum_part out[TW_SUM_PARTS_MAX])
{
	return tw_agent_parts(&a->slot[place]->agent, a->slot[place]->up, out);
}

const struct tw_agents_lookup *tw_agents_lookups(const struct tw_agents *a, size_t *count)
{
	*count = a->lookups;
	return a->lookup;
}

const char *tw_agents_failure(const struct tw_agents *a)
{
	return a->failure;
}
