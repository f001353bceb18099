/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/shards/plan.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/json/json.h"
#include "model-db/pipeline.h"
#include "profiler/node_types.h"
#include "trainer/train_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHERE_TEXT 128
#define ROWS_MAX ((long long)1 << 40)
#define COST_MAX_S 1e12

static int fail_nomem(struct tw_err *err)
{
	return tw_fail(err, TW_NOMEM, "plan");
}

static bool is_sha256(const char *text)
{
	return strlen(text) == TW_SHA256_TEXT - 1 &&
	       strspn(text, "0123456789abcdef") == TW_SHA256_TEXT - 1;
}

/* The list of a key as an array of `each` bytes an entry. */
static int open_list(const json_t *doc, const char *key, size_t each, const json_t **list,
		     void *array, struct tw_err *err)
{
	void **out = array;

	if (tw_json_array(doc, "plan", key, false, list, err) < 0)
		return -1;
	*out = calloc(json_array_size(*list) + 1, each);
	return *out != NULL ? 0 : fail_nomem(err);
}

static int read_files(const json_t *doc, const char *key, struct tw_plan_file **file,
		      size_t *count, struct tw_err *err)
{
	const json_t *list;

	if (open_list(doc, key, sizeof(**file), &list, file, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct tw_plan_file *f = &(*file)[i];
		char where[WHERE_TEXT];

		snprintf(where, sizeof(where), "%s[%zu]", key, i);
		if (tw_json_text(json_array_get(list, i), where, "file", false, &f->text,
				 err) < 0 ||
		    tw_json_text(json_array_get(list, i), where, "sha256", false,
				 &f->sha256, err) < 0)
			return -1;
		if (!is_sha256(f->sha256))
			return tw_fail(err, TW_INVALID, "%s.sha256: no SHA-256 digest",
				       where);
		(*count)++;
	}
	return 0;
}

/* ---- machines ---- */

static int read_indexes(const struct tw_plan *p, const json_t *obj, const char *where,
			struct tw_plan_machine *m, struct tw_err *err)
{
	const json_t *list;

	if (tw_json_array(obj, where, "inputs", false, &list, err) < 0)
		return -1;
	m->input = calloc(json_array_size(list) + 1, sizeof(*m->input));
	if (m->input == NULL)
		return fail_nomem(err);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *v = json_array_get(list, i);
		const json_int_t index = json_is_integer(v) ? json_integer_value(v) : -1;

		if (index < 0 || (size_t)index >= p->inputs ||
		    (i > 0 && (size_t)index <= m->input[i - 1]))
			return tw_fail(err, TW_INVALID,
				       "%s.inputs[%zu]: want ascending indexes of inputs",
				       where, i);
		m->input[m->inputs++] = (size_t)index;
	}
	return 0;
}

static int read_machine(struct tw_plan *p, const json_t *obj, struct tw_err *err)
{
	struct tw_plan_machine *m = &p->machine[p->machines];
	const struct tw_plan_machine *before = p->machines > 0 ? m - 1 : NULL;
	char where[WHERE_TEXT], spec_where[WHERE_TEXT + 8];
	const json_t *spec;
	long long node_type;

	snprintf(where, sizeof(where), "machines[%zu]", p->machines);
	snprintf(spec_where, sizeof(spec_where), "%s.spec", where);
	p->machines++;
	if (tw_json_text(obj, where, "machine", true, &m->name, err) < 0 ||
	    tw_json_int(obj, where, "node_type", false, 0, TW_NODE_TYPES_MAX, &node_type,
			err) < 0 ||
	    tw_json_object(obj, where, "spec", false, &spec, err) < 0 ||
	    tw_machine_spec_from_json(spec, spec_where, &m->spec, err) < 0 ||
	    read_indexes(p, obj, where, m, err) < 0)
		return -1;
	if (before != NULL && (m->name == NULL || (before->name != NULL &&
						   strcmp(before->name, m->name) >= 0)))
		return tw_fail(err, TW_INVALID, "%s: not in order of name", where);
	m->node_type = (size_t)node_type;
	return 0;
}

/* ---- units ---- */

/* Add the units of the last data from {"SVRRegressorTrainer": 0.02, ..}. */
static int read_units(struct tw_plan *p, size_t *size, json_t *costs, const char *where,
		      struct tw_err *err)
{
	const char *trainer;
	json_t *v;

	if (p->units + json_object_size(costs) > TW_PLAN_UNITS_MAX)
		return tw_fail(err, TW_INVALID, "more than %zu units", TW_PLAN_UNITS_MAX);
	while (p->units + json_object_size(costs) > *size) {
		struct tw_plan_unit *more;

		*size = *size > 0 ? 2 * *size : 64;
		more = realloc(p->unit, *size * sizeof(*more));
		if (more == NULL)
			return fail_nomem(err);
		p->unit = more;
	}
	/* jansson keeps the order of the document. */
	json_object_foreach(costs, trainer, v) {
		const double cost_s = json_is_number(v) ? json_number_value(v) : NAN;

		if (!(cost_s >= 0.0 && cost_s <= COST_MAX_S))
			return tw_fail(err, TW_INVALID, "%s.cost_s.%.64s: want seconds",
				       where, trainer);
		p->unit[p->units++] = (struct tw_plan_unit){ .data = p->datas - 1,
							     .trainer = trainer,
							     .cost_s = cost_s };
	}
	return 0;
}

static int read_data(struct tw_plan *p, size_t *size, const json_t *obj,
		     struct tw_err *err)
{
	struct tw_plan_data *d = &p->data[p->datas];
	long long machine, rows;
	char where[WHERE_TEXT];
	const json_t *costs;

	snprintf(where, sizeof(where), "data[%zu]", p->datas);
	if (p->machines == 0)
		return tw_fail(err, TW_INVALID, "%s: there is no machine", where);
	if (tw_json_int(obj, where, "machine", false, 0, (long long)p->machines - 1,
			&machine, err) < 0 ||
	    tw_json_int(obj, where, "rows", false, 0, ROWS_MAX, &rows, err) < 0 ||
	    tw_json_text(obj, where, "source", false, &d->source, err) < 0 ||
	    tw_json_text(obj, where, "output", false, &d->output, err) < 0 ||
	    tw_json_text(obj, where, "group", false, &d->group, err) < 0 ||
	    tw_json_object(obj, where, "cost_s", false, &costs, err) < 0)
		return -1;
	d->machine = (size_t)machine;
	d->rows = (size_t)rows;
	if (p->datas > 0 && d->machine < d[-1].machine)
		return tw_fail(err, TW_INVALID, "%s: not in order of machine", where);
	p->datas++;
	return read_units(p, size, json_object_get(obj, "cost_s"), where, err);
}

/* ---- the document ---- */

static int read_doc(struct tw_plan *p, struct tw_err *err)
{
	const json_t *machines, *data;
	size_t size = 0;
	long long format;

	if (tw_json_int(p->doc, "plan", "format_version", false, 1, TW_PLAN_FORMAT,
			&format, err) < 0 ||
	    tw_json_text(p->doc, "plan", "name", false, &p->name, err) < 0 ||
	    tw_pipeline_name_check(p->name, strlen(p->name), err) < 0 ||
	    tw_json_bool(p->doc, "plan", "tables", false, &p->tables, err) < 0 ||
	    tw_json_strs(p->doc, "plan", "options", false, &p->options, err) < 0 ||
	    read_files(p->doc, "files", &p->file, &p->files, err) < 0 ||
	    read_files(p->doc, "inputs", &p->input, &p->inputs, err) < 0 ||
	    open_list(p->doc, "machines", sizeof(*p->machine), &machines, &p->machine,
		      err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(machines); i++)
		if (read_machine(p, json_array_get(machines, i), err) < 0)
			return -1;
	if (open_list(p->doc, "data", sizeof(*p->data), &data, &p->data, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(data); i++)
		if (read_data(p, &size, json_array_get(data, i), err) < 0)
			return -1;
	if (p->units == 0)
		return tw_fail(err, TW_INVALID, "the plan has no units");
	return 0;
}

int tw_plan_parse(const char *text, size_t len, const char *where, struct tw_plan *out,
		  struct tw_err *err)
{
	struct tw_plan p = { 0 };

	tw_sha256_text(text, len, p.digest);
	if (tw_json_parse(text, len, where, &p.doc, err) < 0)
		return -1;
	if (read_doc(&p, err) < 0) {
		tw_plan_release(&p);
		return tw_err_wrap(err, "%s", where);
	}
	*out = p;
	return 0;
}

int tw_plan_read(const char *path, struct tw_plan *out, struct tw_err *err)
{
	char *text = NULL;
	size_t len;
	int rc;

	if (tw_file_read(path, TW_PLAN_BYTES_MAX, &text, &len, err) < 0)
		return -1;
	rc = tw_plan_parse(text, len, path, out, err);
	free(text);
	return rc;
}

void tw_plan_release(struct tw_plan *p)
{
	for (size_t i = 0; i < p->machines; i++)
		free(p->machine[i].input);
	tw_strs_clear(&p->options);
	free(p->file);
	free(p->input);
	free(p->machine);
	free(p->data);
	free(p->unit);
	json_decref(p->doc);
	*p = (struct tw_plan){ 0 };
}

void tw_plan_add_address(const struct tw_plan *p, size_t unit, struct tw_buf *out)
{
	const struct tw_plan_unit *u = &p->unit[unit];
	const struct tw_plan_data *d = &p->data[u->data];
	const char *name = p->machine[d->machine].name;

	tw_buf_addf(out, "%s/%s/%s/%s/%s", name != NULL ? name : "-", d->source,
		    d->output, d->group, u->trainer);
}

int tw_plan_machines(const struct tw_plan *p, struct tw_train_planned **out,
		     struct tw_err *err)
{
	struct tw_train_planned *m = calloc(p->machines + 1, sizeof(*m));

	if (m == NULL)
		return fail_nomem(err);
	for (size_t i = 0; i < p->machines; i++)
		m[i] = (struct tw_train_planned){ .name = p->machine[i].name,
						  .spec = p->machine[i].spec,
						  .node_type = p->machine[i].node_type };
	*out = m;
	return 0;
}
