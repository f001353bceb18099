/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/track.h"

#include "lib/core/num.h"

#include <stdlib.h>

#define S UINT64_C(1000000000)

/*
 * After such a gap a counter may have wrapped around more than once, and the mean of the
 * powers before and after it says nothing about the gap.
 */
#define GAP_MAX_NS (60 * S)
#define GAP_MAX_TICKS 10

/*
 * Counters are updated every 1 ms to 2 s, so a difference may be the energy of this time.
 */
#define BURST_NS (2 * S)

/*
 * A powered zone's counter does not stand still for this long, unless its meter says so.
 */
#define STILL_MAX_NS (30 * S)

/*
 * A power that exceeds the last one by both of these is accepted only if it is read
 * twice.
 */
#define STEP_TIMES 10.0
#define STEP_W 50.0

/* Limits well above the largest hardware: a package 0.5 kW, a server 20 kW. */
static const double limits_w[TW_ZONE_KIND_COUNT] = {
	[TW_ZONE_PACKAGE] = 2000, [TW_ZONE_CORE] = 2000,   [TW_ZONE_UNCORE] = 1000,
	[TW_ZONE_DRAM] = 1000,    [TW_ZONE_PSYS] = 10000,  [TW_ZONE_PLATFORM] = 50000,
	[TW_ZONE_GPU] = 4000,     [TW_ZONE_OTHER] = 50000, [TW_ZONE_SENSOR] = 50000,
};

static struct tw_span no_span(const char *why)
{
	return (struct tw_span){ .why = why };
}

static struct tw_span lost_span(const char *why)
{
	return (struct tw_span){ .lost = true, .why = why };
}

static bool is_long_gap(uint64_t gap_ns, uint64_t tick_ns)
{
	return gap_ns > GAP_MAX_NS && gap_ns > GAP_MAX_TICKS * tick_ns;
}

/*
 * The clock that power is computed by. A counter of the machine's own counts while the
 * machine is awake; one that counts on, such as a plug's, counts while it is suspended.
 */
static uint64_t clock_of(const struct tw_track *t, const struct tw_zone *z,
			 uint64_t now_ns)
{
	return z->keeps_counting ? now_ns : t->awake_ns;
}

static void begin(struct tw_track *t, uint64_t energy_uj, uint64_t at_ns)
{
	t->based = true;
	t->before_uj = t->watched_uj = energy_uj;
	t->ahead_uj = 0;
	t->broken = false;
	t->read_ns = t->since_ns = at_ns;
}

static uint64_t still_max_ns(const struct tw_zone *z)
{
	const uint64_t window_ns = z->window_ms * UINT64_C(1000000);

	return window_ns > STILL_MAX_NS ? window_ns : STILL_MAX_NS;
}

static bool is_possible(const struct tw_zone *z, uint64_t energy_uj, uint64_t over_ns)
{
	const uint64_t ns = over_ns > BURST_NS ? over_ns : BURST_NS;

	return (double)energy_uj * 1e3 / (double)ns < limits_w[z->kind];
}

/* The growth since watched_uj. False: the counter was reset, or set to another value. */
static bool add_growth(const struct tw_track *t, const struct tw_zone *z, uint64_t now_uj,
		       uint64_t *sum_uj, bool *wrapped)
{
	*wrapped = now_uj < t->watched_uj;
	if (*wrapped && (z->range_uj == 0 || t->watched_uj > z->range_uj))
		return false;
	*sum_uj += *wrapped ? z->range_uj - t->watched_uj + now_uj + 1
			    : now_uj - t->watched_uj;
	return true;
}

/*
 * Compute the growth since before_uj. False: the counter was reset, or set to another
 * value.
 */
static bool grown(const struct tw_track *t, const struct tw_zone *z, uint64_t now_uj,
		  uint64_t over_ns, uint64_t *out, bool *wrapped)
{
	*out = t->ahead_uj;
	return !t->broken && add_growth(t, z, now_uj, out, wrapped) &&
	       is_possible(z, *out, over_ns);
}

/*
 * Time in which the growth was used: a counter may be updated less often than it is read.
 * A counter that stood still for longer belonged to a zone without power, or did not
 * work.
 */
static uint64_t growth_time(const struct tw_track *t, const struct tw_zone *z,
			    uint64_t at_ns)
{
	const uint64_t since_ns = at_ns - t->since_ns;

	return z->kind == TW_ZONE_UNCORE || since_ns > still_max_ns(z)
		       ? at_ns - t->read_ns
		       : since_ns;
}

static struct tw_span stands_still(struct tw_track *t, const struct tw_zone *z,
				   uint64_t at_ns, uint64_t over_ns)
{
	t->read_ns = at_ns;
	if (!t->moved)
		return no_span("its counter has not moved yet");
	if (at_ns - t->moved_ns > still_max_ns(z) && z->kind != TW_ZONE_UNCORE)
		return no_span("its counter stands still");
	return (struct tw_span){ .known = true,
				 .over_ns = over_ns,
				 .of_ns = z->kind == TW_ZONE_UNCORE ? over_ns : 0 };
}

static struct tw_span take_energy(struct tw_track *t, const struct tw_zone *z,
				  uint64_t now_uj, uint64_t now_ns, uint64_t tick_ns)
{
	const uint64_t at_ns = clock_of(t, z, now_ns);
	const uint64_t gap_ns = t->based ? now_ns - t->booted_ns : 0;
	const uint64_t over_ns = t->based ? at_ns - t->read_ns : 0;
	const uint64_t of_ns = growth_time(t, z, at_ns);
	uint64_t energy_uj;
	bool wrapped;

	if (z->range_uj != 0 && now_uj > z->range_uj) {
		t->refused++;
		return no_span("its counter is above its range");
	}
	t->booted_ns = t->watched_ns = now_ns;
	if (!t->based) {
		begin(t, now_uj, at_ns);
		return lost_span("read once only");
	}
	if (!z->keeps_counting && is_long_gap(gap_ns, tick_ns)) {
		begin(t, now_uj, at_ns);
		t->resets++;
		return lost_span("its readings were gone for too long");
	}
	if (now_uj == t->watched_uj && t->ahead_uj == 0 && !t->broken)
		return stands_still(t, z, at_ns, over_ns);
	if (!grown(t, z, now_uj, of_ns, &energy_uj, &wrapped)) {
		begin(t, now_uj, at_ns);
		t->resets++;
		return lost_span("its counter was set to another value");
	}
	begin(t, now_uj, at_ns);
	t->wraps += wrapped;
	t->moved = true;
	t->moved_ns = at_ns;
	return (struct tw_span){
		.known = true, .energy_uj = energy_uj, .over_ns = over_ns, .of_ns = of_ns
	};
}

static bool is_step(const struct tw_track *t, double power_w)
{
	return t->power_w > 0 && power_w > STEP_TIMES * t->power_w &&
	       power_w > t->power_w + STEP_W;
}

/* The same sample read twice is one reading. */
static bool is_doubtful(struct tw_track *t, const struct tw_reading *r)
{
	const bool again =
		t->doubted && (r->sample == 0 || r->sample != t->doubted_sample);

	if (!is_step(t, r->power_w) || again)
		return false;
	t->refused += !t->doubted;
	t->doubted = true;
	t->doubted_sample = r->sample;
	return true;
}

/* The energy of a tick and of the gap before it. */
static struct tw_span integrate(struct tw_track *t, double power_w, uint64_t tick_ns)
{
	const bool lost = !t->based || is_long_gap(t->gap_ns, tick_ns);
	const uint64_t gap_ns = lost ? 0 : t->gap_ns;
	const double gap_w = (t->power_w + power_w) / 2.0;
	const double nj = power_w * (double)tick_ns + gap_w * (double)gap_ns;
	const double uj = nj / 1e3 + t->carry_uj;
	const uint64_t energy_uj = (uint64_t)uj;

	t->carry_uj = uj - (double)energy_uj;
	t->based = true;
	t->power_w = power_w;
	return (struct tw_span){ .known = true,
				 .lost = lost,
				 .energy_uj = energy_uj,
				 .over_ns = tick_ns + gap_ns,
				 .of_ns = tick_ns + gap_ns };
}

static struct tw_span take_power(struct tw_track *t, const struct tw_zone *z,
				 const struct tw_reading *r, uint64_t tick_ns)
{
	const double power_w = r->power_w;

	if (!(power_w > 0) && !(z->estimated && power_w == 0)) {
		t->refused++;
		return no_span("it reports 0 W");
	}
	if (!(power_w < limits_w[z->kind])) {
		t->refused++;
		return no_span("it reports more W than there can be");
	}
	if (!z->estimated && is_doubtful(t, r))
		return no_span("its power jumped: waiting for another reading");
	t->doubted = false;
	if (tick_ns == 0) {
		t->based = true;
		t->power_w = power_w;
		return lost_span("read once only");
	}
	return integrate(t, power_w, tick_ns);
}

struct tw_span tw_track_take(struct tw_track *t, const struct tw_zone *z,
			     const struct tw_reading *r, uint64_t now_ns,
			     uint64_t tick_ns)
{
	struct tw_span s = no_span(r->why);

	t->awake_ns += tick_ns;
	if (r->readable)
		s = z->reports_power ? take_power(t, z, r, tick_ns)
				     : take_energy(t, z, r->energy_uj, now_ns, tick_ns);
	s.gap = s.known && !s.lost && t->gap_ns > 0;
	t->gap_ns = s.known ? 0 : t->gap_ns + tick_ns;
	return s;
}

void tw_track_watch(struct tw_track *t, const struct tw_zone *z,
		    const struct tw_reading *r, uint64_t now_ns)
{
	uint64_t growth_uj = 0;
	bool wrapped = false;

	if (!r->readable || !t->based || z->reports_power || z->range_uj == 0 ||
	    r->energy_uj > z->range_uj)
		return;
	if (!add_growth(t, z, r->energy_uj, &growth_uj, &wrapped) ||
	    !is_possible(z, growth_uj, now_ns - t->watched_ns))
		t->broken = true;
	t->ahead_uj += growth_uj;
	t->wraps += wrapped;
	t->watched_uj = r->energy_uj;
	t->watched_ns = now_ns;
}

/* ---- idle power ---- */

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
	double v[TW_IDLE_KEPT];

	for (uint32_t i = 0; i < count; i++)
		v[i] = of[i];
	return (float)tw_median(v, count);
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
