/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/typical_tdp.h"

#include "lib/core/line.h"
#include "profiler/cpu_identity.h"

#include <math.h>
#include <string.h>

#define PRODUCTS_MIN 3
/* Squares of log cores that a slope needs to count half. */
#define RIDGE 0.5
/* Before any product: log TDP misses by a fifth, with the weight of two products. */
#define SD_BEFORE 0.2
#define PRODUCTS_BEFORE 2

/* The vendor goes first: most products fail by it, and the rules for names are many. */
static bool is_of(const struct tw_cpu_product *p, const struct tw_cpu_generation *g)
{
	return p->cores > 0 && p->tdp_w > 0 &&
	       strncmp(p->processor, g->vendor, strlen(g->vendor)) == 0 &&
	       tw_cpu_generation_of_name(p->processor) == g;
}

/* The letters at the end of a model number: "u" of a laptop's part, "t", "k", "p". NULL:
 * the name ends without a number. */
static const char *suffix_of(const char *processor)
{
	const char *at = processor + strlen(processor);

	while (at > processor && at[-1] >= 'a' && at[-1] <= 'z')
		at--;
	return at > processor && at[-1] >= '0' && at[-1] <= '9' ? at : NULL;
}

static bool has_suffix(const char *processor, const char *suffix)
{
	const char *of = suffix_of(processor);

	return suffix != NULL && of != NULL && strcmp(of, suffix) == 0;
}

/* log TDP over log cores: of all products, and of those with the processor's suffix. */
static void add_products(const struct tw_cpu_generation *g, const char *processor,
			 struct tw_line *all, struct tw_line *alike)
{
	const char *suffix = suffix_of(processor);
	const struct tw_cpu_product *p;

	for (size_t i = 0; (p = tw_cpu_product_at(i)) != NULL; i++) {
		if (!is_of(p, g))
			continue;
		tw_line_add(all, log(p->cores), log(p->tdp_w));
		if (has_suffix(p->processor, suffix))
			tw_line_add(alike, log(p->cores), log(p->tdp_w));
	}
}

static void fit(const struct tw_line *l, double cores, struct tw_typical_tdp *out)
{
	const double mx = tw_line_mean_x(l), my = tw_line_mean_y(l);
	const double xx = tw_line_xx(l), xy = tw_line_xy(l), yy = tw_line_yy(l);
	const double slope = xy / (xx + RIDGE);
	const double misses = fmax(yy - 2 * slope * xy + slope * slope * xx, 0);
	const double sd = sqrt((misses + PRODUCTS_BEFORE * SD_BEFORE * SD_BEFORE) /
			       (l->n - 1 + PRODUCTS_BEFORE));
	const double x = cores > 0 ? log(cores) : mx;
	/* TDP over cores of a product whose cores are unknown. */
	const double of_cores = cores > 0 ? 0 : (1 - slope) * sqrt(xx / l->n);

	*out = (struct tw_typical_tdp){ .cores = cores > 0 ? cores : exp(x),
					.tdp_w = exp(my + slope * (x - mx)),
					.factor = exp(hypot(sd, of_cores)) };
}

bool tw_typical_tdp(const char *generation, const char *processor, double cores,
		    struct tw_typical_tdp *out)
{
	const struct tw_cpu_generation *g = tw_cpu_generation_find(generation);

	/* Of an architecture alone, machines may be of any size. */
	for (; g != NULL && g->name != NULL;
	     g = g->after != NULL ? tw_cpu_generation_find(g->after) : NULL) {
		struct tw_line all = { 0 }, alike = { 0 };

		add_products(g, processor, &all, &alike);
		if (all.n < PRODUCTS_MIN)
			continue;
		fit(alike.n < PRODUCTS_MIN ? &all : &alike, cores, out);
		out->is_own = strcmp(g->key, generation) == 0;
		return true;
	}
	return false;
}
