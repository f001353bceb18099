/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/agents/cover.h"

#include <math.h>

/* Noise and ticks at other times: the largest difference of one meter, read twice. */
#define SAME 0.15
/* The most by which earlier answers outweigh the next one. */
#define LIKE_MAX 3

/* Energy in uJ, or watts. */
struct kinds {
	double of[TW_ZONE_KIND_COUNT];
	bool has[TW_ZONE_KIND_COUNT];
};

static struct kinds kinds_of(const struct tw_sum_part *part, size_t count, bool watts)
{
	struct kinds k = { .of = { 0 } };

	for (size_t i = 0; i < count; i++) {
		if (watts && !part[i].powered)
			continue;
		k.has[part[i].kind] = true;
		k.of[part[i].kind] +=
			watts ? part[i].watts
			      : (double)part[i].dynamic_uj + (double)part[i].idle_uj;
	}
	return k;
}

static bool share_kinds(const struct kinds *a, const struct kinds *b)
{
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++)
		if (a->has[kind] && b->has[kind])
			return true;
	return false;
}

static double largest(const struct kinds *k)
{
	double most = 0;

	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++)
		if (k->of[kind] > most)
			most = k->of[kind];
	return most;
}

/* How much of each kind of the guest is covered; taken: of the machine's, before. */
static struct kinds cover(const struct kinds *vm, const struct kinds *guest,
			  const double taken[TW_ZONE_KIND_COUNT])
{
	const bool shared = share_kinds(vm, guest);
	double wanted = 0, given = 0;
	struct kinds out = { .of = { 0 } };

	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++) {
		double left;

		if (!guest->has[kind] || (shared && !vm->has[kind]))
			continue;
		left = (shared ? vm->of[kind] : largest(vm)) - taken[kind];
		out.has[kind] = true;
		if (left < 0)
			left = 0;
		out.of[kind] = left < guest->of[kind] ? left : guest->of[kind];
		wanted += guest->of[kind];
		given += out.of[kind];
	}
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++)
		if (guest->has[kind] && !out.has[kind] && wanted > 0)
			out.of[kind] = guest->of[kind] * (given / wanted);
	return out;
}

static void take_uj(struct tw_sum_part *p, uint64_t *uj)
{
	const uint64_t idle = p->idle_uj < *uj ? p->idle_uj : *uj;
	const uint64_t dynamic = p->dynamic_uj < *uj - idle ? p->dynamic_uj : *uj - idle;

	p->idle_uj -= idle;
	p->dynamic_uj -= dynamic;
	*uj -= idle + dynamic;
}

void tw_cover_take(struct tw_cover *c, const struct tw_sum *vm, struct tw_sum_part *part,
		   size_t count)
{
	const struct kinds host = kinds_of(vm->part, vm->parts, false),
			   guest = kinds_of(part, count, false);
	double taken[TW_ZONE_KIND_COUNT];
	struct kinds covered;

	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++) {
		/* The sum of a machine that was away begins again. */
		if ((double)c->taken_uj[kind] > largest(&host))
			c->taken_uj[kind] = 0;
		taken[kind] = (double)c->taken_uj[kind];
	}
	covered = cover(&host, &guest, taken);
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++) {
		uint64_t uj = (uint64_t)covered.of[kind];

		if (covered.has[kind])
			c->taken_uj[kind] += uj;
		for (size_t i = 0; i < count; i++)
			if ((int)part[i].kind == kind)
				take_uj(&part[i], &uj);
	}
}

void tw_cover_compare(struct tw_cover *c, const struct tw_sum_part *guest, size_t guests,
		      const struct tw_sum_part *host, size_t hosts)
{
	const struct kinds of_guest = kinds_of(guest, guests, true),
			   of_host = kinds_of(host, hosts, true);
	bool same = true;

	if (!share_kinds(&of_guest, &of_host))
		return;
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++)
		if (of_guest.has[kind] && of_host.has[kind] &&
		    fabs(of_guest.of[kind] - of_host.of[kind]) > SAME * of_host.of[kind])
			same = false;
	if (same && c->like < LIKE_MAX)
		c->like++;
	if (!same && c->like > -LIKE_MAX)
		c->like--;
}

bool tw_cover_waits(struct tw_cover *c, const struct tw_sum_part *part, size_t count,
		    uint64_t now_ns, uint64_t wait_ns)
{
	bool any = false;

	for (size_t i = 0; i < count; i++)
		any = any || part[i].dynamic_uj + part[i].idle_uj > 0;
	if (any && c->since_ns == 0)
		c->since_ns = now_ns;
	if (any && now_ns - c->since_ns < wait_ns)
		return true;
	c->since_ns = 0;
	for (size_t i = 0; i < count; i++)
		c->beyond_uj[part[i].kind] += part[i].dynamic_uj + part[i].idle_uj;
	return false;
}

void tw_cover_take_watts(const struct tw_sum *vm, struct tw_sum_part *part, size_t count)
{
	static const double none[TW_ZONE_KIND_COUNT] = { 0 };
	const struct kinds host = kinds_of(vm->part, vm->parts, true),
			   guest = kinds_of(part, count, true);
	struct kinds covered = cover(&host, &guest, none);

	for (size_t i = 0; i < count; i++) {
		double *left = &covered.of[part[i].kind];
		const double watts = part[i].watts < *left ? part[i].watts : *left;

		part[i].watts -= watts;
		*left -= watts;
	}
}
