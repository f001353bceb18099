/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/profile.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double within(double watts)
{
	return fmin(fmax(watts, 0.0), TW_PROFILE_WATTS_MAX);
}

/* Add an entry; `replace` says whether it replaces an existing one. */
static int put_power(struct tw_profile *to, const struct tw_profile_power *p,
		     bool replace, struct tw_err *err)
{
	const struct tw_profile_power *old =
		tw_profile_find(to, p->source, p->component, p->node_type);

	if (old != NULL) {
		if (replace)
			to->power[old - to->power] = *p;
		return 0;
	}
	if (!tw_resize(&to->power, to->powers + 1, sizeof(*p)))
		return tw_fail(err, TW_NOMEM, "profile of %zu entries", to->powers);
	to->power[to->powers++] = *p;
	return 0;
}

int tw_profile_add_power(struct tw_profile *p, const struct tw_energy_source *source,
			 enum tw_component component, uint32_t node_type,
			 const double *watts, size_t rows, struct tw_err *err)
{
	struct tw_profile_power entry = { source, component, node_type, 0, 0, 0, rows };
	double *sorted = malloc(rows * sizeof(*sorted));

	if (sorted == NULL)
		return tw_fail(err, TW_NOMEM, "profile of %zu rows", rows);
	memcpy(sorted, watts, rows * sizeof(*sorted));
	qsort(sorted, rows, sizeof(*sorted), tw_compare_doubles);
	entry.min_w = within(sorted[0]);
	entry.median_w = (within(sorted[(rows - 1) / 2]) + within(sorted[rows / 2])) / 2;
	entry.max_w = within(sorted[rows - 1]);
	free(sorted);
	return put_power(p, &entry, true, err);
}

int tw_profile_add_scaler(struct tw_profile *p, const struct tw_feature_group *group,
			  uint32_t node_type, const char *feature, double max,
			  struct tw_err *err)
{
	char *name;

	for (size_t i = 0; i < p->scalers; i++) {
		struct tw_profile_scaler *s = &p->scaler[i];

		if (s->group != group || s->node_type != node_type ||
		    strcmp(s->feature, feature) != 0)
			continue;
		s->max = max > s->max ? max : s->max;
		return 0;
	}
	if (!tw_resize(&p->scaler, p->scalers + 1, sizeof(*p->scaler)))
		return tw_fail(err, TW_NOMEM, "profile of '%s'", feature);
	name = strdup(feature);
	if (name == NULL)
		return tw_fail(err, TW_NOMEM, "profile of '%s'", feature);
	p->scaler[p->scalers++] =
		(struct tw_profile_scaler){ group, node_type, name, max };
	return 0;
}

static struct tw_profile_background *find_background(const struct tw_profile *p,
						     uint32_t node_type)
{
	for (size_t i = 0; i < p->backgrounds; i++)
		if (p->background[i].node_type == node_type)
			return &p->background[i];
	return NULL;
}

int tw_profile_add_background(struct tw_profile *p, uint32_t node_type, const char *name,
			      struct tw_err *err)
{
	struct tw_profile_background *b = find_background(p, node_type);

	if (b == NULL) {
		if (!tw_resize(&p->background, p->backgrounds + 1, sizeof(*b)))
			return tw_fail(err, TW_NOMEM, "profile of '%s'", name);
		b = &p->background[p->backgrounds++];
		*b = (struct tw_profile_background){ .node_type = node_type };
	}
	if (tw_strs_has(&b->names, name))
		return 0;
	return tw_strs_adds(&b->names, name, err);
}

const struct tw_profile_power *tw_profile_find(const struct tw_profile *p,
					       const struct tw_energy_source *source,
					       enum tw_component component,
					       uint32_t node_type)
{
	for (size_t i = 0; i < p->powers; i++)
		if (p->power[i].source == source && p->power[i].component == component &&
		    p->power[i].node_type == node_type)
			return &p->power[i];
	return NULL;
}

bool tw_profile_is_background(const struct tw_profile *p, uint32_t node_type,
			      const char *name)
{
	const struct tw_profile_background *b = find_background(p, node_type);

	return b != NULL && tw_strs_has(&b->names, name);
}

static bool has_scaler(const struct tw_profile *p, const struct tw_profile_scaler *s)
{
	for (size_t i = 0; i < p->scalers; i++)
		if (p->scaler[i].group == s->group &&
		    p->scaler[i].node_type == s->node_type &&
		    strcmp(p->scaler[i].feature, s->feature) == 0)
			return true;
	return false;
}

static int join(struct tw_profile *to, const struct tw_profile *from, bool replace,
		struct tw_err *err)
{
	for (size_t i = 0; i < from->powers; i++)
		if (put_power(to, &from->power[i], replace, err) < 0)
			return -1;
	for (size_t i = 0; i < from->scalers; i++) {
		const struct tw_profile_scaler *s = &from->scaler[i];

		if ((replace || !has_scaler(to, s)) &&
		    tw_profile_add_scaler(to, s->group, s->node_type, s->feature, s->max,
					  err) < 0)
			return -1;
	}
	for (size_t i = 0; i < from->backgrounds; i++) {
		const struct tw_profile_background *b = &from->background[i];

		for (size_t n = 0; n < b->names.count; n++)
			if (tw_profile_add_background(to, b->node_type, b->names.at[n],
						      err) < 0)
				return -1;
	}
	return 0;
}

int tw_profile_join(struct tw_profile *to, const struct tw_profile *from,
		    struct tw_err *err)
{
	return join(to, from, false, err);
}

int tw_profile_update(struct tw_profile *to, const struct tw_profile *from,
		      struct tw_err *err)
{
	return join(to, from, true, err);
}

void tw_profile_release(struct tw_profile *p)
{
	for (size_t i = 0; i < p->scalers; i++)
		free(p->scaler[i].feature);
	for (size_t i = 0; i < p->backgrounds; i++)
		tw_strs_clear(&p->background[i].names);
	free(p->power);
	free(p->scaler);
	free(p->background);
	*p = (struct tw_profile){ 0 };
}

/* ---- JSON ---- */

#define WHERE_TEXT 256

static const char background_key[] = "background";
static const char scaler_key[] = "max_scaler";

/* ---- writing ---- */

/* The object under a key, added if missing. NULL without memory, or if obj is NULL. */
static json_t *object_in(json_t *obj, const char *key)
{
	json_t *v = json_object_get(obj, key);

	if (v != NULL)
		return v;
	if (obj == NULL || json_object_set_new(obj, key, json_object()) < 0)
		return NULL;
	return json_object_get(obj, key);
}

static const char *type_key(char text[16], uint32_t node_type)
{
	snprintf(text, 16, "%" PRIu32, node_type);
	return text;
}

static int write_power(json_t *root, const struct tw_profile_power *p)
{
	json_t *of = object_in(object_in(root, p->source->name),
			       tw_component_name(p->component));
	char key[16];

	return json_object_set_new(of, type_key(key, p->node_type),
				   json_pack("{s:f, s:f, s:f, s:i, s:I}", "min_watt",
					     p->min_w, "median_watt", p->median_w,
					     "max_watt", p->max_w, "#unit", 1, "rows",
					     (json_int_t)p->rows));
}

static int write_scaler(json_t *root, const struct tw_profile_scaler *s)
{
	char key[16];
	json_t *of = object_in(
		object_in(object_in(root, scaler_key), type_key(key, s->node_type)),
		s->group->name);

	return json_object_set_new(of, s->feature, json_real(s->max));
}

static int write_background(json_t *root, const struct tw_profile_background *b)
{
	json_t *of = object_in(root, background_key), *list = json_array();
	char key[16];

	for (size_t i = 0; i < b->names.count; i++)
		if (json_array_append_new(list, json_string(b->names.at[i])) < 0) {
			json_decref(list);
			return -1;
		}
	return json_object_set_new(of, type_key(key, b->node_type), list);
}

json_t *tw_profile_to_json(const struct tw_profile *p)
{
	json_t *root = json_object();
	int failed = root == NULL;

	for (size_t i = 0; i < p->powers; i++)
		failed |= write_power(root, &p->power[i]) < 0;
	for (size_t i = 0; i < p->backgrounds; i++)
		failed |= write_background(root, &p->background[i]) < 0;
	for (size_t i = 0; i < p->scalers; i++)
		failed |= write_scaler(root, &p->scaler[i]) < 0;
	if (failed) {
		json_decref(root);
		return NULL;
	}
	return root;
}

/* ---- reading ---- */

/* The keys above a value. source: NULL below "background" and "max_scaler". */
struct reader {
	struct tw_profile *p;
	bool scaler;
	const struct tw_energy_source *source;
	enum tw_component component;
	const struct tw_feature_group *group;
	uint32_t node_type;
};

static int fail_object(const char *where, const json_t *v, struct tw_err *err)
{
	return tw_fail(err, TW_INVALID, "%s: expected an object, got %s", where,
		       tw_json_type_name(v));
}

/* Read {"min_watt": .., "max_watt": ..}. Older files lack median_watt and rows. */
static int read_watts(const struct reader *r, const json_t *v, const char *where,
		      struct tw_err *err)
{
	double watts[3], median = -1.0;
	long long units = 1, rows = 0;
	const struct tw_profile_power *added;

	if (!json_is_object(v))
		return fail_object(where, v, err);
	if (tw_json_number(v, where, "min_watt", false, &watts[0], err) < 0 ||
	    tw_json_number(v, where, "max_watt", false, &watts[2], err) < 0 ||
	    tw_json_number(v, where, "median_watt", true, &median, err) < 0 ||
	    tw_json_int(v, where, "#unit", true, 1, 1024, &units, err) < 0 ||
	    tw_json_int(v, where, "rows", true, 0, INT64_MAX, &rows, err) < 0)
		return -1;
	watts[1] = median >= 0.0 ? median : (watts[0] + watts[2]) / 2;
	if (watts[0] < 0.0 || watts[0] > watts[1] || watts[1] > watts[2])
		return tw_fail(err, TW_INVALID, "%s: watts are not in order", where);
	for (size_t i = 0; i < 3; i++)
		watts[i] *= (double)units;
	if (watts[2] > TW_PROFILE_WATTS_MAX)
		return tw_fail(err, TW_INVALID, "%s: %g W exceeds the limit", where,
			       watts[2]);
	if (tw_profile_add_power(r->p, r->source, r->component, r->node_type, watts, 3,
				 err) < 0)
		return -1;
	/* watts[] are minimum, median and maximum of themselves. */
	added = tw_profile_find(r->p, r->source, r->component, r->node_type);
	assert(added != NULL);
	r->p->power[added - r->p->power].rows = (size_t)rows;
	return 0;
}

static int read_names(const struct reader *r, const json_t *obj, const char *above,
		      const char *key, struct tw_err *err)
{
	struct tw_strs names = { 0 };
	int rc = tw_json_strs(obj, above, key, false, &names, err);

	for (size_t i = 0; rc == 0 && i < names.count; i++)
		rc = tw_profile_add_background(r->p, r->node_type, names.at[i], err);
	tw_strs_clear(&names);
	return rc;
}

/* Take a key at its depth. *more: its value is an object of more keys. */
static int take_key(struct reader *r, size_t depth, const json_t *obj, const char *above,
		    const char *key, const char *where, bool *more, struct tw_err *err)
{
	const bool types = depth == (r->source != NULL ? 2 : 1);
	double max;

	*more = true;
	if (depth == 0) {
		r->source = NULL;
		r->scaler = strcmp(key, scaler_key) == 0;
		if (!r->scaler && strcmp(key, background_key) != 0 &&
		    tw_energy_source_open(key, &r->source, err) < 0)
			return tw_err_wrap(err, "%s", where);
		return 0;
	}
	if (types && tw_parse_u32(key, 0, INT32_MAX, &r->node_type, err) < 0)
		return tw_err_wrap(err, "%s", above);
	if (r->source != NULL && !types)
		return tw_component_find(key, &r->component)
			       ? 0
			       : tw_fail(err, TW_INVALID, "%s: no such component", where);
	*more = r->scaler && depth < 3;
	if (r->source != NULL)
		return read_watts(r, json_object_get(obj, key), where, err);
	if (!r->scaler)
		return read_names(r, obj, above, key, err);
	if (depth == 2) {
		r->group = tw_feature_group_find(key);
		return r->group != NULL
			       ? 0
			       : tw_fail(err, TW_INVALID, "%s: no such group", where);
	}
	if (depth == 3 &&
	    (tw_json_number(obj, above, key, false, &max, err) < 0 ||
	     tw_profile_add_scaler(r->p, r->group, r->node_type, key, max, err) < 0))
		return -1;
	return 0;
}

/* Read an object of objects. It is at most four deep: take_key() ends it. */
static int read_keys(struct reader *r, size_t depth, json_t *obj, const char *above,
		     struct tw_err *err)
{
	char where[WHERE_TEXT];
	const char *key;
	json_t *v;
	bool more;

	if (!json_is_object(obj))
		return fail_object(above, obj, err);
	json_object_foreach(obj, key, v) {
		snprintf(where, sizeof(where), "%.150s.%.60s", above, key);
		if (take_key(r, depth, obj, above, key, where, &more, err) < 0 ||
		    (more && read_keys(r, depth + 1, v, where, err) < 0))
			return -1;
	}
	return 0;
}

int tw_profile_from_json(json_t *obj, const char *where, struct tw_profile *out,
			 struct tw_err *err)
{
	struct tw_profile p = { 0 };
	struct reader r = { .p = &p };

	if (read_keys(&r, 0, obj, where, err) < 0) {
		tw_profile_release(&p);
		return -1;
	}
	*out = p;
	return 0;
}
