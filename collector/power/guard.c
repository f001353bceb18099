/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/guard.h"

#include "lib/core/array.h"
#include "lib/field/energy.h"

#include <math.h>
#include <stdio.h>

#define BIT(kind) (1U << TW_ZONE_##kind)

/* Errors of meters: see docs/tw-collector.md, "Contradictions". */
#define PART_ERROR 0.05
#define PART_ERROR_W 2.0
/*
 * A platform with less than this share of its parts has a wrong unit. Parts may have too
 * much: dies of Linux 6.9 repeat the power of their package up to sixteen times.
 */
#define WHOLE_MIN 0.05
/* Each supply has a sensor of its own, which is worse at little load. */
#define SUPPLY_ERROR 0.10
#define SUPPLY_ERROR_W 10.0
#define TDP_MIN 0.01
/*
 * Two counters show the same energy if the ratio of their steps and its variation are
 * this close to 1 and 0.
 */
#define STEP_RATIO 0.01
#define STEP_CORRELATION 0.999
#define STEPS_MIN 16
#define VARIES 0.05
/* A meter that is away for less is waited for. */
#define DEAD_SPANS 2U

/* Zones that cannot have less power than their parts. */
static const struct whole {
	enum tw_zone_kind kind;
	unsigned parts; /* bits 1 << kind */
	bool by_package;
	const char *text;
} wholes[] = {
	{ TW_ZONE_PACKAGE, BIT(CORE) | BIT(UNCORE), true, "core and uncore have" },
	{ TW_ZONE_PLATFORM, BIT(PACKAGE) | BIT(DRAM) | BIT(GPU), false,
	  "package, dram and gpu have" },
	{ TW_ZONE_PSYS, BIT(PACKAGE), false, "its packages have" },
};

/* Mean power in the span; below 0: it was not read in all of it. */
static double watts(const struct tw_power_guard *g, const struct tw_power_zone *z)
{
	if (z->watch.gap || !z->watch.read || g->span_ns == 0)
		return -1;
	return (double)(z->watch.last_uj - z->watch.from_uj) * 1e3 / (double)g->span_ns;
}

/* Power of the zones of these kinds that count; below 0: one was not read. */
static double sum_of(const struct tw_power_guard *g, const struct tw_power_zone *z,
		     size_t count, unsigned kinds, int package)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		if (!z[i].counts || z[i].silent || (kinds >> z[i].zone->kind & 1U) == 0 ||
		    (package >= 0 && z[i].zone->package != package))
			continue;
		if (watts(g, &z[i]) < 0)
			return -1;
		sum += watts(g, &z[i]);
	}
	return sum;
}

/* True if a part is an estimate: it is no evidence against a meter. */
static bool has_estimate(const struct tw_power_zone *z, size_t count, unsigned kinds)
{
	for (size_t i = 0; i < count; i++)
		if (z[i].counts && z[i].zone->estimated &&
		    (kinds >> z[i].zone->kind & 1U) != 0)
			return true;
	return false;
}

static void doubt(struct tw_power_zone *z, const char *rule, double seen, double limit,
		  const char *text)
{
	z->watch.rule = rule;
	snprintf(z->watch.text, sizeof(z->watch.text), "%s %.1f W, the %s %.1f W", text,
		 seen, tw_zone_kind_name(z->zone->kind), limit);
}

/* Returns true if the parts of the platform have too much power. */
static bool compare_parts(const struct tw_power_guard *g, struct tw_power_zone *z,
			  size_t count)
{
	bool doubted = false;

	for (size_t w = 0; w < TW_COUNT(wholes); w++)
		for (size_t i = 0; i < count; i++) {
			const struct whole *of = &wholes[w];
			const int package = of->by_package ? z[i].zone->package : -1;
			double whole, parts;

			if (z[i].zone->kind != of->kind || !z[i].counts ||
			    (of->by_package && package < 0))
				continue;
			whole = sum_of(g, z, count, 1U << of->kind, package);
			parts = sum_of(g, z, count, of->parts, package);
			if (whole < 0 ||
			    parts <= whole + fmax(whole * PART_ERROR, PART_ERROR_W))
				continue;
			doubt(&z[i], "parts", parts, whole, of->text);
			z[i].watch.false_power = of->kind == TW_ZONE_PLATFORM &&
						 whole < WHOLE_MIN * parts &&
						 !has_estimate(z, count, of->parts);
			doubted = doubted || of->kind == TW_ZONE_PLATFORM;
		}
	return doubted;
}

/* ---- supplies, board, modules ---- */

/*
 * Power of the zones of a place that do not count, by the first meter that has some;
 * below 0: there are none, or one was not read.
 */
static double sum_of_place(const struct tw_power_guard *g, const struct tw_power_zone *z,
			   size_t count, enum tw_place place)
{
	const struct tw_meter *by = NULL;
	double sum = -1;

	for (size_t i = 0; i < count; i++) {
		if (z[i].zone->kind != TW_ZONE_PLATFORM || z[i].zone->place != place ||
		    z[i].counts || z[i].silent || z[i].superseded ||
		    (by != NULL && z[i].meter != by))
			continue;
		if (watts(g, &z[i]) < 0)
			return -1;
		by = z[i].meter;
		sum = fmax(sum, 0) + watts(g, &z[i]);
	}
	return sum;
}

/* Both are known, and the part has more than the whole. */
static bool is_above(double part, double whole)
{
	return part > 0 && whole > 0 &&
	       part > whole + fmax(whole * SUPPLY_ERROR, SUPPLY_ERROR_W);
}

/* Returns false without a contradiction. */
static bool doubt_place(struct tw_power_zone *z, double part, const char *part_name,
			double whole, const char *whole_name)
{
	if (!is_above(part, whole))
		return false;
	z->watch.rule = "supplies";
	snprintf(z->watch.text, sizeof(z->watch.text), "%s %.1f W, %s %.1f W", part_name,
		 part, whole_name, whole);
	return true;
}

/*
 * Modules have at most the power of the board, which has at most what its supplies take
 * and at least what they give. One zone is named: the first of those that count.
 */
static void compare_places(const struct tw_power_guard *g, struct tw_power_zone *z,
			   size_t count)
{
	const double whole = sum_of(g, z, count, BIT(PLATFORM), -1),
		     supplies = sum_of_place(g, z, count, TW_PLACE_SUPPLY),
		     modules = sum_of_place(g, z, count, TW_PLACE_MODULE);
	const double span = (double)g->span_ns / 1e3;

	for (size_t i = 0; i < count; i++) {
		const struct tw_guard_watch *w = &z[i].watch;
		const double own = watts(g, &z[i]);

		if (z[i].zone->kind != TW_ZONE_PLATFORM || !z[i].counts ||
		    w->rule != NULL)
			continue;
		if (doubt_place(&z[i], own, "it has",
				w->input_gap ? 0 : w->input_uj / span,
				"its supplies take") ||
		    doubt_place(&z[i], w->output_gap ? 0 : w->output_uj / span,
				"its supplies give", own, "it has") ||
		    doubt_place(&z[i], whole, "the board has", supplies,
				"its supplies take") ||
		    doubt_place(&z[i], modules, "its modules have", whole,
				"the board has"))
			return;
	}
}

/* ---- processors ---- */

static void compare_tdp(const struct tw_power_guard *g, struct tw_power_zone *z,
			double tdp_w)
{
	const double seen = watts(g, z),
		     tdp = z->zone->tdp_w > 0 ? z->zone->tdp_w : tdp_w;

	/* A guest's share of a package may be small. */
	if (z->zone->kind != TW_ZONE_PACKAGE || !z->counts || z->zone->estimated ||
	    z->zone->origin.source[0] != '\0' || seen < 0 || !(tdp > 0))
		return;
	if (seen > TW_TDP_TIMES_MAX * tdp) {
		doubt(z, "tdp", TW_TDP_TIMES_MAX * tdp, seen,
		      "its design power allows at most");
		z->watch.false_power = true;
	} else if (!g->virtual && seen < TDP_MIN * tdp) {
		doubt(z, "idle", TDP_MIN * tdp, seen, "a processor at rest has at least");
	}
}

/* Of the last ticks in a row in which both were read. */
static size_t steps_of(const struct tw_guard_watch *a, const struct tw_guard_watch *b)
{
	return a->steps < b->steps ? a->steps : b->steps;
}

/* The energy of a tick; 0: the last one. */
static double step_of(const struct tw_power_guard *g, const struct tw_guard_watch *w,
		      size_t before)
{
	return (double)w->step_uj[(g->ticks - 1 - before) % TW_GUARD_STEPS];
}

static bool is_alike(double a, double b)
{
	return fabs(a - b) <= STEP_RATIO * fmax(a, b);
}

/* True if the steps of two zones are equal in each tick, and vary. */
static bool moves_alike(const struct tw_power_guard *g, const struct tw_guard_watch *a,
			const struct tw_guard_watch *b)
{
	const size_t steps = steps_of(a, b);
	double mean = 0, dev = 0, da2 = 0, db2 = 0, dadb = 0;

	for (size_t i = 0; i < steps; i++) {
		if (!is_alike(step_of(g, a, i), step_of(g, b, i)))
			return false;
		mean += step_of(g, a, i) / (double)steps;
	}
	for (size_t i = 0; i < steps; i++) {
		const double da = step_of(g, a, i) - mean, db = step_of(g, b, i) - mean;

		dev += da * da / (double)steps;
		da2 += da * da;
		db2 += db * db;
		dadb += da * db;
	}
	return sqrt(dev) > VARIES * mean && dadb > STEP_CORRELATION * sqrt(da2 * db2);
}

/* Counters of energy of such zones are separate: their steps differ by chance. */
static bool has_own_counter(const struct tw_power_zone *z)
{
	return z->counts && z->watch.steps >= STEPS_MIN && !z->zone->reports_power &&
	       !z->zone->estimated &&
	       ((BIT(PACKAGE) | BIT(DRAM) | BIT(GPU)) >> z->zone->kind & 1U) != 0;
}

static void find_copies(const struct tw_power_guard *g, struct tw_power_zone *z,
			size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; has_own_counter(&z[i]) && k < i; k++) {
			if (!has_own_counter(&z[k]) ||
			    z[k].zone->kind != z[i].zone->kind || z[k].watch.copy ||
			    !moves_alike(g, &z[i].watch, &z[k].watch))
				continue;
			z[i].watch.rule = "copy";
			z[i].watch.copy = true;
			z[i].watch.copy_of = z[k].zone;
			snprintf(z[i].watch.text, sizeof(z[i].watch.text),
				 "its counter is that of %.60s", z[k].zone->name);
			break;
		}
}

enum evidence { EVIDENCE_NONE, EVIDENCE_AGAINST, EVIDENCE_FOR };

/* ---- meters that have died ---- */

/* True if zone `at` counts, and no zone of its meter and kind answered in the span. */
static bool is_dead(const struct tw_power_zone *z, size_t count, size_t at)
{
	bool was_read = false;

	for (size_t i = 0; i < count; i++) {
		if (!tw_tree_is_sibling(&z[i], &z[at]))
			continue;
		if (z[i].watch.some_answer)
			return false;
		was_read = was_read || (z[i].counts && z[i].seen && !z[i].silent);
	}
	return was_read && z[at].counts;
}

/* A meter that was dead is alive if some zone is read in all of the span. */
static enum evidence weigh_dead(const struct tw_power_guard *g,
				const struct tw_power_zone *z, size_t count, size_t at)
{
	for (size_t i = 0; i < count; i++)
		if (tw_tree_is_sibling(&z[i], &z[at]) && watts(g, &z[i]) >= 0)
			return EVIDENCE_FOR;
	return EVIDENCE_AGAINST;
}

/* Count the spans of zones whose meter is dead. */
static void find_dead(struct tw_power_zone *z, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (z[i].rejected[0] == '\0')
			z[i].watch.dead_spans =
				is_dead(z, count, i) ? z[i].watch.dead_spans + 1 : 0;
}

static void reject(struct tw_power_zone *z, const char *why)
{
	snprintf(z->rejected, sizeof(z->rejected), "%s", why);
	z->watch.plausible = 0;
	z->watch.rejections++;
}

/* Returns true if a zone of a dead meter is rejected: another meter takes over. */
static bool replace_dead(struct tw_power_zone *z, size_t count, size_t at)
{
	char why[sizeof(z->rejected)];

	if (z[at].watch.dead_spans < DEAD_SPANS || !tw_tree_has_other(z, count, at))
		return false;
	snprintf(why, sizeof(why), "not read for a minute: %.160s", z[at].why);
	reject(&z[at], why);
	return true;
}

/* ---- verdicts ---- */

/* Returns true if the zone is newly doubted or rejected. */
static bool take_verdict(struct tw_power_zone *z, bool at_once)
{
	const bool twice = z->watch.rule != NULL &&
			   (at_once || z->watch.rule == z->watch.rule_before);
	const bool rejected = twice && (z->watch.copy || z->watch.false_power);
	const bool news = rejected || (twice && z->doubt[0] == '\0');

	if (twice)
		snprintf(z->doubt, sizeof(z->doubt), "%s", z->watch.text);
	else if (z->watch.rule == NULL)
		z->doubt[0] = '\0';
	if (rejected)
		reject(z, z->watch.text);
	z->watch.rule_before = z->watch.rule;
	return news;
}

/* ---- rejected zones ---- */

/* Power of a platform and of its siblings that are read; below 0: it is not known. */
static double sum_of_rejected(const struct tw_power_guard *g,
			      const struct tw_power_zone *z, size_t count, size_t at)
{
	double sum = 0;

	if (watts(g, &z[at]) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (tw_tree_is_sibling(&z[i], &z[at]))
			sum += fmax(watts(g, &z[i]), 0);
	return sum;
}

static enum evidence weigh_platform(const struct tw_power_guard *g,
				    const struct tw_power_zone *z, size_t count,
				    size_t at)
{
	const double whole = sum_of_rejected(g, z, count, at);
	const double parts = sum_of(g, z, count, BIT(PACKAGE) | BIT(DRAM) | BIT(GPU), -1);

	if (whole < 0 || parts < 0)
		return EVIDENCE_NONE;
	return parts > whole + fmax(whole * PART_ERROR, PART_ERROR_W) ? EVIDENCE_AGAINST
								      : EVIDENCE_FOR;
}

/* A counter is its own if most of its steps are not those of the other. */
static enum evidence weigh_copy(const struct tw_power_guard *g,
				const struct tw_power_zone *z, size_t count, size_t at)
{
	const struct tw_guard_watch *w = &z[at].watch;
	size_t other = 0, differ = 0, steps;

	while (other < count && z[other].zone != w->copy_of)
		other++;
	if (other == count || !z[other].counts)
		return EVIDENCE_NONE;
	steps = steps_of(w, &z[other].watch);
	if (steps < STEPS_MIN)
		return EVIDENCE_NONE;
	for (size_t i = 0; i < steps; i++)
		differ += !is_alike(step_of(g, w, i), step_of(g, &z[other].watch, i));
	return 2 * differ > steps ? EVIDENCE_FOR : EVIDENCE_AGAINST;
}

static enum evidence weigh(const struct tw_power_guard *g, const struct tw_power_zone *z,
			   size_t count, size_t at, double tdp_w)
{
	const double tdp = z[at].zone->tdp_w > 0 ? z[at].zone->tdp_w : tdp_w;

	if (z[at].watch.dead_spans > 0)
		return weigh_dead(g, z, count, at);
	if (z[at].watch.copy_of != NULL)
		return weigh_copy(g, z, count, at);
	if (z[at].zone->kind == TW_ZONE_PLATFORM)
		return weigh_platform(g, z, count, at);
	if (watts(g, &z[at]) < 0)
		return EVIDENCE_NONE;
	return watts(g, &z[at]) > TW_TDP_TIMES_MAX * tdp ? EVIDENCE_AGAINST
							 : EVIDENCE_FOR;
}

/* The spans in a row that speak for a rejected zone until it counts again. */
static unsigned spans_to_return(const struct tw_power_zone *z, size_t count, size_t at)
{
	const unsigned before = z[at].watch.rejections - 1;

	/* A meter that works again is better than none. */
	if (z[at].watch.dead_spans > 0 && !tw_tree_is_replaced(z, count, at))
		return 1;
	return TW_GUARD_RETURN_SPANS
	       << (before < TW_GUARD_DOUBLINGS ? before : TW_GUARD_DOUBLINGS);
}

/* Returns true if a rejected zone is accepted now. */
static bool accept(const struct tw_power_guard *g, struct tw_power_zone *z, size_t count,
		   size_t at, double tdp_w)
{
	struct tw_guard_watch *w = &z[at].watch;
	const enum evidence e = weigh(g, z, count, at, tdp_w);

	if (e == EVIDENCE_AGAINST)
		w->plausible = 0;
	w->plausible += e == EVIDENCE_FOR;
	if (w->plausible < spans_to_return(z, count, at))
		return false;
	z[at].rejected[0] = z[at].doubt[0] = '\0';
	w->copy_of = NULL;
	w->dead_spans = 0;
	w->rule_before = NULL;
	return true;
}

static bool judge(struct tw_power_guard *g, struct tw_power_zone *z, size_t count,
		  double tdp_w, bool at_once)
{
	bool news = false, doubted;

	for (size_t i = 0; i < count; i++) {
		z[i].watch.rule = NULL;
		z[i].watch.copy = z[i].watch.false_power = false;
		if (z[i].rejected[0] == '\0')
			z[i].watch.copy_of = NULL;
	}
	find_dead(z, count);
	find_copies(g, z, count);
	doubted = compare_parts(g, z, count);
	compare_places(g, z, count);
	for (size_t i = 0; i < count; i++)
		compare_tdp(g, &z[i], tdp_w);
	g->doubted = false;
	for (size_t i = 0; i < count; i++) {
		if (z[i].rejected[0] != '\0')
			news = accept(g, z, count, i, tdp_w) || news;
		else
			news = take_verdict(&z[i], at_once) ||
			       replace_dead(z, count, i) || news;
		g->doubted = g->doubted || (doubted && z[i].doubt[0] != '\0' &&
					    z[i].rejected[0] == '\0' &&
					    z[i].zone->kind == TW_ZONE_PLATFORM);
	}
	return news;
}

static void begin_span(struct tw_power_guard *g, struct tw_power_zone *z, size_t count)
{
	g->span_ns = 0;
	for (size_t i = 0; i < count; i++) {
		z[i].watch.from_uj = z[i].watch.last_uj;
		z[i].watch.gap = !z[i].watch.read;
		z[i].watch.some_answer = false;
		z[i].watch.input_uj = z[i].watch.output_uj = 0;
		z[i].watch.input_gap = z[i].watch.output_gap = false;
	}
}

bool tw_guard_tick(struct tw_power_guard *g, struct tw_power_zone *z, size_t count,
		   uint64_t tick_ns, double tdp_w)
{
	const size_t at = g->ticks % TW_GUARD_STEPS;
	bool news;

	for (size_t i = 0; i < count; i++) {
		struct tw_guard_watch *w = &z[i].watch;

		w->gap = w->gap || !w->read;
		w->some_answer = w->some_answer || w->answers;
		w->step_uj[at] = (float)(w->energy_uj - w->last_uj);
		w->steps = !w->read ? 0 : w->steps + (w->steps < TW_GUARD_STEPS);
		w->last_uj = w->energy_uj;
		w->input_uj += z[i].input_w * (double)tick_ns / 1e3;
		w->output_uj += z[i].output_w * (double)tick_ns / 1e3;
		w->input_gap = w->input_gap || !(z[i].input_w > 0);
		w->output_gap = w->output_gap || !(z[i].output_w > 0);
	}
	g->ticks++;
	g->span_ns += tick_ns;
	/* The first readings have no energy yet. */
	if (tick_ns == 0 || g->ticks <= 2)
		begin_span(g, z, count);
	if (g->span_ns < TW_GUARD_SPAN_NS)
		return false;
	news = judge(g, z, count, tdp_w, false);
	begin_span(g, z, count);
	return news;
}

void tw_guard_judge(struct tw_power_guard *g, struct tw_power_zone *z, size_t count,
		    double tdp_w)
{
	(void)judge(g, z, count, tdp_w, true);
}
