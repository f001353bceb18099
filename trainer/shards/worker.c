/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/shards/worker.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "trainer/shards/part.h"
#include "trainer/shards/plan.h"
#include "trainer/train.h"
#include "trainer/train_machines.h"
#include "trainer/train_unit.h"

#include <stdlib.h>
#include <string.h>

/* Units of machines with the same inputs. */
struct group {
	const struct tw_worker *worker;
	struct tw_worker_result *result;
	size_t from, to; /* units of the plan */
	size_t at;       /* where the last search ended: both sides have one order */
	bool *open;      /* units to train, of the whole plan */
};

static bool same_inputs(const struct tw_plan_machine *a, const struct tw_plan_machine *b)
{
	return a->inputs == b->inputs &&
	       memcmp(a->input, b->input, a->inputs * sizeof(*a->input)) == 0;
}

static const struct tw_plan_machine *machine_of(const struct tw_plan *p, size_t unit)
{
	return &p->machine[p->data[p->unit[unit].data].machine];
}

static bool is_unit(const struct tw_plan *p, size_t unit, const struct tw_train_data *d,
		    const struct tw_trainer *trainer)
{
	const struct tw_plan_data *data = &p->data[p->unit[unit].data];
	const char *name = p->machine[data->machine].name;
	const char *other = d->machine->name;

	return strcmp(p->unit[unit].trainer, trainer->name) == 0 &&
	       strcmp(data->group, d->group->name) == 0 &&
	       strcmp(data->output, tw_output_name(d->output)) == 0 &&
	       strcmp(data->source, d->source->name) == 0 &&
	       (name == NULL || other == NULL ? name == other : strcmp(name, other) == 0);
}

/* The unit of the plan, or g->to. */
static size_t find_unit(struct group *g, const struct tw_train_data *d,
			const struct tw_trainer *trainer)
{
	const size_t count = g->to - g->from;

	for (size_t i = 0; i < count; i++) {
		const size_t unit = g->from + (g->at - g->from + i) % count;

		if (is_unit(g->worker->plan, unit, d, trainer)) {
			g->at = unit;
			return unit;
		}
	}
	return g->to;
}

static bool wants(void *arg, const struct tw_train_data *d,
		  const struct tw_trainer *trainer)
{
	struct group *g = arg;
	const size_t unit = find_unit(g, d, trainer);

	return unit < g->to && g->open[unit];
}

static int take(void *arg, struct tw_train_unit *u, struct tw_err *err)
{
	struct group *g = arg;
	const size_t unit = find_unit(g, u->data, u->trainer);

	if (tw_part_write(g->worker->dir, g->worker->plan, unit, u, err) < 0)
		return -1;
	g->open[unit] = false;
	g->result->trained++;
	g->result->failed += u->err.code != TW_OK;
	return 0;
}

/* The data has the digests of the plan; a unit it lacks comes of another version. */
static int check_all(const struct group *g, struct tw_err *err)
{
	struct tw_buf address = { 0 };

	for (size_t i = g->from; i < g->to; i++) {
		if (!g->open[i])
			continue;
		tw_plan_add_address(g->worker->plan, i, &address);
		tw_fail(err, TW_INVALID,
			"the inputs give no unit '%s': was the plan made by another "
			"version?",
			tw_buf_failed(&address) ? "?" : address.data);
		tw_buf_clear(&address);
		return -1;
	}
	return 0;
}

static int train_group(struct group *g, struct tw_err *err)
{
	const struct tw_worker *w = g->worker;
	const struct tw_plan_machine *m = machine_of(w->plan, g->from);
	struct tw_train_job job = *w->job;
	const struct tw_train_share share = { .wants = wants, .take = take, .arg = g };
	int rc = -1;

	if (w->load(w->arg, m->input, m->inputs, &job, err) == 0 &&
	    tw_train_units(&job, &share, err) == 0)
		rc = check_all(g, err);
	w->unload(w->arg);
	return rc;
}

/* Mark the wanted units that have no part. */
static int find_open(const struct tw_worker *w, bool *open, struct tw_worker_result *r,
		     struct tw_err *err)
{
	for (size_t i = 0; i < w->plan->units; i++) {
		bool present;

		if (!w->wanted[i])
			continue;
		if (tw_part_present(w->dir, w->plan, i, &present, err) < 0)
			return -1;
		open[i] = !present;
		r->present += present;
	}
	return 0;
}

int tw_worker_run(const struct tw_worker *w, struct tw_worker_result *out,
		  struct tw_err *err)
{
	const struct tw_plan *p = w->plan;
	struct group g = { .worker = w, .result = out };
	int rc = -1;

	*out = (struct tw_worker_result){ 0 };
	g.open = calloc(p->units + 1, sizeof(*g.open));
	if (g.open == NULL)
		return tw_fail(err, TW_NOMEM, "%zu units", p->units);
	if (tw_dir_make(w->dir, err) < 0 || find_open(w, g.open, out, err) < 0)
		goto out;
	while (g.to < p->units) {
		bool any = false;

		g.from = g.at = g.to;
		while (g.to < p->units &&
		       same_inputs(machine_of(p, g.from), machine_of(p, g.to)))
			any |= g.open[g.to++];
		if (any && train_group(&g, err) < 0)
			goto out;
	}
	rc = 0;
out:
	free(g.open);
	return rc;
}
