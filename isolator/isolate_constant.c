/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Isolators that subtract a constant power from each component:
 *
 *	P'[i] = P[i] - a
 *
 * Rows may become negative, above all validation rows, which do not contribute to a. They
 * are not clamped: that would hide the error of a.
 */
#include "isolator/idle_power.h"
#include "isolator/isolator.h"
#include "isolator/workload_name.h"
#include "lib/core/err.h"
#include "lib/field/feature.h"
#include "lib/json/json.h"
#include "profiler/profile.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Figures of each component, in the source's order. */
struct constant {
	const struct tw_energy_source *source;
	bool present[TW_COMPONENT_COUNT]; /* the rows have the component */
	double watts[TW_COMPONENT_COUNT];
	struct tw_idle_power idle[TW_COMPONENT_COUNT]; /* of IdleRegressionIsolator */
};

/* Get the power columns as tw_isolate_power() does. *out is yours: free(). */
static int begin(const struct tw_dataset *d, const struct tw_energy_source *source,
		 double **watts, struct constant **out, struct tw_err *err)
{
	if (tw_isolate_power(d, source, watts, err) < 0)
		return -1;
	*out = calloc(1, sizeof(**out));
	if (*out == NULL)
		return tw_fail(err, TW_NOMEM, "idle power");
	(*out)->source = source;
	for (size_t k = 0; k < source->count; k++)
		(*out)->present[k] = watts[k] != NULL;
	return 0;
}

static int fail_no_rows(struct tw_err *err)
{
	return tw_fail(err, TW_INVALID, "no rows to find idle power in");
}

static int subtract(const void *state, struct tw_dataset *d, struct tw_err *err)
{
	const struct constant *c = state;
	double *watts[TW_COMPONENT_COUNT];

	if (tw_isolate_power(d, c->source, watts, err) < 0)
		return -1;
	for (size_t k = 0; k < c->source->count; k++)
		for (size_t r = 0; watts[k] != NULL && r < d->rows; r++)
			watts[k][r] -= c->watts[k];
	return 0;
}

/* ---- NoneIsolator: attribute all of the node's power to its workloads ---- */

static int fit_nothing(const struct tw_isolator_args *args, const struct tw_dataset *d,
		       const struct tw_energy_source *source, void **state,
		       struct tw_err *err)
{
	(void)args;
	(void)d;
	(void)source;
	(void)err;
	*state = NULL;
	return 0;
}

static int subtract_nothing(const void *state, struct tw_dataset *d, struct tw_err *err)
{
	(void)state;
	(void)d;
	(void)err;
	return 0;
}

const struct tw_isolator tw_isolator_none = {
	.name = "NoneIsolator",
	.summary = "leaves power as it is",
	.fit = fit_nothing,
	.apply = subtract_nothing,
};

/* ---- MinIdleIsolator: a is the lowest power ---- */

static int fit_min_idle(const struct tw_isolator_args *args, const struct tw_dataset *d,
			const struct tw_energy_source *source, void **state,
			struct tw_err *err)
{
	double *watts[TW_COMPONENT_COUNT];
	struct constant *c;

	(void)args;
	if (d->rows == 0)
		return fail_no_rows(err);
	if (begin(d, source, watts, &c, err) < 0)
		return -1;
	for (size_t k = 0; k < source->count; k++)
		if (c->present[k])
			c->watts[k] = tw_isolate_least(watts[k], d->rows);
	*state = c;
	return 0;
}

const struct tw_isolator tw_isolator_min_idle = {
	.name = "MinIdleIsolator",
	.summary = "subtracts each component's lowest power",
	.from_zero = true,
	.fit = fit_min_idle,
	.apply = subtract,
};

/*
 * ---- ProfileBackgroundIsolator ----
 *
 * a is the power of a profile, a recording of the machine at rest, when only its
 * background ran: (minimum at rest + maximum at rest) / 2. The formula is
 * kepler-model-server's. The profile's workloads are background. Nothing is learnt from
 * the rows.
 */

static bool ran_at_rest(const struct tw_isolator_args *args, const char *id)
{
	size_t len;
	const char *part = tw_workload_name(id, &len);
	char *name = strndup(part, len);
	bool ran;

	/* Without memory this returns false; the next allocation reports the failure. */
	ran = name != NULL &&
	      tw_profile_is_background(args->profile, args->node_type, name);
	free(name);
	return ran;
}

static int fit_profile(const struct tw_isolator_args *args, const struct tw_dataset *d,
		       const struct tw_energy_source *source, void **state,
		       struct tw_err *err)
{
	double *watts[TW_COMPONENT_COUNT];
	struct constant *c;

	assert(args->profile != NULL);
	if (begin(d, source, watts, &c, err) < 0)
		return -1;
	for (size_t k = 0; k < source->count; k++) {
		const enum tw_component component = source->components[k];
		const struct tw_profile_power *p = tw_profile_find(
			args->profile, source, component, args->node_type);

		if (!c->present[k])
			continue;
		if (p == NULL) {
			free(c);
			return tw_fail(err, TW_NOTFOUND,
				       "the profile has no %s of %s for node type %u",
				       tw_component_name(component), source->name,
				       (unsigned)args->node_type);
		}
		c->watts[k] = (p->min_w + p->max_w) / 2;
	}
	*state = c;
	return 0;
}

const struct tw_isolator tw_isolator_profile = {
	.name = "ProfileBackgroundIsolator",
	.summary =
		"subtracts the power of a recording at rest and excludes its workloads",
	.from_zero = true,
	.needs_profile = true,
	.is_background = ran_at_rest,
	.fit = fit_profile,
	.apply = subtract,
};

/*
 * ---- IdleRegressionIsolator ----
 *
 * a is the power at zero usage, the intercept of a robust regression
 * (isolator/idle_power.h). All components use the usage of the processors: the machine is
 * idle when they are.
 */

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
	struct constant *c = NULL;
	double *use = calloc(d->rows + 1, sizeof(*use));
	int rc = -1;

	(void)args;
	if (use == NULL) {
		tw_fail(err, TW_NOMEM, "idle power of %zu rows", d->rows);
		goto out;
	}
	if (begin(d, source, watts, &c, err) < 0)
		goto out;
	if (d->rows == 0) {
		fail_no_rows(err);
		goto out;
	}
	if (add_use(d, use, err) < 0)
		goto out;
	for (size_t k = 0; k < source->count; k++) {
		if (c->present[k] &&
		    tw_idle_power_find(use, watts[k], d->rows, &c->idle[k], err) < 0)
			goto out;
		c->watts[k] = c->idle[k].watts;
	}

	*state = c;
	c = NULL;
	rc = 0;
out:
	free(use);
	free(c);
	return rc;
}

/* Add "package_idle_low" and so on. */
static int add(json_t *obj, enum tw_component c, const char *what, json_t *v)
{
	char key[64];

	snprintf(key, sizeof(key), "%s_idle%s", tw_component_name(c), what);
	return json_object_set_new(obj, key, v);
}

static int describe_idle_regression(const void *state, json_t *obj, struct tw_err *err)
{
	const struct constant *idle = state;

	for (size_t k = 0; k < idle->source->count; k++) {
		const enum tw_component c = idle->source->components[k];
		const struct tw_idle_power *p = &idle->idle[k];

		if (!idle->present[k])
			continue;
		if (add(obj, c, "", tw_json_rounded(p->watts)) < 0 ||
		    add(obj, c, "_low", tw_json_rounded(p->low)) < 0 ||
		    add(obj, c, "_high", tw_json_rounded(p->high)) < 0 ||
		    add(obj, c, "_rested", json_boolean(p->rested)) < 0 ||
		    add(obj, c, "_by", json_string(p->by_use ? "use" : "least power")) <
			    0)
			return tw_fail(err, TW_NOMEM, "metadata of idle power");
	}
	return 0;
}

const struct tw_isolator tw_isolator_idle_regression = {
	.name = "IdleRegressionIsolator",
	.summary = "subtracts the power at zero usage, estimated robustly",
	.from_zero = true,
	.fit = fit_idle_regression,
	.apply = subtract,
	.describe = describe_idle_regression,
};
