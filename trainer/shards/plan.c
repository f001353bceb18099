/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/shards/plan.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "model-db/pipeline.h"
#include "profiler/node_types.h"
#include "trainer/train_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX ((long long)1 << 40)
#define COST_MAX_S 1e12

static int fail_nomem(struct tw_err *err)
{
	return tw_fail(err, TW_NOMEM, "plan");
}

/* ---- tables ---- */

static bool is_sha256(const char *text)
{
	return strlen(text) == TW_SHA256_TEXT - 1 &&
	       strspn(text, "0123456789abcdef") == TW_SHA256_TEXT - 1;
}

static int keep_costs(const json_t *v, const char *where, void *member,
		      struct tw_err *err)
{
	if (!json_is_object(v))
		return tw_fail(err, TW_PARSE, "%s: expected an object, got %s", where,
			       tw_json_type_name(v));
	*(const json_t **)member = v;
	return 0;
}

static void write_costs(const void *member, struct tw_buf *out)
{
	tw_json_add_value(out, NULL, *(const json_t *const *)member);
}

static const struct tw_field_own costs_own = { keep_costs, write_costs, NULL, NULL };

#define FILE_AT(member) TW_FIELD_AT(struct tw_plan_file, member)

static const struct tw_field file_fields[] = {
	{ "file", TW_FIELD_BORROWED, FILE_AT(text) },
	{ "sha256", TW_FIELD_BORROWED, FILE_AT(sha256), .check = is_sha256,
	  .noun = "SHA-256 digest" },
};

const struct tw_fields tw_plan_file_fields = TW_FIELDS(file_fields, struct tw_plan_file);

#define MACHINE_AT(member) TW_FIELD_AT(struct tw_plan_machine, member)

static const struct tw_field machine_fields[] = {
	{ "machine", TW_FIELD_BORROWED, MACHINE_AT(name), .optional = true },
	{ "node_type", TW_FIELD_UINT, MACHINE_AT(node_type), .max = TW_NODE_TYPES_MAX },
	{ "spec", TW_FIELD_OWN, MACHINE_AT(spec), .own = &tw_machine_spec_own },
	{ "inputs", TW_FIELD_UINT,
	  TW_FIELD_LIST_AT(struct tw_plan_machine, input, inputs) },
};

const struct tw_fields tw_plan_machine_fields =
	TW_FIELDS(machine_fields, struct tw_plan_machine);

#define DATA_AT(member) TW_FIELD_AT(struct tw_plan_data, member)

static const struct tw_field data_fields[] = {
	{ "machine", TW_FIELD_UINT, DATA_AT(machine) },
	{ "source", TW_FIELD_BORROWED, DATA_AT(source) },
	{ "output", TW_FIELD_BORROWED, DATA_AT(output) },
	{ "group", TW_FIELD_BORROWED, DATA_AT(group) },
	{ "rows", TW_FIELD_UINT, DATA_AT(rows), .max = ROWS_MAX },
	{ "cost_s", TW_FIELD_OWN, DATA_AT(costs), .own = &costs_own },
};

const struct tw_fields tw_plan_data_fields = TW_FIELDS(data_fields, struct tw_plan_data);

#define LIST_AT(member, count) TW_FIELD_LIST_AT(struct tw_plan, member, count)

static const struct tw_field plan_fields[] = {
	{ "format_version", TW_FIELD_FORMAT, .min = 1, .max = TW_PLAN_FORMAT },
	{ "name", TW_FIELD_BORROWED, TW_FIELD_AT(struct tw_plan, name) },
	{ "tables", TW_FIELD_BOOL, TW_FIELD_AT(struct tw_plan, tables) },
	{ "options", TW_FIELD_STRS, TW_FIELD_AT(struct tw_plan, options) },
	{ "files", TW_FIELD_RECORD, LIST_AT(file, files),
	  .record = &tw_plan_file_fields },
	{ "inputs", TW_FIELD_RECORD, LIST_AT(input, inputs),
	  .record = &tw_plan_file_fields },
	{ "machines", TW_FIELD_RECORD, LIST_AT(machine, machines),
	  .record = &tw_plan_machine_fields },
	{ "data", TW_FIELD_RECORD, LIST_AT(data, datas), .record = &tw_plan_data_fields },
};

static const struct tw_fields plan_table = TW_FIELDS(plan_fields, struct tw_plan);

/* ---- checks ---- */

static int check_machine(const struct tw_plan *p, size_t at, struct tw_err *err)
{
	const struct tw_plan_machine *m = &p->machine[at];
	const char *before = at > 0 ? m[-1].name : NULL;

	for (size_t i = 0; i < m->inputs; i++)
		if (m->input[i] >= p->inputs || (i > 0 && m->input[i] <= m->input[i - 1]))
			return tw_fail(err, TW_INVALID,
				       "machines[%zu].inputs[%zu]: want ascending "
				       "indexes of inputs",
				       at, i);
	if (at > 0 &&
	    (m->name == NULL || (before != NULL && strcmp(before, m->name) >= 0)))
		return tw_fail(err, TW_INVALID, "machines[%zu]: not in order of name",
			       at);
	return 0;
}

static int check_data(const struct tw_plan *p, size_t at, struct tw_err *err)
{
	const struct tw_plan_data *d = &p->data[at];

	if (d->machine >= p->machines)
		return tw_fail(err, TW_INVALID,
			       "data[%zu].machine: there is no machine %zu", at,
			       d->machine);
	if (at > 0 && d->machine < d[-1].machine)
		return tw_fail(err, TW_INVALID, "data[%zu]: not in order of machine", at);
	return 0;
}

/* Add the units of data[at] from {"SVRRegressorTrainer": 0.02, ..}. */
static int add_units(struct tw_plan *p, size_t *size, size_t at, struct tw_err *err)
{
	json_t *costs = (json_t *)(uintptr_t)p->data[at].costs; /* only read */
	const char *trainer;
	json_t *v;

	if (p->units + json_object_size(costs) > TW_PLAN_UNITS_MAX)
		return tw_fail(err, TW_INVALID, "more than %zu units", TW_PLAN_UNITS_MAX);
	/* jansson keeps the order of the document. */
	json_object_foreach(costs, trainer, v) {
		const double cost_s = json_is_number(v) ? json_number_value(v) : NAN;

		if (!(cost_s >= 0.0 && cost_s <= COST_MAX_S))
			return tw_fail(err, TW_INVALID,
				       "data[%zu].cost_s.%.64s: want seconds", at,
				       trainer);
		if (!tw_grow(&p->unit, size, p->units, sizeof(*p->unit)))
			return fail_nomem(err);
		p->unit[p->units++] = (struct tw_plan_unit){ .data = at,
							     .trainer = trainer,
							     .cost_s = cost_s };
	}
	return 0;
}

static int read_doc(struct tw_plan *p, struct tw_err *err)
{
	size_t size = 0;

	if (tw_fields_read(&plan_table, p->doc, "plan", p, err) < 0 ||
	    tw_pipeline_name_check(p->name, strlen(p->name), err) < 0)
		return -1;
	for (size_t i = 0; i < p->machines; i++)
		if (check_machine(p, i, err) < 0)
			return -1;
	for (size_t i = 0; i < p->datas; i++)
		if (check_data(p, i, err) < 0 || add_units(p, &size, i, err) < 0)
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
	tw_fields_release(&plan_table, p);
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
