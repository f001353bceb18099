/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/engage/shares.h"

#include "lib/core/buf.h"
#include "lib/core/num.h"

#include <math.h>
#include <stdlib.h>

/* Goals of docs/attribution.md, in %. */
#define MEDIAN_MAX 3.0
#define WORST_MAX 6.0

/* Runs of the same set that differ by more cannot show errors as small as the goals. */
#define NOISE_MAX 2.0

static unsigned everyone(const struct tw_shares *s)
{
	return (1U << s->works) - 1;
}

static double factorial(int n)
{
	return n < 2 ? 1 : n * factorial(n - 1);
}

double tw_shares_fair(const struct tw_shares *s, unsigned of, size_t i)
{
	const int n = __builtin_popcount(of);
	double sum = 0;

	for (unsigned set = 0; set <= of; set++) {
		const int k = __builtin_popcount(set);

		if ((set & ~of) == 0 && (set >> i & 1) == 0)
			sum += factorial(k) * factorial(n - k - 1) / factorial(n) *
			       (s->run[set | 1U << i].joules - s->run[set].joules);
	}
	return sum;
}

/* ---- errors ---- */

/* Parts of fair shares. */
struct errors {
	size_t count;
	double at[TW_SHARES_MAX * TW_SHARES_MAX];
};

static void add_error(struct errors *e, double is, double fair, double whole)
{
	e->at[e->count++] = fabs(is - fair) / fabs(whole) * 100;
}

/* Sorts them. */
static double median(struct errors *e)
{
	qsort(e->at, e->count, sizeof(*e->at), tw_compare_doubles);
	return (e->at[(e->count - 1) / 2] + e->at[e->count / 2]) / 2;
}

static double worst(const struct errors *e)
{
	return e->at[e->count - 1];
}

/* The energy by a rule of workload i of a run. */
typedef double rule_fn(const struct tw_shares *s, unsigned of, size_t i);

static double charged(const struct tw_shares *s, unsigned of, size_t i)
{
	return s->run[of].charged_j[i];
}

static double by_cpu_time(const struct tw_shares *s, unsigned of, size_t i)
{
	double all_s = 0;

	for (size_t k = 0; k < s->works; k++)
		all_s += (of >> k & 1) != 0 ? s->run[of].cpu_s[k] : 0;
	return all_s > 0 ? s->run[of].joules * s->run[of].cpu_s[i] / all_s : 0;
}

static struct errors share_errors(const struct tw_shares *s, rule_fn *rule)
{
	struct errors e = { 0 };

	for (size_t i = 0; i < s->works; i++) {
		const double fair = tw_shares_fair(s, everyone(s), i);

		add_error(&e, rule(s, everyone(s), i), fair, fair);
	}
	return e;
}

/* The error of the change of a workload's energy if one neighbour is gone. */
static struct errors change_errors(const struct tw_shares *s, rule_fn *rule)
{
	struct errors e = { 0 };

	for (size_t i = 0; i < s->works; i++)
		for (size_t gone = 0; gone < s->works; gone++) {
			const unsigned all = everyone(s), less = all & ~(1U << gone);
			const double fair = tw_shares_fair(s, all, i);

			if (gone != i)
				add_error(&e, rule(s, less, i) - rule(s, all, i),
					  tw_shares_fair(s, less, i) - fair, fair);
		}
	return e;
}

/* ---- for people ---- */

static void add_errors(struct tw_buf *b, const char *what, struct errors share,
		       struct errors change)
{
	const double middle = median(&share), changed = median(&change);

	tw_buf_addf(b, "%-18s %8.1f %8.1f %10.1f %8.1f\n", what, middle, worst(&share),
		    changed, worst(&change));
}

static void add_verdict(const struct tw_shares *s, struct tw_buf *b)
{
	struct errors e = share_errors(s, charged);
	const double all_j = s->run[everyone(s)].joules, middle = median(&e),
		     noise = fabs(s->again_j / all_j - 1) * 100;

	tw_buf_addf(b, "\nverdict: ");
	if (!(all_j > 0) || noise > NOISE_MAX)
		tw_buf_addf(b,
			    "none. The same work took %.1f %% more or less energy: stop "
			    "other load, or use a longer --phase\n",
			    noise);
	else
		tw_buf_addf(b,
			    "%s. The goals are a median error of %g %% and none above "
			    "%g %%; the same work took %.1f %% more or less energy\n",
			    middle <= MEDIAN_MAX && worst(&e) <= WORST_MAX ? "fair"
									   : "not fair",
			    MEDIAN_MAX, WORST_MAX, noise);
}

void tw_shares_report(const struct tw_shares *s, struct tw_buf *b)
{
	const unsigned all = everyone(s);

	tw_buf_addf(b, "%s: %.1f W at rest, %.1f J above rest by all; rule: %s\n\n",
		    s->source, s->rest_w, s->run[all].joules, s->rule);
	tw_buf_addf(b, "%-10s %9s %9s %9s %8s %12s\n", "workload", "alone J", "fair J",
		    "charged J", "error %", "CPU time J");
	for (size_t i = 0; i < s->works; i++) {
		const double fair = tw_shares_fair(s, all, i);

		tw_buf_addf(b, "%-10s %9.2f %9.2f %9.2f %+8.1f %12.2f\n", s->name[i],
			    s->run[1U << i].joules, fair, charged(s, all, i),
			    (charged(s, all, i) / fair - 1) * 100,
			    by_cpu_time(s, all, i));
	}
	tw_buf_addf(b, "\n%-18s %8s %8s %10s %8s\n", "error, % of fair", "median",
		    "worst", "change", "worst");
	add_errors(b, "charged", share_errors(s, charged), change_errors(s, charged));
	add_errors(b, "by CPU time", share_errors(s, by_cpu_time),
		   change_errors(s, by_cpu_time));
	add_verdict(s, b);
}
