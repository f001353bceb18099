/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/unit_power.h"

#include <math.h>

/*
 * A row is a mean over this time at most. It ends when other units run, or in other
 * parts. Many short rows of the same mix would teach that the power does not follow the
 * chance of the samples, and so make the powers of all units alike.
 */
#define ROW_S 300.0

/* A row of one unit ends after this time: its samples cannot mistake one for another. */
#define ROW_ALONE_S 10.0
#define ALONE 0.98

/* Recent shares are means over this time, and as exact as of this many samples. */
#define RECENT_S 10.0
#define RECENT_SAMPLES 60.0

/* A difference of more standard deviations is not chance. */
#define CHANCE 4.0

/* How exact a meter's power is, and how many samples of the users a second has. */
#define METER_ERROR 0.02
#define SAMPLES_PER_S 5.0

/* Standard deviations of an unknown power, and of its drift in a row; of the power. */
#define UNKNOWN 0.5
#define DRIFT 0.01

/* The least power of a unit: of the mean, or of its own while it is absent. */
#define LEAST 0.1

/* A zone that is used for less of the time counts as unused. */
#define USED_MIN 0.01

/* The power that it takes to be awake is a mean over this many ticks. */
#define RESTS_MAX 16.0

/* A unit that was away for this many rows is forgotten. */
#define ABSENT_MAX 180

/* Weights are whole numbers, of nW. */
#define SCALE 1e9
#define MOST_W 1e6

static struct tw_zone_unit *find(struct tw_unit_power *u, uint32_t id)
{
	for (int i = 0; i < TW_UNITS_MAX; i++)
		if (u->unit[i].id == id)
			return &u->unit[i];
	return NULL;
}

static double square(double x)
{
	return x * x;
}

static void forget(struct tw_unit_power *u, int at)
{
	u->unit[at] = (struct tw_zone_unit){ .id = 0 };
	for (int i = 0; i < TW_UNITS_MAX; i++)
		u->covariance[at][i] = u->covariance[i][at] = 0;
}

/* End the row: its powers become the known ones. After a surprise they are uncertain. */
static void end_row(struct tw_unit_power *u)
{
	const bool surprise = square(u->error_w) > square(CHANCE) * u->variance;

	if (u->over_s == 0)
		return;
	for (int i = 0; i < TW_UNITS_MAX; i++)
		for (int k = 0; k < TW_UNITS_MAX; k++)
			u->covariance[i][k] -=
				u->unit[i].gain * u->unit[k].gain / u->variance;
	for (int i = 0; i < TW_UNITS_MAX; i++) {
		struct tw_zone_unit *a = &u->unit[i];

		if (a->id == 0)
			continue;
		a->power_w = a->now_w;
		a->absent = a->used_s > 0 ? 0 : a->absent + 1;
		if (a->used_s > 0)
			u->covariance[i][i] +=
				square((surprise ? UNKNOWN : DRIFT) * a->now_w);
		a->used_s = 0;
		if (a->absent > ABSENT_MAX)
			forget(u, i);
	}
	u->energy_j = u->over_s = 0;
}

static double part_of(const struct tw_zone_user *user)
{
	return user->of_ns != 0 ? (double)user->used_ns / (double)user->of_ns : 0;
}

/*
 * Room for a unit: a free place, or that of the unit that has been absent for longest.
 * NULL: all are in use, now or in the row.
 */
static struct tw_zone_unit *make_room(struct tw_unit_power *u)
{
	struct tw_zone_unit *away = find(u, 0);

	for (int i = 0; i < TW_UNITS_MAX && (away == NULL || away->id != 0); i++) {
		struct tw_zone_unit *a = &u->unit[i];

		if (a->part == 0 && a->used_s == 0 &&
		    (away == NULL || a->absent > away->absent))
			away = a;
	}
	if (away != NULL)
		forget(u, (int)(away - u->unit));
	return away;
}

/* The parts of this tick. New units are added, as far as there is room. */
static void take_parts(struct tw_unit_power *u, const struct tw_zone_user *user,
		       size_t count)
{
	for (int i = 0; i < TW_UNITS_MAX; i++)
		u->unit[i].part = 0;
	for (size_t i = 0; i < count; i++) {
		struct tw_zone_unit *a = find(u, user[i].unit);

		if (a != NULL)
			a->part += part_of(&user[i]);
	}
	for (size_t i = 0; i < count; i++) {
		struct tw_zone_unit *a;

		if (part_of(&user[i]) == 0 || find(u, user[i].unit) != NULL)
			continue;
		if ((a = make_room(u)) == NULL)
			return;
		a->id = user[i].unit;
		for (size_t k = i; k < count; k++)
			a->part += user[k].unit == a->id ? part_of(&user[k]) : 0;
	}
}

/* Follow the shares, which begin anew with other units. True if the units changed. */
static bool follow_shares(struct tw_unit_power *u, double used, double over_s)
{
	bool other = u->over_s == 0;

	for (int i = 0; i < TW_UNITS_MAX; i++)
		other = other || (u->unit[i].part > 0) != (u->unit[i].used_s > 0);
	u->recent_s = fmin(other ? over_s : u->recent_s + over_s, RECENT_S);
	for (int i = 0; i < TW_UNITS_MAX; i++) {
		struct tw_zone_unit *a = &u->unit[i];

		a->recent += (a->part / used - a->recent) * fmin(over_s / u->recent_s, 1);
	}
	return other;
}

/* True if the row has ended: recent shares are no longer its own. */
static bool has_ended(const struct tw_unit_power *u)
{
	const double samples = SAMPLES_PER_S * u->over_s;
	double row = 0;

	for (int i = 0; i < TW_UNITS_MAX; i++)
		row += u->unit[i].used_s;
	for (int i = 0; i < TW_UNITS_MAX; i++) {
		const struct tw_zone_unit *a = &u->unit[i];
		const double share = (a->used_s / row * samples + 0.5) / (samples + 1);
		const double spread = sqrt(share * (1 - share) / RECENT_SAMPLES);

		if (a->part > 0 && (fabs(a->recent - share) > CHANCE * spread ||
				    (share > ALONE && u->over_s > ROW_ALONE_S)))
			return true;
	}
	return false;
}

static void fade(struct tw_unit_power *u, double keep)
{
	u->over_s *= keep;
	u->energy_j *= keep;
	for (int i = 0; i < TW_UNITS_MAX; i++)
		u->unit[i].used_s *= keep;
}

/*
 * Add a tick to the row. Parts that add up to more than the whole time are scaled down.
 * Units beyond TW_UNITS_MAX have the mean power: their energy is left out.
 */
static void add_tick(struct tw_unit_power *u, double used, double energy_j, double over_s)
{
	double learned = 0;

	for (int i = 0; i < TW_UNITS_MAX; i++) {
		learned += u->unit[i].part;
		u->unit[i].used_s += u->unit[i].part / fmax(used, 1) * over_s;
	}
	u->energy_j += energy_j * learned / used;
	u->over_s += over_s;
	fade(u, fmin(ROW_S / u->over_s, 1));
}

/* Units that are new have the mean power. */
static void begin_units(struct tw_unit_power *u, double mean_w)
{
	for (int i = 0; i < TW_UNITS_MAX; i++) {
		struct tw_zone_unit *a = &u->unit[i];

		if (a->row_used > 0 && a->power_w == 0) {
			a->power_w = mean_w;
			u->covariance[i][i] = square(UNKNOWN * mean_w);
		}
	}
}

/*
 * The variance of the row's power from its few samples: they mistake one unit for
 * another, which is not an error if both have the same power.
 */
static double mistaken(const struct tw_unit_power *u, double used)
{
	const double samples = SAMPLES_PER_S * u->over_s;
	double mean_w = 0, units = 0, sum = 0;

	for (int i = 0; i < TW_UNITS_MAX; i++)
		units += u->unit[i].row_used > 0;
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < TW_UNITS_MAX; i++) {
			const struct tw_zone_unit *a = &u->unit[i];
			const double share = (a->row_used / used * samples + 0.5) /
					     (samples + 0.5 * units);

			if (a->row_used <= 0)
				continue;
			if (pass == 0)
				mean_w += share * a->power_w;
			else
				sum += share * (square(a->power_w - mean_w) +
						u->covariance[i][i]);
		}
	return units > 1 ? square(used) * sum / samples : 0;
}

/* Update the powers by the row, from those before it. */
static void learn(struct tw_unit_power *u, bool sampled)
{
	const double whole_w = u->energy_j / u->over_s;
	const double power_w = fmax(whole_w - u->awake_w, LEAST * whole_w);
	double used = 0, expected_w = 0;

	for (int i = 0; i < TW_UNITS_MAX; i++)
		used += u->unit[i].row_used = u->unit[i].used_s / u->over_s;
	begin_units(u, power_w / used);
	u->variance = square(METER_ERROR * power_w) + (sampled ? mistaken(u, used) : 0);
	for (int i = 0; i < TW_UNITS_MAX; i++) {
		struct tw_zone_unit *a = &u->unit[i];

		a->gain = 0;
		for (int k = 0; k < TW_UNITS_MAX; k++)
			a->gain += u->covariance[i][k] * u->unit[k].row_used;
		expected_w += a->row_used * a->power_w;
		u->variance += a->row_used * a->gain;
	}
	u->error_w = power_w - expected_w;
	for (int i = 0; i < TW_UNITS_MAX; i++) {
		struct tw_zone_unit *a = &u->unit[i];
		const double mean_w = a->row_used > 0 ? power_w / used : a->power_w;

		a->now_w = fmax(a->power_w + a->gain / u->variance * u->error_w,
				LEAST * mean_w);
	}
}

/* A process keeps a zone awake once, even with several units. */
static bool awakes(const struct tw_zone_user *user, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (user[i].tgid == user[at].tgid && user[i].used_ns != 0)
			return false;
	return user[at].used_ns != 0;
}

/*
 * The power of each user in W: its part of the time at its unit's power, and an equal
 * part of being awake. The difference to the measured power is mostly the chance of this
 * tick's samples: it is divided by the units' power in the row. Divided by the parts of
 * the tick, units of little power would have too much.
 */
static void weigh(struct tw_unit_power *u, const struct tw_zone_user *user, size_t count,
		  double used, double power_w, uint64_t *weight)
{
	const double awake_w = fmin(u->awake_w, power_w), own_w = power_w - awake_w;
	double awake = 0, row_w = 0, rest_w = 0;

	for (size_t i = 0; i < count; i++)
		awake += (double)(weight[i] = awakes(user, i));
	for (int i = 0; i < TW_UNITS_MAX; i++) {
		const struct tw_zone_unit *a = &u->unit[i];

		row_w += a->part > 0 ? a->row_used * a->now_w : 0;
		rest_w += a->part / used * own_w - a->part / fmax(used, 1) * a->now_w;
	}
	for (size_t i = 0; i < count; i++) {
		const struct tw_zone_unit *a = find(u, user[i].unit);
		const double part = part_of(&user[i]);
		double took_w = part / used * own_w;

		if (a != NULL && a->part > 0)
			took_w = part / fmax(used, 1) * a->now_w +
				 rest_w * a->row_used * a->now_w / row_w * part / a->part;
		took_w += (double)weight[i] * awake_w / awake;
		weight[i] = (uint64_t)(SCALE * fmin(fmax(took_w, 0), MOST_W));
	}
}

void tw_unit_power_weigh(struct tw_unit_power *u, const struct tw_zone_user *user,
			 size_t count, uint64_t energy_uj, uint64_t over_ns,
			 uint64_t *weight)
{
	const double over_s = (double)over_ns / 1e9, energy_j = (double)energy_uj / 1e6;
	double used = 0;

	for (size_t i = 0; i < count; i++) {
		weight[i] = user[i].used_ns;
		used += part_of(&user[i]);
	}
	if (over_ns == 0 || energy_uj == 0)
		return;
	if (used < USED_MIN) {
		u->rests = fmin(u->rests + 1, RESTS_MAX);
		u->awake_w += (energy_j / over_s - u->awake_w) / u->rests;
		return;
	}
	take_parts(u, user, count);
	if (follow_shares(u, used, over_s) || !user[0].sampled || has_ended(u))
		end_row(u);
	add_tick(u, used, energy_j, over_s);
	/* Without learned units there is no row, and all units have the same power. */
	if (u->energy_j == 0)
		u->over_s = 0;
	else
		learn(u, user[0].sampled);
	weigh(u, user, count, used, energy_j / over_s, weight);
}
