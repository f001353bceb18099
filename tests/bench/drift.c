/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often tw_drift_find() finds a drift in simulated recordings of an hour: 1,200 rows
 *of a machine of 60 W at rest and 200 W at full load, with 1 % noise and kinds of work,
 *which no feature shows, of up to 15 % of the power of the load.
 *
 *	drift RECORDINGS
 *
 * prints lines of: shape, share of rest, rows that a kind of work lasts, W of the change
 * over the recording, share of the recordings in which a drift was found.
 */
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "trainer/fit/drift.h"
#include "trainer/fit/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS 1200
#define STEP_MS 3000
#define REST_W 60
#define LOAD_W 140
#define KINDS 0.15
#define NOISE 0.01

struct machine {
	const char *shape;
	double rest; /* share of the loads */
	int held;    /* rows */
	double watts;
};

static double by_line(double x)
{
	return x;
}

static double by_half_sine(double x)
{
	return (1 - cos(M_PI * x)) / 2;
}

static double by_sine(double x)
{
	return sin(2 * M_PI * x) / 2;
}

static double by_step(double x)
{
	return x > 0.5;
}

static double by_late_step(double x)
{
	return x > 0.8;
}

static const struct {
	const char *name;
	double (*change)(
		double); /* of the power, by the part of the recording that is over */
} shapes[] = {
	{ "line", by_line }, { "half-sine", by_half_sine }, { "sine", by_sine },
	{ "step", by_step }, { "late-step", by_late_step },
};

/* Uniform in [0, 1): xorshift64 (G. Marsaglia, 2003). */
static double draw(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return (double)(*s >> 11) / 9007199254740992.0;
}

/* A normal deviate: the sum of twelve uniform ones. */
static double deviate(uint64_t *s)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += draw(s);
	return sum;
}

static bool is_found(const struct machine *m, double (*change)(double), uint64_t seed)
{
	static const char *const features[] = { "cpu_cycles" };
	static double measured[ROWS], loads[ROWS];
	static int64_t time_ms[ROWS];
	const struct tw_samples samples = { .rows = ROWS,
					    .cols = 1,
					    .x = loads,
					    .y = measured,
					    .features = features,
					    .component = TW_PACKAGE,
					    .time_ms = time_ms };
	struct tw_drift d;
	struct tw_err err = { 0 };
	double load = 0, kind = 0;

	for (int i = 0, until = 0; i < ROWS; i++) {
		if (i == until) {
			load = draw(&seed) < m->rest ? 0 : draw(&seed);
			load = m->rest > 0 ? load : 0.2 + 0.8 * load;
			until += 8 + (int)(32 * draw(&seed));
		}
		if (i % m->held == 0)
			kind = 2 * draw(&seed) - 1;
		time_ms[i] = (int64_t)i * STEP_MS;
		loads[i] = load;
		measured[i] = (REST_W + LOAD_W * load) * (1 + NOISE * deviate(&seed)) +
			      KINDS * LOAD_W * load * kind +
			      m->watts * change((double)i / ROWS);
	}
	if (tw_drift_find(&samples, &d, &err) < 0) {
		fprintf(stderr, "drift: %s\n", err.text);
		exit(1);
	}
	return d.watts != 0;
}

static void judge(const struct machine *m, double (*change)(double), int recordings)
{
	int found = 0;

	for (int r = 1; r <= recordings; r++) {
		uint64_t seed = (uint64_t)r * 7919 + (uint64_t)m->held * 1000003;

		for (int i = 0; i < 20; i++)
			draw(&seed);
		found += is_found(m, change, seed);
	}
	printf("%s %g %d %g %g\n", m->shape, m->rest, m->held, m->watts,
	       (double)found / recordings);
}

int main(int argc, char **argv)
{
	static const double rests[] = { 0.25, 0.1, 0 }, watts[] = { 0, 1, 2, 4, 8, 16 };
	static const int held[] = { 1, 10, 100, 200, 300 };
	const int recordings = argc == 2 ? atoi(argv[1]) : 0;

	if (recordings <= 0) {
		fprintf(stderr, "usage: drift RECORDINGS\n");
		return 2;
	}
	for (size_t s = 0; s < TW_COUNT(shapes); s++)
		for (size_t r = 0; r < (s == 0 ? TW_COUNT(rests) : 1); r++)
			for (size_t w = s == 0 ? 0 : 1; w < TW_COUNT(watts); w++)
				judge(&(struct machine){ shapes[s].name, rests[r], 30,
							 watts[w] },
				      shapes[s].change, recordings);
	for (size_t r = 0; r < TW_COUNT(rests); r++)
		for (size_t h = 0; h < TW_COUNT(held); h++)
			judge(&(struct machine){ "line", rests[r], held[h], 0 }, by_line,
			      recordings);
	return 0;
}
