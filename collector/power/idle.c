/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/idle.h"

#include <stdbool.h>
#include <string.h>

#define SAMPLE_NS UINT64_C(1000000000)

/* Samples that a bin needs to count. */
#define ENOUGH 5

/* Below this load the machine idles, and its median is nearly the idle power. */
#define QUIET 0.05f

/* Distance of bins that define a line. */
#define APART 3

struct point {
	float load, power_w;
};

static float median(const float *of, uint32_t count)
{
	float sorted[TW_IDLE_KEPT];

	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = i;

		for (; at > 0 && sorted[at - 1] > of[i]; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = of[i];
	}
	return count % 2 == 1 ? sorted[count / 2]
			      : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

static bool middle(const struct tw_idle *i, int bin, struct point *out)
{
	const uint32_t count = i->seen[bin] < TW_IDLE_KEPT ? i->seen[bin] : TW_IDLE_KEPT;

	if (count < ENOUGH)
		return false;
	*out = (struct point){ median(i->load[bin], count),
			       median(i->power_w[bin], count) };
	return true;
}

/*
 * Draw a line through the lowest and the highest bin that count; returns its power at no
 * load.
 */
static double reckon(const struct tw_idle *i)
{
	struct point low, high;
	int from = 0, to = TW_IDLE_BINS - 1;
	double slope, idle_w;

	while (from < TW_IDLE_BINS && !middle(i, from, &low))
		from++;
	if (from == TW_IDLE_BINS)
		return 0;
	while (!middle(i, to, &high))
		to--;
	if (to - from < APART)
		return low.load < QUIET ? low.power_w : 0;
	slope = (high.power_w - low.power_w) / (high.load - low.load);
	if (slope < 0)
		slope = 0;
	idle_w = low.power_w - slope * low.load;
	return idle_w > 0 ? idle_w : 0;
}

void tw_idle_learn(struct tw_idle *i, uint64_t energy_uj, uint64_t over_ns, double load)
{
	double mean;
	uint32_t at;
	int bin;

	i->energy_uj += (double)energy_uj;
	i->load_ns += load * (double)over_ns;
	i->over_ns += over_ns;
	/* Energy after a gap belongs to the gap, too: extend the sample. */
	if (i->over_ns < SAMPLE_NS || energy_uj == 0)
		return;
	mean = i->load_ns / (double)i->over_ns;
	bin = (int)(mean * TW_IDLE_BINS);
	if (bin >= TW_IDLE_BINS)
		bin = TW_IDLE_BINS - 1;
	at = i->seen[bin]++ % TW_IDLE_KEPT;
	i->load[bin][at] = (float)mean;
	i->power_w[bin][at] = (float)(i->energy_uj * 1e3 / (double)i->over_ns);
	i->energy_uj = i->load_ns = 0;
	i->over_ns = 0;
	i->idle_w = reckon(i);
}
