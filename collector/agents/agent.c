/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/agents/agent.h"

#include "lib/core/err.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

/* No machine uses more power. */
#define WATTS_MAX 100000.0

/* Ticks and answers are not in step; an agent may tick once an hour. */
#define TICK_MAX_MS (UINT64_C(3700) * 1000)
#define SLACK_MS 1000

/* The longest budget. Its energy is far below UINT64_MAX. */
#define BUDGET_MAX_NS (UINT64_C(366) * 24 * 3600 * 1000 * MS)

/* The name of collector/meters' meter for energy that a host has written. */
#define PASSED_ON "passthrough"

struct energy {
	enum tw_zone_kind kind;
	const char *source;
	uint64_t dynamic_uj, idle_uj;
	double watts;
	bool fresh; /* the last answer has its watts */
};

_Static_assert(TW_ZONE_KIND_COUNT <= TW_ASK_ENERGIES, "a counter has room for each kind");

struct tw_agent_counter {
	struct tw_agent_counter *next;
	struct tw_sum *sum;        /* of its own level; NULL: no room */
	struct tw_sum *name_space; /* that a pod's energy belongs to; else NULL */
	enum tw_sum_level level;
	bool based;     /* it is as old as the base: kinds without a value, too */
	uint32_t round; /* of the last answer that had it */
	uint32_t energies;
	struct energy energy[TW_ASK_ENERGIES];
	char key[];
};

/* ---- kinds and levels ---- */

static bool find_kind(const char *name, enum tw_zone_kind *out)
{
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++) {
		*out = (enum tw_zone_kind)kind;
		if (strcmp(tw_zone_kind_name(*out), name) == 0)
			return true;
	}
	return false;
}

static bool find_level(const char *name, enum tw_sum_level *out)
{
	for (int level = TW_SUM_NODE; level < TW_SUM_LEVELS; level++) {
		*out = (enum tw_sum_level)level;
		if (level != TW_SUM_NAMESPACE &&
		    strcmp(tw_sum_level_names[*out], name) == 0)
			return true;
	}
	return false;
}

/* ---- counters ---- */

static int compare(const void *a, const void *b)
{
	const struct tw_agent_counter *x = a, *y = b;

	return strcmp(x->key, y->key);
}

/* Two texts with their ends. */
#define KEY_SIZE (TW_ASK_WORD + TW_ASK_ID)

/* A counter with room for the key of any row, to search with. */
union search {
	struct tw_agent_counter counter;
	char room[sizeof(struct tw_agent_counter) + KEY_SIZE];
};

static struct tw_agent_counter *find(const struct tw_agent *a, const struct tw_ask_row *r)
{
	union search key;
	struct tw_agent_counter **found;

	snprintf(key.counter.key, KEY_SIZE, "%s %s", r->level, r->id);
	found = tfind(&key, &a->tree, compare);
	return found != NULL ? *found : NULL;
}

static struct tw_agent_counter *add(struct tw_agent *a, struct tw_sums *s,
				    const struct tw_ask_row *r)
{
	struct tw_quota *quota = tw_sums_quota(s);
	struct tw_agent_counter *c;

	if (!tw_quota_take(quota, a->quota, TW_QUOTA_ROWS))
		return NULL;
	c = calloc(1, sizeof(*c) + KEY_SIZE);
	if (c != NULL)
		snprintf(c->key, KEY_SIZE, "%s %s", r->level, r->id);
	if (c == NULL || tsearch(c, &a->tree, compare) == NULL) {
		tw_quota_give(quota, a->quota, TW_QUOTA_ROWS);
		free(c);
		return NULL;
	}
	c->next = a->first;
	a->first = c;
	return c;
}

/* The last values of a kind. NULL: none. */
static const struct energy *energy_of(const struct tw_agent_counter *c,
				      enum tw_zone_kind kind)
{
	for (uint32_t i = 0; c != NULL && i < c->energies; i++)
		if (c->energy[i].kind == kind)
			return &c->energy[i];
	return NULL;
}

/* ---- growth ---- */

/* How to read the counters of an answer. */
enum reading {
	READING_ON,    /* they go on: their difference */
	READING_START, /* they began after the last answer: their values */
	READING_BASE   /* they began earlier, unseen: nothing yet */
};

/*
 * Another instance is another process, whose counters began at its start. It may have run
 * long before: another machine at that address, or the first answer.
 */
static enum reading reading_of(const struct tw_agent *a,
			       const struct tw_ask_answer *answer, uint64_t now_ns)
{
	const uint64_t since_ns = a->taken_ns != 0 ? a->taken_ns : a->began_ns;

	if (a->taken_ns != 0 && strcmp(a->last.instance, answer->instance) == 0)
		return READING_ON;
	return answer->uptime_ms <= (now_ns - since_ns) / MS + SLACK_MS ? READING_START
									: READING_BASE;
}

/* A counter that falls has started again at 0. */
static uint64_t grown(enum reading how, uint64_t before, uint64_t now)
{
	if (how == READING_BASE)
		return 0;
	return how == READING_ON && now >= before ? now - before : now;
}

/*
 * How to read a row. A new row may have counted before, if the last answer was cut: in
 * rows that were not taken.
 */
static enum reading reading_of_row(enum reading how, const struct tw_agent_counter *c,
				   bool last_was_cut)
{
	return how == READING_ON && c == NULL && last_was_cut ? READING_BASE : how;
}

/*
 * How to read a kind of a counter. A kind that the base lacked, for want of a reading,
 * has counted unseen, too.
 */
static enum reading reading_of_kind(enum reading how, const struct tw_agent_counter *c,
				    const struct energy *before)
{
	return how == READING_ON && before == NULL && c != NULL && c->based ? READING_BASE
									    : how;
}

/* Growth by a row's energy since the last answer, in uJ. */
static void growth(enum reading how, const struct energy *before,
		   const struct tw_ask_energy *e, uint64_t *dynamic_uj, uint64_t *idle_uj)
{
	*dynamic_uj = grown(how, before != NULL ? before->dynamic_uj : 0, e->dynamic_uj);
	*idle_uj = grown(how, before != NULL ? before->idle_uj : 0, e->idle_uj);
}

/* ---- limits of power ---- */

uint64_t tw_agent_budget_uj(uint64_t from_ns, uint64_t now_ns)
{
	const uint64_t ns = now_ns > from_ns ? now_ns - from_ns : 0;

	return (ns < BUDGET_MAX_NS ? ns : BUDGET_MAX_NS) * TW_AGENT_UJ_PER_NS;
}

uint64_t tw_agent_budget_spend(uint64_t from_ns, uint64_t uj)
{
	return from_ns + (uj + TW_AGENT_UJ_PER_NS - 1) / TW_AGENT_UJ_PER_NS;
}

/* The longest time that counters of the last answer may have stood still, in ns. */
static uint64_t tick_of(const struct tw_agent *a)
{
	const uint64_t tick_ms =
		a->last.elapsed_ms < TICK_MAX_MS ? a->last.elapsed_ms : TICK_MAX_MS;

	return (tick_ms + SLACK_MS) * MS;
}

/* When a budget began, at the latest one tick before the last answer. */
static uint64_t budget_from(const struct tw_agent *a, uint64_t from_ns)
{
	const uint64_t tick_ns = tick_of(a);
	uint64_t since_ns = a->began_ns;

	if (a->taken_ns != 0)
		since_ns = a->taken_ns > tick_ns ? a->taken_ns - tick_ns : 0;
	return from_ns > since_ns ? from_ns : since_ns;
}

/* Energy and power of one level's rows. */
struct total {
	uint64_t uj;
	double watts;
};

/* Each value is below 2^60 (collector/ask/agent_parse.c). */
static void add_total(struct total *t, uint64_t dynamic_uj, uint64_t idle_uj,
		      double watts)
{
	const uint64_t max = UINT64_C(1) << 62;

	t->uj = (t->uj < max ? t->uj : max) + dynamic_uj + idle_uj;
	t->watts += watts;
}

static int add_totals(const struct tw_agent *a, const struct tw_ask_row *r,
		      enum reading how, struct total total[][TW_ZONE_KIND_COUNT],
		      struct tw_err *err)
{
	const struct tw_agent_counter *c = find(a, r);
	enum tw_sum_level level;

	how = reading_of_row(how, c, a->cut);
	if (!find_level(r->level, &level))
		return tw_fail(err, TW_INVALID, "unknown level '%s'", r->level);
	for (uint32_t i = 0; i < r->energies; i++) {
		const struct tw_ask_energy *e = &r->energy[i];
		uint64_t dynamic_uj, idle_uj;
		enum tw_zone_kind kind;
		const struct energy *before;

		if (!find_kind(e->zone, &kind))
			return tw_fail(err, TW_INVALID, "unknown zone '%s'", e->zone);
		before = energy_of(c, kind);
		growth(reading_of_kind(how, c, before), before, e, &dynamic_uj, &idle_uj);
		add_total(&total[level][kind], dynamic_uj, idle_uj, e->watts);
	}
	return 0;
}

static int check_totals(struct tw_agent *a, struct total total[][TW_ZONE_KIND_COUNT],
			uint64_t now_ns, struct tw_err *err)
{
	for (int level = 0; level < TW_SUM_LEVELS; level++)
		for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++) {
			const struct total *t = &total[level][kind];
			const uint64_t from_ns = budget_from(a, a->from_ns[level][kind]);
			const bool energy = t->uj > tw_agent_budget_uj(from_ns, now_ns);

			if (!energy && t->watts <= WATTS_MAX)
				continue;
			if (energy)
				a->barred_ns = now_ns;
			return tw_fail(err, TW_INVALID,
				       "impossible power, over 100 kW: %s of %s",
				       tw_zone_kind_name((enum tw_zone_kind)kind),
				       tw_sum_level_names[level]);
		}
	return 0;
}

int tw_agent_check(struct tw_agent *a, const struct tw_answer_rows *rows,
		   const struct tw_ask_answer *answer, uint64_t now_ns,
		   struct tw_err *err)
{
	const enum reading how = reading_of(a, answer, now_ns);
	struct total total[TW_SUM_LEVELS][TW_ZONE_KIND_COUNT] = { 0 };

	for (size_t i = 0; i < rows->count; i++)
		if (add_totals(a, &rows->at[i], how, total, err) < 0)
			return -1;
	return check_totals(a, total, now_ns, err);
}

bool tw_agent_is_barred(const struct tw_agent *a, uint64_t now_ns)
{
	return a->barred_ns != 0 && now_ns - a->barred_ns < TW_AGENT_BARRED_NS;
}

/* ---- taking ---- */

static void add_part(struct tw_sum_part part[TW_SUM_PARTS_MAX], size_t *count,
		     const struct tw_sum_part *p)
{
	size_t i = 0;

	while (i < *count && (part[i].kind != p->kind || part[i].source != p->source))
		i++;
	if (i == TW_SUM_PARTS_MAX)
		return;
	if (i == *count) {
		part[(*count)++] = *p;
		return;
	}
	part[i].dynamic_uj += p->dynamic_uj;
	part[i].idle_uj += p->idle_uj;
	part[i].watts += p->watts;
	part[i].powered = part[i].powered || p->powered;
}

/* Unless the counter uses it again. */
static void release_sum(const struct tw_agent *a, struct tw_sums *s, struct tw_sum *sum,
			const struct tw_sum *now, uint64_t now_ns)
{
	if (sum != NULL && sum != now && sum->host == a)
		sum->host = NULL;
	tw_sums_release(s, sum, now_ns);
}

/* Names may become known later: then the energy from now on is in another sum. */
static void use_sums(const struct tw_agent *a, struct tw_agent_counter *c,
		     struct tw_sums *s, const struct tw_ask_row *r, const char *node,
		     struct tw_agent_part part, uint64_t now_ns)
{
	struct tw_sum *const sum = c->sum, *const name_space = c->name_space;
	struct tw_sum_names n = { node, "", "", "", "", "" };

	if (c->level != TW_SUM_NODE) {
		n = (struct tw_sum_names){ node,          r->id,        r->name,
					   r->name_space, r->container, r->runtime };
		if (c->level == TW_SUM_VM || c->level == TW_SUM_JOB)
			n.node = "";
	}
	c->sum = tw_sums_use(s, a->quota, c->level, &n);
	if (c->sum != NULL && c->level == TW_SUM_VM) {
		c->sum->in_pod = r->in_pod != 0;
		c->sum->host = a;
	}
	c->name_space = NULL;
	if (c->level == TW_SUM_POD && part.name_spaces && r->name_space[0] != '\0') {
		const struct tw_sum_names only = { "", "", "", r->name_space, "", "" };

		c->name_space = tw_sums_use(s, a->quota, TW_SUM_NAMESPACE, &only);
	}
	release_sum(a, s, sum, c->sum, now_ns);
	tw_sums_release(s, name_space, now_ns);
}

static void leave_sums(const struct tw_agent *a, struct tw_agent_counter *c,
		       struct tw_sums *s, uint64_t now_ns)
{
	release_sum(a, s, c->sum, NULL, now_ns);
	tw_sums_release(s, c->name_space, now_ns);
	c->sum = c->name_space = NULL;
}

static void take_energy(struct tw_agent *a, struct tw_sums *s, struct tw_agent_counter *c,
			const struct tw_ask_energy *e, const struct energy *before,
			enum reading how, struct energy *out)
{
	struct tw_sum_part p = { .kind = TW_ZONE_PACKAGE };
	uint64_t *from_ns;

	find_kind(e->zone, &p.kind);
	p.source = tw_sums_source(s, a->quota, e->source);
	*out = (struct energy){ p.kind,     p.source, e->dynamic_uj,
				e->idle_uj, e->watts, e->powered != 0 };
	growth(reading_of_kind(how, c, before), before, e, &p.dynamic_uj, &p.idle_uj);
	from_ns = &a->from_ns[c->level][p.kind];
	*from_ns = tw_agent_budget_spend(*from_ns, p.dynamic_uj + p.idle_uj);
	tw_sum_add(s, a->quota, c->sum, &p);
	tw_sum_add(s, a->quota, c->name_space, &p);
	if (c->level == TW_SUM_NODE) {
		add_part(a->pending, &a->pendings, &p);
		add_part(a->own, &a->owns, &p);
	}
}

static void take_row(struct tw_agent *a, struct tw_sums *s, const struct tw_ask_row *r,
		     const char *node, enum reading how, struct tw_agent_part part,
		     uint64_t now_ns)
{
	struct tw_agent_counter *c = find(a, r);
	struct tw_agent_counter before; /* its energies alone */

	how = reading_of_row(how, c, a->was_cut);
	if (c == NULL)
		c = add(a, s, r);
	if (c == NULL)
		a->cut = true;
	if (c == NULL || c->round == a->round)
		return;
	c->round = a->round;
	if (how != READING_ON)
		c->based = how == READING_BASE;
	find_level(r->level, &c->level);
	if (tw_agent_is_barred(a, now_ns))
		leave_sums(a, c, s, now_ns);
	else
		use_sums(a, c, s, r, node, part, now_ns);
	before.energies = c->energies;
	memcpy(before.energy, c->energy, sizeof(before.energy));
	c->energies = 0;
	for (uint32_t i = 0; i < r->energies; i++) {
		enum tw_zone_kind kind;

		if (find_kind(r->energy[i].zone, &kind) && energy_of(c, kind) == NULL)
			take_energy(a, s, c, &r->energy[i], energy_of(&before, kind), how,
				    &c->energy[c->energies++]);
	}
	/* A zone that is missing in this answer goes on from its last value. */
	for (uint32_t i = 0; i < before.energies; i++)
		if (energy_of(c, before.energy[i].kind) == NULL && how == READING_ON) {
			c->energy[c->energies] = before.energy[i];
			c->energy[c->energies++].fresh = false;
		}
}

static void release_counter(struct tw_agent *a, struct tw_sums *s,
			    struct tw_agent_counter *c, uint64_t now_ns)
{
	tdelete(c, &a->tree, compare);
	leave_sums(a, c, s, now_ns);
	tw_quota_give(tw_sums_quota(s), a->quota, TW_QUOTA_ROWS);
	free(c);
}

/*
 * Whether a counter stays that the answer lacks: a zone of the node may come back with
 * its last value, an ended workload does not.
 */
static bool stays(const struct tw_agent_counter *c, enum reading how)
{
	return how == READING_ON && c->level == TW_SUM_NODE;
}

static void drop_ended(struct tw_agent *a, struct tw_sums *s, enum reading how,
		       uint64_t now_ns)
{
	struct tw_agent_counter **at = &a->first;

	while (*at != NULL) {
		struct tw_agent_counter *c = *at;

		if (c->round == a->round) {
			at = &c->next;
		} else if (stays(c, how)) {
			for (uint32_t i = 0; i < c->energies; i++)
				c->energy[i].fresh = false;
			at = &c->next;
		} else {
			*at = c->next;
			release_counter(a, s, c, now_ns);
		}
	}
}

/* Zones without watts have stopped, or wait for a reading. */
static bool is_passed_on(const struct tw_answer_rows *rows)
{
	bool any = false;

	for (size_t i = 0; i < rows->count; i++) {
		const struct tw_ask_row *r = &rows->at[i];

		if (strcmp(r->level, "node") != 0 || r->energies == 0 ||
		    r->energy[0].powered == 0)
			continue;
		if (strcmp(r->energy[0].source, PASSED_ON) != 0)
			return false;
		any = true;
	}
	return any;
}

/* Budgets do not reach back further than their last answer and its tick. */
static void trim_budgets(struct tw_agent *a)
{
	for (int level = 0; level < TW_SUM_LEVELS; level++)
		for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++)
			a->from_ns[level][kind] = budget_from(a, a->from_ns[level][kind]);
}

void tw_agent_take(struct tw_agent *a, struct tw_sums *s,
		   const struct tw_answer_rows *rows, const struct tw_ask_answer *answer,
		   struct tw_agent_part part, uint64_t now_ns)
{
	const bool barred = tw_agent_is_barred(a, now_ns);
	const enum reading on = reading_of(a, answer, now_ns);
	const char *node =
		answer->node[0] != '\0' && !part.nameless ? answer->node : a->url;

	if (a->quota == NULL)
		a->quota = tw_quota_join(tw_sums_quota(s));
	trim_budgets(a);
	a->restarts += a->taken_ns != 0 && on != READING_ON;
	a->round++;
	a->was_cut = a->cut;
	a->cut = answer->rows_cut > 0;
	for (size_t i = 0; i < rows->count; i++)
		take_row(a, s, &rows->at[i], node, barred ? READING_BASE : on, part,
			 now_ns);
	drop_ended(a, s, on, now_ns);
	if (a->quota != NULL) {
		a->quota->left_out[TW_QUOTA_ROWS] += answer->rows_cut;
		a->quota->left_out[TW_LEFT_ENERGY] += barred;
		a->quota->left_out[TW_LEFT_NODE] += part.nameless;
	}
	a->passed_on = is_passed_on(rows);
	a->last = *answer;
	a->taken_ns = now_ns;
}

/* ---- the sum over all agents ---- */

/* Forget what the host has passed on, unless it counts. Returns the number of the rest.
 */
static size_t drop_passed_on(struct tw_sum_part *p, size_t count,
			     struct tw_agent_part part)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (part.passed_on || strcmp(p[i].source, PASSED_ON) != 0)
			p[kept++] = p[i];
	return kept;
}

/* Add the watts of the node's zones to parts. */
static void add_zones(const struct tw_agent *a, struct tw_sum_part out[TW_SUM_PARTS_MAX],
		      size_t *count)
{
	for (const struct tw_agent_counter *c = a->first; c != NULL; c = c->next)
		for (uint32_t i = 0; c->level == TW_SUM_NODE && i < c->energies; i++) {
			const struct energy *e = &c->energy[i];
			const struct tw_sum_part p = { .kind = e->kind,
						       .source = e->source,
						       .watts = e->watts,
						       .powered = true };

			if (e->fresh)
				add_part(out, count, &p);
		}
}

/* Whether it is known by now that a guest reads its host's meter. */
static bool reads_host(struct tw_agent *a, const struct tw_agent *host)
{
	struct tw_sum_part own[TW_SUM_PARTS_MAX], whole[TW_SUM_PARTS_MAX];
	size_t owns = 0, wholes = 0;

	if (host == NULL || host == a)
		return false;
	if (a->cover.compared_ns != a->taken_ns) {
		a->cover.compared_ns = a->taken_ns;
		add_zones(a, own, &owns);
		add_zones(host, whole, &wholes);
		tw_cover_compare(&a->cover, own, owns, whole, wholes);
	}
	return a->cover.like > 0;
}

/*
 * How long a guest's energy waits for its host's: wait_ns once the host has answered
 * after that energy was counted; before, TICK_MAX_MS, in case the host never answers.
 */
static uint64_t wait_for(const struct tw_agent *host, uint64_t since_ns, uint64_t wait_ns)
{
	const uint64_t max_ns = TICK_MAX_MS * MS;

	return host == NULL || host->taken_ns >= since_ns + tick_of(host) ||
			       wait_ns > max_ns
		       ? wait_ns
		       : max_ns;
}

void tw_agent_settle(struct tw_agent *a, struct tw_sums *s, struct tw_agent_part part,
		     uint64_t now_ns, uint64_t wait_ns)
{
	a->pendings = drop_passed_on(a->pending, a->pendings, part);
	if (part.vm != NULL && reads_host(a, part.vm->host))
		a->pendings = 0;
	if (part.vm != NULL) {
		tw_cover_take(&a->cover, part.vm, a->pending, a->pendings);
		wait_ns = wait_for(part.vm->host, a->cover.since_ns, wait_ns);
		if (tw_cover_waits(&a->cover, a->pending, a->pendings, now_ns, wait_ns))
			return;
	}
	for (size_t i = 0; i < a->pendings; i++)
		if (a->pending[i].dynamic_uj + a->pending[i].idle_uj > 0 ||
		    part.vm == NULL)
			tw_sum_add(s, a->quota, tw_sums_all(s), &a->pending[i]);
	a->pendings = 0;
	a->cover.since_ns = 0;
}

void tw_agent_moved(struct tw_agent *to, const struct tw_agent *from)
{
	for (struct tw_agent_counter *c = to->first; c != NULL; c = c->next)
		if (c->sum != NULL && c->sum->host == from)
			c->sum->host = to;
}

void tw_agent_add_power(const struct tw_agent *a, struct tw_sums *s)
{
	for (const struct tw_agent_counter *c = a->first; c != NULL; c = c->next)
		for (uint32_t i = 0; i < c->energies; i++) {
			const struct energy *e = &c->energy[i];
			const struct tw_sum_part p = { .kind = e->kind,
						       .source = e->source,
						       .watts = e->watts };

			if (!e->fresh)
				continue;
			tw_sum_power(s, a->quota, c->sum, &p);
			tw_sum_power(s, a->quota, c->name_space, &p);
		}
}

void tw_agent_add_power_to_all(const struct tw_agent *a, struct tw_sums *s,
			       struct tw_agent_part part)
{
	struct tw_sum_part zone[TW_SUM_PARTS_MAX];
	size_t count = 0;

	add_zones(a, zone, &count);
	count = drop_passed_on(zone, count, part);
	if (part.vm != NULL && a->cover.like > 0)
		return;
	if (part.vm != NULL)
		tw_cover_take_watts(part.vm, zone, count);
	for (size_t i = 0; i < count; i++)
		if (zone[i].watts > 0 || part.vm == NULL)
			tw_sum_power(s, a->quota, tw_sums_all(s), &zone[i]);
}

size_t tw_agent_parts(const struct tw_agent *a, bool up,
		      struct tw_sum_part out[TW_SUM_PARTS_MAX])
{
	size_t count = a->owns;

	memcpy(out, a->own, count * sizeof(out[0]));
	if (up)
		add_zones(a, out, &count);
	return count;
}

void tw_agent_clear(struct tw_agent *a, struct tw_sums *s, uint64_t now_ns)
{
	while (a->first != NULL) {
		struct tw_agent_counter *c = a->first;

		a->first = c->next;
		release_counter(a, s, c, now_ns);
	}
	tw_quota_leave(tw_sums_quota(s), a->quota);
	a->quota = NULL;
}
