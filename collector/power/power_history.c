/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/power_history.h"

#include "collector/power/power.h"
#include "collector/workloads/workload.h"
#include "lib/core/err.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct tw_power_history {
	/* The slot that is being filled. */
	struct tw_charge charge;
	bool missing[TW_ZONE_KIND_COUNT];
	uint64_t slot_ns; /* awake time so far */
	uint64_t top_ns;
	bool noted;       /* the workloads' energy at the begin of the slot is noted */
	bool top_missing; /* a tick of the slot lacks a zone of the sum */
	unsigned kinds;   /* of the sum, when it was noted */

	uint64_t slots, tops; /* numbers of the last ones */
	struct tw_power_history_slot slot[TW_POWER_HISTORY_SLOTS];
	struct tw_power_history_top top[TW_POWER_HISTORY_TOPS];
};

_Static_assert(sizeof(struct tw_power_history) <= TW_POWER_HISTORY_BYTES,
	       "as documented");

int tw_power_history_new(struct tw_power_history **out, struct tw_err *err)
{
	struct tw_power_history *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return tw_fail(err, TW_NOMEM, "history");
	*out = h;
	return 0;
}

void tw_power_history_free(struct tw_power_history *h)
{
	free(h);
}

uint64_t tw_power_history_slots(const struct tw_power_history *h)
{
	return h->slots;
}

uint64_t tw_power_history_tops(const struct tw_power_history *h)
{
	return h->tops;
}

const struct tw_power_history_slot *
tw_power_history_slot(const struct tw_power_history *h, uint64_t number)
{
	if (number == 0 || number > h->slots ||
	    h->slots - number >= TW_POWER_HISTORY_SLOTS)
		return NULL;
	return &h->slot[number % TW_POWER_HISTORY_SLOTS];
}

const struct tw_power_history_top *tw_power_history_top(const struct tw_power_history *h,
							uint64_t number)
{
	if (number == 0 || number > h->tops || h->tops - number >= TW_POWER_HISTORY_TOPS)
		return NULL;
	return &h->top[number % TW_POWER_HISTORY_TOPS];
}

static float watts(uint64_t uj, uint64_t ns)
{
	return (float)((double)uj * 1e3 / (double)ns);
}

/* ---- the node ---- */

static void end_slot(struct tw_power_history *h, uint64_t now_ns)
{
	struct tw_power_history_slot *s = &h->slot[++h->slots % TW_POWER_HISTORY_SLOTS];

	s->end_ns = now_ns;
	for (int k = 0; k < TW_ZONE_KIND_COUNT; k++) {
		s->dynamic_w[k] =
			h->missing[k] ? NAN : watts(h->charge.dynamic_uj[k], h->slot_ns);
		s->idle_w[k] =
			h->missing[k] ? NAN : watts(h->charge.idle_uj[k], h->slot_ns);
		h->missing[k] = false;
	}
	h->charge = (struct tw_charge){ 0 };
	h->slot_ns = 0;
}

static void tick_node(struct tw_power_history *h, uint64_t now_ns, uint64_t elapsed_ns,
		      const struct tw_power *power)
{
	tw_charge_add(&h->charge, tw_power_ticked(power));
	for (int k = 0; k < TW_ZONE_KIND_COUNT; k++)
		h->missing[k] =
			h->missing[k] || !tw_power_complete(power, (enum tw_zone_kind)k);
	h->slot_ns += elapsed_ns;
	if (h->slot_ns >= TW_POWER_HISTORY_SLOT_NS)
		end_slot(h, now_ns);
}

/* ---- workloads ---- */

/* Put w into the place i of a heap whose least power is the first. */
static void sift_down(struct tw_power_history_top *t, size_t i,
		      struct tw_power_history_workload w)
{
	for (size_t child; (child = 2 * i + 1) < t->count; i = child) {
		if (child + 1 < t->count &&
		    t->of[child + 1].power_w < t->of[child].power_w)
			child++;
		if (w.power_w <= t->of[child].power_w)
			break;
		t->of[i] = t->of[child];
	}
	t->of[i] = w;
}

static void keep_larger(struct tw_power_history_top *t,
			struct tw_power_history_workload w)
{
	size_t i;

	if (t->count == TW_POWER_HISTORY_TOP_COUNT) {
		const float out_w = fminf(w.power_w, t->of[0].power_w);

		t->least_w = fmaxf(t->least_w, out_w);
		if (w.power_w > t->of[0].power_w)
			sift_down(t, 0, w);
		return;
	}
	for (i = t->count++; i > 0 && t->of[(i - 1) / 2].power_w > w.power_w;
	     i = (i - 1) / 2)
		t->of[i] = t->of[(i - 1) / 2];
	t->of[i] = w;
}

/* Note the energy of all workloads; if top is not NULL, keep those that used most. */
static void note(const struct tw_power_history *h, unsigned kinds, struct tw_workloads *t,
		 struct tw_power_history_top *top)
{
	for (int level = 0; level < TW_LEVEL_COUNT; level++) {
		struct tw_workload *w = NULL;

		while ((w = tw_workloads_next(t, (enum tw_level)level, w)) != NULL) {
			const uint64_t uj = tw_charge_sum(&w->charged, kinds);

			if (top != NULL && uj > w->noted_uj)
				keep_larger(top,
					    (struct tw_power_history_workload){
						    w->serial,
						    watts(uj - w->noted_uj, h->top_ns) });
			w->noted_uj = uj;
		}
	}
}

static bool is_complete(const struct tw_power *power, unsigned kinds)
{
	for (int k = 0; k < TW_ZONE_KIND_COUNT; k++)
		if ((kinds >> k & 1) != 0 &&
		    !tw_power_use_complete(power, (enum tw_zone_kind)k))
			return false;
	return kinds != 0;
}

static struct tw_power_history_top *end_top(struct tw_power_history *h, uint64_t now_ns)
{
	struct tw_power_history_top *top = &h->top[++h->tops % TW_POWER_HISTORY_TOPS];

	top->end_ns = now_ns;
	top->count = 0;
	top->least_w = h->top_missing ? NAN : 0;
	return h->top_missing ? NULL : top;
}

static void tick_workloads(struct tw_power_history *h, uint64_t now_ns,
			   uint64_t elapsed_ns, const struct tw_power *power,
			   struct tw_workloads *t)
{
	const unsigned kinds = tw_power_sum_kinds(power);

	h->top_ns += elapsed_ns;
	/* A sum of other kinds cannot be compared with the noted one. */
	h->top_missing =
		h->top_missing || kinds != h->kinds || !is_complete(power, kinds);
	if (t == NULL || (h->noted && h->top_ns < TW_POWER_HISTORY_TOP_NS))
		return;
	note(h, kinds, t, h->noted ? end_top(h, now_ns) : NULL);
	h->noted = true;
	h->kinds = kinds;
	h->top_missing = false;
	h->top_ns = 0;
}

void tw_power_history_tick(struct tw_power_history *h, uint64_t now_ns,
			   uint64_t elapsed_ns, const struct tw_power *power,
			   struct tw_workloads *workloads)
{
	if (elapsed_ns > 0)
		tick_node(h, now_ns, elapsed_ns, power);
	tick_workloads(h, now_ns, elapsed_ns, power, workloads);
}
