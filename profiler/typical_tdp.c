/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/typical_tdp.h"

#include "profiler/cpu_identity.h"

#include <math.h>
#include <string.h>

#define PRODUCTS_MIN 3
/* Squares of log cores that a slope needs to count half. */
#define RIDGE 0.5
/* Before any product: log TDP misses by a fifth, with the weight of two products. */
#define SD_BEFORE 0.2
#define PRODUCTS_BEFORE 2

/* Sums over the products of a generation. */
struct sums {
	double n, x, y, xx, xy, yy;
};

/* The vendor goes first: most products fail by it, and the rules for names are many. */
static bool is_of(const struct tw_cpu_product *p, const struct tw_cpu_generation *g)
{
	return p->cores > 0 && p->tdp_w > 0 &&
	       strncmp(p->processor, g->vendor, strlen(g->vendor)) == 0 &&
	       tw_cpu_generation_of_name(p->processor) == g;
}

static void add_products(const struct tw_cpu_generation *g, struct sums *s)
{
	const struct tw_cpu_product *p;

	for (size_t i = 0; (p = tw_cpu_product_at(i)) != NULL; i++) {
		double x, y;

		if (!is_of(p, g))
			continue;
		x = log(p->cores);
		y = log(p->tdp_w);
		s->n++;
		s->x += x;
		s->y += y;
		s->xx += x * x;
		s->xy += x * y;
		s->yy += y * y;
	}
}

static void fit(const struct sums *s, double cores, struct tw_typical_tdp *out)
{
	const double mx = s->x / s->n, my = s->y / s->n;
	const double xx = s->xx - s->n * mx * mx, xy = s->xy - s->n * mx * my;
	const double yy = s->yy - s->n * my * my, slope = xy / (xx + RIDGE);
	const double misses = fmax(yy - 2 * slope * xy + slope * slope * xx, 0);
	const double sd = sqrt((misses + PRODUCTS_BEFORE * SD_BEFORE * SD_BEFORE) /
			       (s->n - 1 + PRODUCTS_BEFORE));
	const double x = cores > 0 ? log(cores) : mx;
	/* TDP over cores of a product whose cores are unknown. */
	const double of_cores = cores > 0 ? 0 : (1 - slope) * sqrt(xx / s->n);

	*out = (struct tw_typical_tdp){ .cores = cores > 0 ? cores : exp(x),
					.tdp_w = exp(my + slope * (x - mx)),
					.factor = exp(hypot(sd, of_cores)) };
}

bool tw_typical_tdp(const char *generation, double cores, struct tw_typical_tdp *out)
{
	const struct tw_cpu_generation *g = tw_cpu_generation_find(generation);

	for (; g != NULL;
	     g = g->after != NULL ? tw_cpu_generation_find(g->after) : NULL) {
		struct sums s = { 0 };

		add_products(g, &s);
		if (s.n < PRODUCTS_MIN)
			continue;
		fit(&s, cores, out);
		return true;
	}
	return false;
}
