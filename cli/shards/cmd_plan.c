/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/shards/plan_job.h"
#include "cli/train/train_flags.h"
#include "cli/train/train_input.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/writer.h"
#include "cli/shards/opt_texts.h"
#include "trainer/shards/plan.h"

struct config {
	struct tw_train_flags flags;
	struct tw_train_job job; /* that the options describe */
};

/* ---- the data ---- */

/* Node types, specs and options are those of the whole training. */
static struct tw_train_job with_one_response(const struct tw_train_job *job,
					     const struct tw_train_response *r)
{
	struct tw_train_job one = *job;

	one.responses = r;
	one.response_count = 1;
	one.known = NULL;
	one.specs = NULL;
	one.spec_count = 0;
	one.spec = (struct tw_machine_spec){ 0 };
	return one;
}

static int look_at_responses(struct tw_plan_maker *m, const struct config *c,
			     struct tw_train_input *in, struct tw_err *err)
{
	char digest[TW_SHA256_TEXT];

	if (tw_train_input_name(in, &c->flags.input, err) < 0)
		return -1;
	for (size_t i = 0; i < in->responses; i++) {
		struct tw_train_job one;

		if (tw_train_input_load(in, i, NULL, digest, err) < 0)
			return -1;
		one = with_one_response(&c->job, &in->response[i]);
		if (tw_plan_maker_look(m, c->flags.input.at[i], digest, &one, err) < 0)
			return -1;
		tw_train_input_unload(in);
	}
	return 0;
}

static int look_at_tables(struct tw_plan_maker *m, struct config *c,
			  struct tw_train_input *in, struct tw_err *err)
{
	struct tw_buf warnings = { 0 };
	struct tw_strs digests = { 0 };
	int rc = -1;

	if (tw_train_input_csv(in, &c->flags.csv, c->job.source, c->job.group, &warnings,
			       NULL, &digests, err) < 0)
		goto out;
	tw_command_warn(&warnings);
	c->job.tables = in->table;
	c->job.table_count = in->tables;
	rc = tw_plan_maker_look_at_tables(m, &c->flags.csv, &digests, &c->job, err);
out:
	tw_strs_clear(&digests);
	tw_buf_clear(&warnings);
	return rc;
}

static int add_file(void *arg, const char *path, const char *sha256, struct tw_err *err)
{
	return tw_plan_maker_add_file(arg, path, sha256, err);
}

static int make(struct config *c, struct tw_buf *out, struct tw_err *err)
{
	const struct tw_train_flags *f = &c->flags;
	struct tw_train_input in = { .cache = tw_train_flags_cache(f) };
	struct tw_plan_maker *m = NULL;
	struct tw_strs options = { 0 };
	int rc = -1;

	if (tw_train_flags_read_options(f, &c->job, &in, err) < 0 ||
	    tw_plan_maker_new(&c->job, &m, err) < 0 ||
	    tw_plan_job_files(f, &c->job, add_file, m, err) < 0 ||
	    (f->csv.count > 0 ? look_at_tables(m, c, &in, err)
			      : look_at_responses(m, c, &in, err)) < 0 ||
	    tw_opts_write(&tw_train_job_opts, f, &options, err) < 0)
		goto out;
	rc = tw_plan_maker_finish(m, &c->job, &options, out, err);
out:
	tw_plan_maker_free(m);
	tw_strs_clear(&options);
	tw_train_input_release(&in);
	return rc;
}

/* ---- the list of units ---- */

static void list_units(const struct tw_plan *p, struct tw_buf *out)
{
	double total_s = 0.0;

	tw_buf_addf(out, "%6s %8s %8s  %s\n", "unit", "rows", "cost s", "address");
	for (size_t i = 0; i < p->units; i++) {
		const struct tw_plan_unit *u = &p->unit[i];

		tw_buf_addf(out, "%6zu %8zu %8.3f  ", i, p->data[u->data].rows,
			    u->cost_s);
		tw_plan_add_address(p, i, out);
		tw_buf_adds(out, "\n");
		total_s += u->cost_s;
	}
	tw_buf_addf(out, "%zu machines, %zu units, estimated at %.1f s of CPU time\n",
		    p->machines, p->units, total_s);
}

static void list_json(const struct tw_plan *p, struct tw_buf *out)
{
	tw_json_add_array(out, NULL);
	for (size_t i = 0; i < p->units; i++) {
		const struct tw_plan_unit *u = &p->unit[i];
		const struct tw_plan_data *d = &p->data[u->data];
		struct tw_buf address = { 0 };

		tw_plan_add_address(p, i, &address);
		out->failed |= tw_buf_failed(&address);
		tw_json_add_object(out, NULL);
		tw_json_add_uint(out, "unit", i);
		tw_json_add_text(out, "address", address.data);
		tw_json_add_text(out, "machine", p->machine[d->machine].name);
		tw_json_add_int(out, "node_type",
				(int64_t)p->machine[d->machine].node_type);
		tw_json_add_text(out, "source", d->source);
		tw_json_add_text(out, "output", d->output);
		tw_json_add_text(out, "group", d->group);
		tw_json_add_text(out, "trainer", u->trainer);
		tw_json_add_uint(out, "rows", d->rows);
		tw_json_add_number(out, "cost_s", u->cost_s);
		tw_json_end_object(out);
		tw_buf_clear(&address);
	}
	tw_json_end_array(out);
	tw_json_indent(out);
}

static int print_units(const struct tw_buf *text, bool json, struct tw_err *err)
{
	struct tw_buf out = { 0 };
	struct tw_plan p = { 0 };

	if (tw_plan_parse(text->data, text->len, "plan", &p, err) < 0)
		return -1;
	(json ? list_json : list_units)(&p, &out);
	tw_command_print(&out);
	tw_plan_release(&p);
	return 0;
}

static int plan(void *config, struct tw_err *err)
{
	struct config *c = config;
	struct tw_buf text = { 0 };
	int rc = -1;

	if (make(c, &text, err) < 0)
		goto out;
	if (c->flags.output != NULL &&
	    tw_command_write(&text, NULL, c->flags.output, err) < 0)
		goto out;
	rc = print_units(&text, c->flags.json, err);
out:
	tw_buf_clear(&text);
	return rc;
}

static int check_use(void *config, struct tw_err *err)
{
	struct config *c = config;

	if (tw_train_flags_check_input(&c->flags, err) < 0)
		return -1;
	return tw_train_flags_job(&c->flags, &c->job, err);
}

static void release(void *config)
{
	struct config *c = config;

	tw_train_job_release(&c->flags, &c->job);
}

const struct tw_command tw_command_plan = {
	.opts = &tw_plan_opts,
	.config_size = sizeof(struct config),
	.check = check_use,
	.work = plan,
	.release = release,
};
