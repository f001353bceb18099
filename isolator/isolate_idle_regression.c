/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IdleRegressionIsolator: subtract each component's power at zero usage, the intercept a
 * of a robust regression (isolator/idle_power.h):
 *
 *	P'[i] = P[i] - a
 *
 * All components use the usage of the processors: the machine is idle when they are. Rows
 * may become negative, as with MinIdleIsolator.
 */
#include "isolator/idle_power.h"
#include "isolator/isolator.h"
#include "lib/core/err.h"
#include "lib/field/feature.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct idle {
	const struct tw_energy_source *source;
	struct tw_idle_power power[TW_COMPONENT_COUNT]; /* in the source's order */
	bool there[TW_COMPONENT_COUNT];
};

/* Whether the column is the node's processor time in one mode: node_cpu_<mode>_ms. */
static bool is_mode(const char *name)
{
	static const char head[] = "node_cpu_", tail[] = "_ms";
	const size_t len = strlen(name);

	/* A name with the head is longer than the tail. */
	return strncmp(name, head, sizeof(head) - 1) == 0 &&
	       strcmp(name + len - (sizeof(tail) - 1), tail) == 0;
}

/* Add the usage of the processors to use[d->rows]. */
static int add_use(const struct tw_dataset *d, double *use, struct tw_err *err)
{
	const char **name = calloc(d->cols + 1, sizeof(*name));
	const char *main;
	size_t count = 0;

	if (name == NULL)
		return tw_fail(err, TW_NOMEM, "%zu columns", d->cols);
	for (size_t i = 0; i < d->cols; i++)
		if (tw_feature_find(d->col[i].name) != NULL)
			name[count++] = d->col[i].name;
	main = name[tw_main_feature(name, count, TW_PACKAGE)]; /* NULL if there is none */
	free(name);
	if (main == NULL)
		return tw_fail(err, TW_NOTFOUND,
			       "no column of a feature that measures usage");
	/* Processor time by mode adds up. */
	for (size_t i = 0; i < d->cols; i++) {
		const struct tw_column *c = &d->col[i];

		if (strcmp(c->name, main) != 0 && !(is_mode(main) && is_mode(c->name)))
			continue;
		for (size_t r = 0; r < d->rows; r++)
			use[r] += c->v[r];
	}
	return 0;
}

static int fit_idle_regression(const struct tw_isolator_args *args,
			       const struct tw_dataset *d,
			       const struct tw_energy_source *source, void **state,
			       struct tw_err *err)
{
	double *watts[TW_COMPONENT_COUNT];
	struct idle *idle = calloc(1, sizeof(*idle));
	double *use = calloc(d->rows + 1, sizeof(*use));
	int rc = -1;

	(void)args;
	if (idle == NULL || use == NULL) {
		tw_fail(err, TW_NOMEM, "idle power of %zu rows", d->rows);
		goto out;
	}
	if (tw_isolate_power(d, source, watts, err) < 0)
		goto out;
	if (d->rows == 0) {
		tw_fail(err, TW_INVALID, "no rows to find idle power in");
		goto out;
	}
	if (add_use(d, use, err) < 0)
		goto out;
	idle->source = source;
	for (size_t k = 0; k < source->count; k++) {
		idle->there[k] = watts[k] != NULL;
		if (idle->there[k] &&
		    tw_idle_power_find(use, watts[k], d->rows, &idle->power[k], err) < 0)
			goto out;
	}

	*state = idle;
	idle = NULL;
	rc = 0;
out:
	free(use);
	free(idle);
	return rc;
}

static int apply_idle_regression(const void *state, struct tw_dataset *d,
				 struct tw_err *err)
{
	const struct idle *idle = state;
	double *watts[TW_COMPONENT_COUNT];

	if (tw_isolate_power(d, idle->source, watts, err) < 0)
		return -1;
	for (size_t k = 0; k < idle->source->count; k++)
		for (size_t r = 0; watts[k] != NULL && r < d->rows; r++)
			watts[k][r] -= idle->power[k].watts;
	return 0;
}

/* Add "package_idle" etc.: watts to four decimals, null if not finite. */
static int add_watts(json_t *obj, enum tw_component c, const char *what, double watts)
{
	char key[64];

	snprintf(key, sizeof(key), "%s_idle%s", tw_component_name(c), what);
	return json_object_set_new(
		obj, key,
		!isfinite(watts) ? json_null() : json_real(round(watts * 1e4) / 1e4));
}

static int add_rested(json_t *obj, enum tw_component c, bool rested)
{
	char key[64];

	snprintf(key, sizeof(key), "%s_idle_rested", tw_component_name(c));
	return json_object_set_new(obj, key, json_boolean(rested));
}

static int describe_idle_regression(const void *state, json_t *obj, struct tw_err *err)
{
	const struct idle *idle = state;

	for (size_t k = 0; k < idle->source->count; k++) {
		const enum tw_component c = idle->source->components[k];
		const struct tw_idle_power *p = &idle->power[k];
		char key[64];

		if (!idle->there[k])
			continue;
		snprintf(key, sizeof(key), "%s_idle_by", tw_component_name(c));
		if (add_watts(obj, c, "", p->watts) < 0 ||
		    add_watts(obj, c, "_low", p->low) < 0 ||
		    add_watts(obj, c, "_high", p->high) < 0 ||
		    add_rested(obj, c, p->rested) < 0 ||
		    json_object_set_new(
			    obj, key, json_string(p->by_use ? "use" : "least power")) < 0)
			return tw_fail(err, TW_NOMEM, "metadata of idle power");
	}
	return 0;
}

const struct tw_isolator tw_isolator_idle_regression = {
	.name = "IdleRegressionIsolator",
	.summary = "subtracts the power at zero usage, estimated robustly",
	.from_zero = true,
	.fit = fit_idle_regression,
	.apply = apply_idle_regression,
	.describe = describe_idle_regression,
	.free = free,
};
