/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_rows.h"

#include "cli/memory.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 1000000
#define ID_MAX 12

const char *const tw_top_sort_names[] = {
	"watts", "cpu", "joules", "time", "name", NULL
};

/* ---- reading ---- */

/* The members that identify a workload, by level. */
static char *key_of(const json_t *w, const char *node)
{
	static const char *const parts[] = { "pid",          "serial", "cgroup_id",
					     "container_id", "pod_id", "vm_id",
					     "job_id",       "step_id" };
	struct tw_buf b = { 0 };

	tw_buf_adds(&b, node != NULL ? node : "");
	for (size_t i = 0; i < TW_COUNT(parts); i++)
		tw_buf_addf(&b, "%s/", tw_json_text_or(w, parts[i], ""));
	return tw_must(tw_buf_detach(&b, NULL));
}

static const char *first_of(const json_t *w, const char *const *keys)
{
	for (; *keys != NULL; keys++)
		if (tw_json_text_or(w, *keys, "")[0] != '\0')
			return tw_json_text_or(w, *keys, "");
	return "";
}

static char *id_of(const json_t *w)
{
	/* A process also has the ids of its cgroup, container and pod. */
	static const char *const ids[] = { "pid",   "cgroup_id", "container_id",
					   "vm_id", "pod_id",    "job_id",
					   NULL };

	return tw_must(strndup(first_of(w, ids), ID_MAX));
}

static char *name_of(const json_t *w)
{
	static const char *const names[] = { "command",        "cgroup",   "vm_name",
					     "container_name", "pod_name", "runtime",
					     "pod_id",         "vm_id",    NULL };
	struct tw_buf b = { 0 };

	tw_buf_adds(&b, first_of(w, names));
	if (tw_json_text_or(w, "namespace", "")[0] != '\0')
		tw_buf_addf(&b, "  %s%s%s", tw_json_text_or(w, "namespace", ""),
			    tw_json_text_or(w, "container_id", "")[0] != '\0' ? "/" : "",
			    tw_json_text_or(w, "container_id", "")[0] != '\0'
				    ? tw_json_text_or(w, "pod_name", "")
				    : "");
	if (tw_json_text_or(w, "step_id", "")[0] != '\0')
		tw_buf_addf(&b, "step %s  ", tw_json_text_or(w, "step_id", ""));
	if (tw_json_text_or(w, "job_id", "")[0] != '\0')
		tw_buf_addf(&b, "user %s", tw_json_text_or(w, "user_id", ""));
	if (tw_json_text_or(w, "pid", "")[0] != '\0')
		tw_buf_addf(&b, "  %s", tw_json_text_or(w, "cgroup", ""));
	return tw_must(tw_buf_detach(&b, NULL));
}

bool tw_top_adds_up(const json_t *answer, const char *zone)
{
	const json_t *kind;
	size_t i;

	json_array_foreach(json_object_get(answer, "sum"), i, kind)
		if (json_is_string(kind) && strcmp(json_string_value(kind), zone) == 0)
			return true;
	return false;
}

double tw_top_error_w(const json_t *answer)
{
	const json_t *m, *mae;
	double sum = NAN;
	const char *zone;
	size_t i;

	json_array_foreach(json_object_get(answer, "models"), i, m) {
		json_object_foreach((json_t *)(uintptr_t)json_object_get(m, "mae_watts"),
				    zone, mae)
			if (tw_top_adds_up(answer, zone))
				sum = (isnan(sum) ? 0 : sum) + json_number_value(mae);
	}
	return sum;
}

/* Add to an unknown figure. */
static void add(double *to, double value)
{
	*to = isnan(*to) ? value : *to + value;
}

static void read_zones(const json_t *answer, const json_t *w, struct tw_top_row *row,
		       bool *estimated)
{
	static const char *const shown[TW_TOP_ZONES] = { "package", "dram", "gpu" };
	const json_t *z;
	size_t i;

	row->watts = row->idle_w = row->joules = NAN;
	for (int k = 0; k < TW_TOP_ZONES; k++)
		row->zone_w[k] = NAN;
	json_array_foreach(json_object_get(w, "zones"), i, z) {
		const char *zone = tw_json_text_or(z, "zone", "");

		*estimated = *estimated || json_is_true(json_object_get(z, "estimated"));
		for (int k = 0; k < TW_TOP_ZONES; k++)
			if (strcmp(zone, shown[k]) == 0)
				row->zone_w[k] = tw_json_number_or(z, "dynamic_watts", 0);
		if (!tw_top_adds_up(answer, zone))
			continue;
		add(&row->watts, tw_json_number_or(z, "dynamic_watts", 0));
		add(&row->idle_w, tw_json_number_or(z, "idle_watts", 0));
		add(&row->joules, tw_json_number_or(z, "dynamic_joules", 0));
	}
}

static int read_row(const json_t *answer, const json_t *w, const char *node,
		    struct tw_top_row *row, bool *estimated, struct tw_err *err)
{
	if (!json_is_object(w))
		return tw_fail(err, TW_PARSE, "expected an object, got %s",
			       tw_json_type_name(w));
	row->key = key_of(w, node);
	row->node = node;
	row->id = id_of(w);
	row->name = name_of(w);
	row->cpu_ms = tw_json_number_or(w, "cpu_time_ms", 0);
	row->cpu = NAN;
	row->ended = json_is_true(json_object_get(w, "ended"));
	read_zones(answer, w, row, estimated);
	return 0;
}

/* True if the idle power of a model is left out, as in a virtual machine. */
static bool hides_idle(const json_t *models)
{
	const json_t *m;
	size_t i;

	json_array_foreach(models, i, m)
		if (strcmp(tw_json_text_or(m, "idle", ""), "hidden") == 0)
			return true;
	return false;
}

/* Move the rows of r behind those of out. */
static void append(struct tw_top_rows *out, struct tw_top_rows *r)
{
	tw_must_have(tw_resize(&out->at, out->count + r->count + 1, sizeof(*out->at)));
	if (r->count > 0)
		memcpy(out->at + out->count, r->at, r->count * sizeof(*r->at));
	out->count += r->count;
	if (r->elapsed_s > out->elapsed_s)
		out->elapsed_s = r->elapsed_s;
	out->estimated = out->estimated || r->estimated;
	out->above_idle = out->above_idle || r->above_idle;
	r->count = 0;
}

int tw_top_rows_add(struct tw_top_rows *out, const char *data, size_t len,
		    const char *node, struct tw_err *err)
{
	struct tw_top_rows r = { .count = 0 };
	const json_t *list, *w;
	json_t *root = NULL;
	int rc = -1;
	size_t i;

	if (tw_json_parse(data, len, "answer", &root, err) < 0 ||
	    tw_json_number(root, "answer", "elapsed_seconds", false, &r.elapsed_s, err) <
		    0 ||
	    tw_json_array(root, "answer", "workloads", false, &list, err) < 0)
		goto out;
	if (json_array_size(list) > ROWS_MAX - out->count) {
		tw_fail(err, TW_INVALID, "answer: more than %d workloads", ROWS_MAX);
		goto out;
	}
	r.at = tw_must(calloc(json_array_size(list) + 1, sizeof(*r.at)));
	json_array_foreach(list, i, w) {
		if (read_row(root, w, node, &r.at[r.count++], &r.estimated, err) < 0) {
			tw_err_wrap(err, "answer.workloads[%zu]", i);
			goto out;
		}
	}
	r.above_idle = hides_idle(json_object_get(root, "models"));
	append(out, &r);
	rc = 0;
out:
	tw_top_rows_release(&r);
	json_decref(root);
	return rc;
}

void tw_top_rows_release(struct tw_top_rows *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free(r->at[i].key);
		free(r->at[i].id);
		free(r->at[i].name);
	}
	free(r->at);
	*r = (struct tw_top_rows){ .count = 0 };
}

/* ---- order ---- */

void tw_top_rows_compare(struct tw_top_rows *r, struct tw_top_rows *before, double wall_s)
{
	if (before->count == 0 || !(wall_s > 0))
		return;
	qsort(before->at, before->count, sizeof(*before->at), tw_compare_texts);
	for (size_t i = 0; i < r->count; i++) {
		const struct tw_top_row *was =
			bsearch(&r->at[i], before->at, before->count, sizeof(*before->at),
				tw_compare_texts);

		/* A new workload has used all its CPU time since. */
		r->at[i].cpu = (r->at[i].cpu_ms - (was != NULL ? was->cpu_ms : 0)) / 1e3 /
			       wall_s;
	}
}

static double figure(const struct tw_top_row *r, enum tw_top_sort by)
{
	const double value = by == TW_TOP_BY_WATTS    ? r->watts
			     : by == TW_TOP_BY_CPU    ? r->cpu
			     : by == TW_TOP_BY_JOULES ? r->joules
						      : r->cpu_ms;

	return isnan(value) ? -1 : value;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct tw_top_row *x = a, *y = b;
	const enum tw_top_sort by = *(const enum tw_top_sort *)arg;
	double first, second;

	if (by == TW_TOP_BY_NAME && strcmp(x->name, y->name) != 0)
		return strcmp(x->name, y->name);
	first = figure(x, by);
	second = figure(y, by);
	if (by != TW_TOP_BY_NAME && first != second)
		return first > second ? -1 : 1;
	return tw_compare_texts(a, b);
}

void tw_top_rows_sort(struct tw_top_rows *r, enum tw_top_sort by, bool reverse)
{
	if (r->count == 0)
		return;
	qsort_r(r->at, r->count, sizeof(*r->at), compare, &by);
	for (size_t i = 0; reverse && i < r->count / 2; i++) {
		const struct tw_top_row other = r->at[i];

		r->at[i] = r->at[r->count - 1 - i];
		r->at[r->count - 1 - i] = other;
	}
}
