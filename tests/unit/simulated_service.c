/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/simulated_service.h"

#include "lib/core/err.h"
#include "tests/unit/tw_test.h"
#include "trainer/fit/random.h"
#include "trainer/response/prom_store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define START_MS 1.7e12
#define PI 3.14159265358979323846
#define COLUMNS (1 + SIMULATED_WORKS)

static const char *const names[COLUMNS] = { "joules_total", "a_total", "b_total" };

static double draw_normal(struct tw_random *r)
{
	const double radius = sqrt(-2 * log(1 - tw_random_share(r)));

	return radius * cos(2 * PI * tw_random_share(r));
}

/* The next value of a process of variance 1 that forgets in memory_s. */
static double walk(struct tw_random *r, double at, double memory_s)
{
	const double keep = exp(-1 / memory_s);

	return keep * at + sqrt(1 - keep * keep) * draw_normal(r);
}

/* Totals at each second. */
static double *simulate(const struct simulated_law *law, struct tw_random *r)
{
	double *total = calloc((law->seconds + 1) * COLUMNS, sizeof(*total));
	double load[SIMULATED_WORKS], noise = draw_normal(r);

	assert_non_null(total);
	for (size_t k = 0; k < SIMULATED_WORKS; k++)
		load[k] = draw_normal(r);
	for (unsigned t = 1; t <= law->seconds; t++) {
		const double *unit_j = law->change_s > 0 && t > law->change_s
					       ? law->later_j
					       : law->unit_j;
		double *now = total + t * COLUMNS;
		double joules = law->standing_w, rate[SIMULATED_WORKS];

		for (size_t k = 0; k < law->works; k++) {
			const double memory_s = law->memory_s[k];

			load[k] = memory_s > 0 ? walk(r, load[k], memory_s) : 0;
			rate[k] = law->rate[k] * exp(0.7 * load[k]);
			if (k == 1)
				rate[k] = (1 - law->mixed) * rate[k] +
					  law->mixed * rate[0] * law->rate[1] /
						  law->rate[0];
			now[1 + k] = now[1 + k - COLUMNS] + rate[k];
			joules += unit_j[k] * rate[k];
		}
		if (law->noise_w > 0) {
			noise = walk(r, noise, law->noise_memory_s);
			joules += law->noise_w * noise;
		}
		now[0] = now[-COLUMNS] + fmax(joules, 0);
	}
	return total;
}

static void add_series(struct simulated_service *s, const struct simulated_law *law,
		       size_t column, const double *total, struct tw_random *r)
{
	const double scrape_s = column == 0 ? law->energy_scrape_s : law->work_scrape_s;
	const double phase_s = scrape_s * tw_random_share(r);
	const size_t most = (size_t)(law->seconds / scrape_s) + 1;
	double *time = calloc(2 * most, sizeof(*time)), *value = time + most;
	struct tw_err err = { 0 };
	size_t metric, n = 0;

	assert_non_null(time);
	for (; n < most; n++) {
		const double at = phase_s + (double)n * scrape_s +
				  law->jitter_s * tw_random_share(r);
		const size_t t = (size_t)at;
		const double *v = total + t * COLUMNS + column;

		if (t >= law->seconds)
			break;
		time[n] = round(START_MS + at * 1e3);
		value[n] = v[0] + (at - (double)t) * (v[COLUMNS] - v[0]);
		if (column > 0)
			value[n] = floor(value[n]); /* whole units */
	}
	if (tw_prom_add_metric(s->prom, names[column], strlen(names[column]), &metric,
			       &err) < 0 ||
	    tw_prom_add_series(s->prom, metric, NULL, 0, time, value, n, &err) < 0)
		fail_msg("%s", err.text);
	free(time);
}

static struct tw_unit_source source(struct simulated_service *s, size_t column)
{
	size_t count;

	s->series[column] = tw_prom_series(s->prom, names[column], &count);
	return (struct tw_unit_source){ names[column], &s->series[column], count };
}

void simulated_service_make(struct simulated_service *s, const struct simulated_law *law)
{
	struct tw_random r = tw_random_init(law->seed, 0);
	double *total = simulate(law, &r);
	struct tw_err err = { 0 };

	*s = (struct simulated_service){ .prom = tw_prom_new(&err) };
	assert_non_null(s->prom);
	for (size_t c = 0; c <= law->works; c++)
		add_series(s, law, c, total, &r);
	s->in.works = law->works;
	s->in.energy = source(s, 0);
	for (size_t k = 0; k < law->works; k++)
		s->in.work[k] = source(s, 1 + k);
	s->in.idle.name = "idle";
	s->in.intensity.name = "intensity";
	free(total);
}

void simulated_service_release(struct simulated_service *s)
{
	tw_prom_free(s->prom);
}

struct simulated_law simulated_law_make(unsigned seconds)
{
	return (struct simulated_law){
		.seed = 1,
		.seconds = seconds,
		.works = 2,
		.standing_w = 6,
		.unit_j = { 0.5, 0.02 },
		.rate = { 10, 300 },
		.memory_s = { 120, 600 },
		.noise_w = 0.5,
		.noise_memory_s = 300,
		.energy_scrape_s = 15,
		.work_scrape_s = 15,
		.jitter_s = 0.5,
	};
}
