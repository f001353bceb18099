/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/shards/plan.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/core/utf8.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "model-db/pipeline.h"
#include "profiler/node_types.h"
#include "trainer/fit/trainer.h"
#include "trainer/isolation.h"
#include "trainer/response/prom_store.h"
#include "trainer/response/thirdparty.h"
#include "trainer/train.h"
#include "trainer/train_job.h"
#include "trainer/train_machines.h"

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

static const struct tw_fields data_table = TW_FIELDS(data_fields, struct tw_plan_data);

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
	{ "data", TW_FIELD_RECORD, LIST_AT(data, datas), .record = &data_table },
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
	struct tw_train_planned *m;

	if (TW_NEW(m, p->machines, err) < 0)
		return -1;
	for (size_t i = 0; i < p->machines; i++)
		m[i] = (struct tw_train_planned){ .name = p->machine[i].name,
						  .spec = p->machine[i].spec,
						  .node_type = p->machine[i].node_type };
	*out = m;
	return 0;
}

/* ---- making a plan ---- */

/*
 * CPU time of a unit beside its fits: a constant, and for each row of a component
 * extraction, validation and the model's files. Measured as docs/scale.md says; the
 * number of features hardly matters.
 */
#define UNIT_NS 2e6
#define ROW_NS 66e3
#define FOLDS_DEFAULT 5

/* A machine as it is found, input by input. */
struct seen {
	char *name; /* first, for tw_compare_texts(); NULL: no name */
	size_t *input;
	size_t inputs, rows;
	bool *pair; /* those that the machine has data for */
};

struct tw_plan_maker {
	const struct tw_train_job *job;
	json_t *files, *inputs;
	struct seen *at;
	size_t count, size;
	bool *metric;                       /* third-party metrics that an input has */
	const struct tw_train_table *table; /* or NULL */
	size_t tables;
};

int tw_plan_maker_new(const struct tw_train_job *job, struct tw_plan_maker **out,
		      struct tw_err *err)
{
	const size_t metrics = job->thirdparty != NULL ? job->thirdparty->names.count : 0;
	struct tw_plan_maker *m;

	if (TW_NEW(m, 1, err) < 0)
		return -1;
	m->job = job;
	m->files = json_array();
	m->inputs = json_array();
	m->metric = calloc(metrics + 1, sizeof(*m->metric));
	if (m->files == NULL || m->inputs == NULL || m->metric == NULL) {
		tw_plan_maker_free(m);
		return fail_nomem(err);
	}
	*out = m;
	return 0;
}

void tw_plan_maker_free(struct tw_plan_maker *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->count; i++) {
		free(m->at[i].name);
		free(m->at[i].input);
		free(m->at[i].pair);
	}
	free(m->at);
	free(m->metric);
	json_decref(m->files);
	json_decref(m->inputs);
	free(m);
}

static int add_file(json_t *list, const char *text, const char *sha256,
		    struct tw_err *err)
{
	const struct tw_plan_file file = { text, sha256 };

	if (!tw_is_utf8(text))
		return tw_fail(err, TW_INVALID, "the name of an input is not UTF-8");
	if (json_array_append_new(list, tw_fields_to_json(&tw_plan_file_fields, &file)) ==
	    0)
		return 0;
	return fail_nomem(err);
}

int tw_plan_maker_add_file(struct tw_plan_maker *m, const char *path, const char *sha256,
			   struct tw_err *err)
{
	return add_file(m->files, path, sha256, err);
}

/* ---- inputs ---- */

static int see(struct tw_plan_maker *m, const char *name, struct seen **out,
	       struct tw_err *err)
{
	struct seen *s;

	for (size_t i = 0; i < m->count; i++)
		if (tw_train_machine_compare(m->at[i].name, name) == 0) {
			*out = &m->at[i];
			return 0;
		}
	if (!tw_grow(&m->at, &m->size, m->count, sizeof(*m->at)))
		return fail_nomem(err);
	s = &m->at[m->count++];
	*s = (struct seen){ .name = name != NULL ? strdup(name) : NULL,
			    .pair = calloc(tw_train_pairs(m->job) + 1, sizeof(bool)) };
	*out = s;
	return (name != NULL && s->name == NULL) || s->pair == NULL ? fail_nomem(err) : 0;
}

static int add_recordings(struct tw_plan_maker *m, const struct tw_train_machine *machine,
			  size_t input, struct tw_err *err)
{
	struct seen *s;

	if (machine->recordings == 0)
		return 0;
	if (see(m, machine->name, &s, err) < 0)
		return -1;
	if (!tw_resize(&s->input, s->inputs + 1, sizeof(*s->input)))
		return fail_nomem(err);
	s->input[s->inputs++] = input;
	for (size_t i = 0; i < machine->recordings; i++)
		s->rows += tw_prom_longest(machine->recording[i].response);
	for (size_t i = 0; i < tw_train_pairs(m->job); i++) {
		const struct tw_train_pair p = tw_train_pair_at(m->job, i);

		s->pair[i] |= tw_train_machine_wants(machine, m->job, p.source, p.group);
	}
	return 0;
}

int tw_plan_maker_look(struct tw_plan_maker *m, const char *text, const char *sha256,
		       const struct tw_train_job *one, struct tw_err *err)
{
	const struct tw_thirdparty *more = m->job->thirdparty;
	const size_t input = json_array_size(m->inputs);
	struct tw_train_machines machines = { 0 };
	struct tw_err why = { 0 };
	size_t count;
	int rc = -1;

	if (add_file(m->inputs, text, sha256, err) < 0)
		return -1;
	for (size_t i = 0; more != NULL && i < more->names.count; i++)
		m->metric[i] |= tw_prom_series(one->responses[0].prom, more->names.at[i],
					       &count) != NULL;
	if (tw_train_machines_find(one, &machines, &why) < 0) {
		/* Another input may have the machine that the job names. */
		if (m->job->machine != NULL && why.code == TW_NOTFOUND)
			return 0;
		return tw_fail(err, why.code, "'%.80s': %s", text, why.text);
	}
	for (size_t i = 0; i < machines.count; i++)
		if (add_recordings(m, &machines.at[i], input, err) < 0)
			goto out;

	rc = 0;
out:
	tw_train_machines_release(&machines);
	return rc;
}

int tw_plan_maker_look_at_tables(struct tw_plan_maker *m, const struct tw_strs *texts,
				 const struct tw_strs *sha256,
				 const struct tw_train_job *job, struct tw_err *err)
{
	struct seen *s;

	for (size_t i = 0; i < texts->count; i++)
		if (add_file(m->inputs, texts->at[i], sha256->at[i], err) < 0)
			return -1;
	if (see(m, job->machine, &s, err) < 0)
		return -1;
	if (!tw_resize(&s->input, texts->count + 1, sizeof(*s->input)))
		return fail_nomem(err);
	while (s->inputs < texts->count) {
		s->input[s->inputs] = s->inputs;
		s->inputs++;
	}
	m->table = job->tables;
	m->tables = job->table_count;
	return 0;
}

/* ---- the document ---- */

static json_t *machine_to_json(const struct seen *s, const struct tw_train_machine *m)
{
	const struct tw_plan_machine machine = { .name = s->name,
						 .spec = m->spec,
						 .node_type = m->node_type,
						 .input = s->input,
						 .inputs = s->inputs };

	return tw_fields_to_json(&tw_plan_machine_fields, &machine);
}

/* The estimated CPU time of a unit, seconds, to the microsecond. */
static json_t *cost(const struct tw_train_job *job, const struct tw_trainer *t,
		    const struct tw_train_pair *p, size_t rows)
{
	const double fits = (job->folds > 0 ? job->folds : FOLDS_DEFAULT) + 1;
	const double ns = UNIT_NS + (double)rows * (double)p->source->count *
					    (ROW_NS + t->cost_ns * fits);

	return json_real((double)(long long)(ns / 1e3 + 0.5) / 1e6);
}

static int add_data(const struct tw_plan_maker *m, json_t *list, size_t machine,
		    const struct tw_train_pair *p, size_t rows, struct tw_err *err)
{
	static const enum tw_output output[] = { TW_ABS_POWER, TW_DYN_POWER };

	for (size_t i = 0; i < TW_COUNT(output); i++) {
		const struct tw_strs *names = tw_train_trainers(m->job, output[i]);
		json_t *costs = names->count > 0 ? json_object() : NULL;
		const struct tw_plan_data data = { .machine = machine,
						   .source = p->source->name,
						   .output = tw_output_name(output[i]),
						   .group = p->group->name,
						   .rows = rows,
						   .costs = costs };
		int rc = 0;

		if (names->count == 0)
			continue;
		for (size_t k = 0; k < names->count; k++)
			rc |= json_object_set_new(
				costs, names->at[k],
				cost(m->job, tw_trainer_find(names->at[k]), p, rows));
		rc |= json_array_append_new(list, tw_fields_to_json(&data_table, &data));
		json_decref(costs);
		if (rc != 0)
			return fail_nomem(err);
	}
	return 0;
}

static int add_all_data(const struct tw_plan_maker *m, json_t *list, struct tw_err *err)
{
	for (size_t i = 0; i < m->tables; i++) {
		const struct tw_train_pair p = { m->table[i].source, m->table[i].group };

		if (add_data(m, list, 0, &p, m->table[i].data->rows, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < m->count; i++)
		for (size_t k = 0; k < tw_train_pairs(m->job); k++) {
			const struct tw_train_pair p = tw_train_pair_at(m->job, k);

			if (m->at[i].pair[k] &&
			    add_data(m, list, i, &p, m->at[i].rows, err) < 0)
				return -1;
		}
	return 0;
}

static int check_made(const struct tw_plan_maker *m, struct tw_err *err)
{
	const struct tw_thirdparty *more = m->job->thirdparty;

	if (m->count == 0 && m->job->machine != NULL)
		return tw_fail(err, TW_NOTFOUND, "no input has machine '%.60s'",
			       m->job->machine);
	for (size_t i = 0; m->table == NULL && more != NULL && i < more->names.count; i++)
		if (!m->metric[i])
			return tw_fail(err, TW_NOTFOUND,
				       "third-party metric '%s': no response has it",
				       more->names.at[i]);
	return 0;
}

static int make_machines(const struct tw_plan_maker *m, const struct tw_train_job *job,
			 struct tw_train_machines *out, struct tw_err *err)
{
	struct tw_isolation isolation = { 0 };
	int rc;

	if (TW_NEW(out->at, m->count, err) < 0)
		return -1;
	out->count = m->count;
	for (size_t i = 0; i < m->count; i++)
		out->at[i].name = m->at[i].name;
	if (tw_train_machines_settle(out, job, err) < 0)
		return -1;
	/* An isolator that lacks an input fails each unit: fail the plan instead. */
	rc = tw_train_isolation_init(job, out, false, &isolation, err);
	tw_isolation_release(&isolation);
	return rc;
}

int tw_plan_maker_finish(struct tw_plan_maker *m, const struct tw_train_job *job,
			 const struct tw_strs *options, struct tw_buf *out,
			 struct tw_err *err)
{
	json_t *doc = NULL, *list = json_array(), *data = json_array();
	struct tw_train_machines machines = { 0 };
	int rc = -1;

	if (m->count > 1)
		qsort(m->at, m->count, sizeof(*m->at), tw_compare_texts);
	if (check_made(m, err) < 0 || make_machines(m, job, &machines, err) < 0 ||
	    add_all_data(m, data, err) < 0)
		goto out;
	if (json_array_size(data) == 0) {
		tw_fail(err, TW_NOTFOUND, "nothing to train on: " TW_TRAIN_NO_DATA,
			"any input");
		goto out;
	}
	for (size_t i = 0; i < m->count; i++)
		if (json_array_append_new(
			    list, machine_to_json(&m->at[i], &machines.at[i])) < 0)
			goto nomem;
	doc = json_pack("{s:i, s:s, s:s, s:b, s:o, s:O, s:O, s:O, s:O}", "format_version",
			TW_PLAN_FORMAT, "creator", "tallywatt " TW_VERSION, "name",
			job->name, "tables", m->table != NULL, "options",
			tw_json_texts(options), "files", m->files, "inputs", m->inputs,
			"machines", list, "data", data);
	if (doc == NULL)
		goto nomem;
	tw_buf_add_json_pretty(out, doc);
	if (tw_buf_failed(out))
		goto nomem;
	rc = 0;
	goto out;
nomem:
	fail_nomem(err);
out:
	tw_train_machines_release(&machines);
	json_decref(doc);
	json_decref(list);
	json_decref(data);
	return rc;
}
