/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/pool.h"
#include "trainer/extract/metric_series.h"
#include "trainer/response/thirdparty.h"
#include "trainer/train_data.h"
#include "trainer/train_rows.h"
#include "trainer/train_machines.h"
#include "trainer/train_pack.h"
#include "trainer/train_unit.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

/*
 * Limit of numbers (doubles) in the data of a batch. Small data is trained in one batch,
 * so that all threads have work. Large data takes several batches, so that it fits into
 * memory.
 */
#define BATCH_CELLS ((size_t)8 << 20)

/* A fit, which is a step of a unit. */
struct step {
	size_t unit, step;
};

struct training {
	struct tw_train_outcome all;        /* of the stages so far */
	const struct tw_train_share *share; /* NULL: all units */
	size_t from, to;                    /* the data of the batch */
	size_t unit_from; /* the batch's first unit; its last is the last */
	struct step *step;
	size_t steps;
	atomic_size_t done; /* finished steps of the batch */
	atomic_bool ended;  /* the observer has ended the training */
};

/* Time since *from; sets *from to now. */
static uint64_t lap_ns(uint64_t *from)
{
	const uint64_t now = tw_now_ns(), lap = now - *from;

	*from = now;
	return lap;
}

/* ---- plan ---- */

int tw_train_isolation_init(const struct tw_train_job *job,
			    const struct tw_train_machines *m, bool recorded,
			    struct tw_isolation *out, struct tw_err *err)
{
	/* Tables have one machine, which may have no name. */
	const size_t count = m->count > 0 ? m->count : 1;
	struct tw_isolation_machine *machine;
	size_t used = 0;
	int status;

	if (job->dyn_trainers.count == 0)
		return 0;
	if (TW_NEW(machine, count, err) < 0)
		return -1;
	for (size_t i = 0; i < m->count; i++)
		if (!recorded || m->at[i].recordings > 0)
			machine[used++] = (struct tw_isolation_machine){
				m->at[i].name, (uint32_t)m->at[i].node_type
			};
	status = tw_isolation_init(job->isolator, &job->isolation, machine,
				   used > 0 ? used : 1, out, err);
	free(machine);
	return status;
}

const struct tw_strs *tw_train_trainers(const struct tw_train_job *job,
					enum tw_output output)
{
	return output == TW_DYN_POWER ? &job->dyn_trainers : &job->abs_trainers;
}

/*
 * The next trainer of the data from *i on that the share wants; *i is set behind it. NULL
 * if there is none.
 */
static const struct tw_trainer *next_trainer(const struct training *t,
					     const struct tw_train_data *d, size_t *i)
{
	const struct tw_strs *names = tw_train_trainers(t->all.job, d->output);

	while (*i < names->count) {
		const struct tw_trainer *trainer = tw_trainer_find(names->at[(*i)++]);

		if (t->share == NULL || t->share->wants(t->share->arg, d, trainer))
			return trainer;
	}
	return NULL;
}

static void add_data(struct training *t, struct tw_train_data data)
{
	static const enum tw_output output[] = { TW_ABS_POWER, TW_DYN_POWER };

	for (size_t i = 0; i < 2; i++) {
		size_t from = 0;

		data.job = t->all.job;
		data.output = output[i];
		data.isolation = &t->all.isolation;
		if (next_trainer(t, &data, &from) != NULL)
			t->all.data[t->all.datas++] = data;
	}
}

/*
 * The group i, with the job's third-party metrics if the job names it or it has no
 * others.
 */
static const struct tw_feature_group *group_at(const struct tw_train_job *job, size_t i)
{
	const struct tw_feature_group *g = tw_feature_group_at(i);

	if (job->group == NULL && g->count > 0)
		return g;
	return tw_thirdparty_group(job->thirdparty, g);
}

/*
 * A user's own source is trained only if the job names it: a response may have power of
 * any name, such as an estimate's.
 */
static bool has_own_source(const struct tw_train_job *job)
{
	return job->source != NULL && tw_energy_source_is_own(job->source);
}

size_t tw_train_pairs(const struct tw_train_job *job)
{
	return (tw_energy_source_count() + has_own_source(job)) *
	       tw_feature_group_count();
}

struct tw_train_pair tw_train_pair_at(const struct tw_train_job *job, size_t i)
{
	const size_t groups = tw_feature_group_count(), s = i / groups;

	return (struct tw_train_pair){
		.source = s < tw_energy_source_count() ? tw_energy_source_at(s)
						       : job->source,
		.group = group_at(job, i % groups),
	};
}

static void plan_machine(struct training *t, size_t machine)
{
	const struct tw_train_machine *m = &t->all.machines.at[machine];

	for (size_t i = 0; i < tw_train_pairs(t->all.job); i++) {
		const struct tw_train_pair p = tw_train_pair_at(t->all.job, i);

		if (tw_train_machine_wants(m, t->all.job, p.source, p.group))
			add_data(t, (struct tw_train_data){ .source = p.source,
							    .group = p.group,
							    .machine = m });
	}
}

/* Find a source and a group that the job may mean, and that a machine has apart. */
static bool find_apart(const struct training *t, struct tw_train_pair *out)
{
	const struct tw_train_job *job = t->all.job;

	for (size_t i = 0; i < t->all.machines.count; i++)
		for (size_t k = 0; k < tw_train_pairs(job); k++) {
			const struct tw_train_pair p = tw_train_pair_at(job, k);

			if ((job->source == NULL || job->source == p.source) &&
			    (job->group == NULL ? !p.group->by_name
						: job->group == p.group) &&
			    tw_train_machine_apart(&t->all.machines.at[i], p.source,
						   p.group)) {
				*out = p;
				return true;
			}
		}
	return false;
}

static int fail_no_data(const struct training *t, struct tw_err *err)
{
	const struct tw_energy_source *s =
		t->all.job->source == NULL
			? tw_train_machines_unmeasured(&t->all.machines)
			: NULL;
	struct tw_buf sources = { 0 };
	struct tw_train_pair apart;

	if (s != NULL)
		return tw_fail(err, TW_NOTFOUND,
			       "nothing to train on: " TW_EXTRACT_UNMEASURED, s->name,
			       s->name);
	if (find_apart(t, &apart))
		return tw_fail(err, TW_NOTFOUND,
			       "nothing to train on: the energy of source '%s' and the "
			       "metrics of %s are of different exporters, which are not "
			       "combined",
			       apart.source->name, apart.group->name);
	tw_train_machines_add_sources(&t->all.machines, &sources);
	if (sources.len > 0)
		tw_fail(err, TW_NOTFOUND,
			"nothing to train on: " TW_TRAIN_NO_DATA "%s" TW_EXTRACT_SOURCES,
			"the response",
			t->all.job->group == NULL
				? " (name a group to be told what it lacks)"
				: "",
			sources.data);
	tw_buf_clear(&sources);
	return tw_fail(err, TW_NOTFOUND,
		       "nothing to train on: the response has no energy or power of an "
		       "exporter that is known");
}

static int plan(struct training *t, struct tw_err *err)
{
	const struct tw_train_job *job = t->all.job;
	size_t most = 2 * job->table_count;

	most += 2 * t->all.machines.count * tw_train_pairs(job);
	if (TW_NEW(t->all.data, most + 1, err) < 0)
		return -1;

	for (size_t i = 0; i < t->all.machines.count; i++)
		plan_machine(t, i);
	for (size_t i = 0; i < job->table_count; i++)
		add_data(t, (struct tw_train_data){ .source = job->tables[i].source,
						    .group = job->tables[i].group,
						    .machine = &t->all.machines.at[0],
						    .table = &job->tables[i] });
	return t->all.datas > 0 ? 0 : fail_no_data(t, err);
}

/* ---- the observer ---- */

static void tell(const struct training *t, const char *stage, size_t done, size_t steps)
{
	const struct tw_train_watch *w = t->all.job->watch;
	const double part = steps > 0 ? (double)done / (double)steps : 0.0;
	const struct tw_train_progress at = {
		.stage = stage,
		.fits = done,
		.of = steps,
		.fraction = ((double)t->from + (double)(t->to - t->from) * part) /
			    (double)t->all.datas,
	};

	if (w != NULL && w->progress != NULL)
		w->progress(w->arg, &at);
}

static bool goes_on(struct training *t)
{
	const struct tw_train_watch *w = t->all.job->watch;

	if (w == NULL || w->go_on == NULL)
		return true;
	if (!atomic_load(&t->ended) && !w->go_on(w->arg))
		atomic_store(&t->ended, true);
	return !atomic_load(&t->ended);
}

/* Whether to go on after a stage. */
static int check_ended(const struct training *t, struct tw_err *err)
{
	return atomic_load(&t->ended) ? tw_fail(err, TW_IO, "the training was cancelled")
				      : 0;
}

/* ---- stages ---- */

static bool shares_rows(const struct training *t, size_t i)
{
	return i > t->from && i < t->to &&
	       tw_train_rows_same(&t->all.data[i - 1], &t->all.data[i]);
}

static void extract_one(void *arg, size_t i)
{
	struct training *t = arg;
	struct tw_train_data *d = &t->all.data[t->from + i];

	if (shares_rows(t, t->from + i) || !goes_on(t))
		return;
	tw_train_rows_extract(d);
	if (shares_rows(t, t->from + i + 1))
		tw_train_rows_copy(d + 1, d);
}

static void isolate_one(void *arg, size_t i)
{
	struct training *t = arg;

	if (goes_on(t))
		tw_train_data_isolate(&t->all.data[t->from + i]);
}

static void fit_one(void *arg, size_t i)
{
	struct training *t = arg;

	if (!goes_on(t))
		return;
	tw_train_unit_step(&t->all.unit[t->step[i].unit], t->step[i].step);
	tell(t, "fit", atomic_fetch_add(&t->done, 1) + 1, t->steps);
}

static void finish_one(void *arg, size_t i)
{
	struct training *t = arg;

	if (goes_on(t))
		tw_train_unit_finish(&t->all.unit[t->unit_from + i]);
}

static int make_units(struct training *t, struct tw_err *err)
{
	size_t count = 0;

	for (size_t i = 0; i < t->all.datas; i++)
		count += tw_train_trainers(t->all.job, t->all.data[i].output)->count;
	return TW_NEW(t->all.unit, count, err);
}

/* Make the units of the batch. */
static void begin_units(struct training *t)
{
	t->unit_from = t->all.units;
	for (size_t i = t->from; i < t->to; i++) {
		const struct tw_trainer *trainer;
		size_t k = 0;

		while ((trainer = next_trainer(t, &t->all.data[i], &k)) != NULL)
			tw_train_unit_init(&t->all.unit[t->all.units++], &t->all.data[i],
					   trainer);
	}
}

static int make_steps(struct training *t, struct tw_err *err)
{
	size_t count = 0;

	for (size_t i = t->unit_from; i < t->all.units; i++)
		count += tw_train_unit_steps(&t->all.unit[i]);
	free(t->step);
	t->steps = 0;
	atomic_store(&t->done, 0);
	if (TW_NEW(t->step, count + 1, err) < 0)
		return -1;
	for (size_t i = t->unit_from; i < t->all.units; i++) {
		const size_t steps = tw_train_unit_steps(&t->all.unit[i]);

		for (size_t k = 0; k < steps; k++)
			t->step[t->steps++] = (struct step){ i, k };
	}
	return 0;
}

/*
 * Data that lacks a metric is left out. Invalid data (a counter reset, no common time)
 * fails the training: a pipeline without that data would hide the fault.
 */
static int check_data(const struct training *t, struct tw_err *err)
{
	for (size_t i = t->from; i < t->to; i++) {
		const struct tw_train_data *d = &t->all.data[i];

		if (d->err.code == TW_OK || d->err.code == TW_NOTFOUND)
			continue;
		tw_fail(err, d->err.code, "%s %s: %s", d->source->name, d->group->name,
			d->err.text);
		if (t->all.machines.count > 1)
			tw_err_wrap(err, "machine '%.60s'", d->machine->name);
		return -1;
	}
	return 0;
}

static void release(struct training *t)
{
	free(t->step);
	tw_train_outcome_release(&t->all);
}

/* ---- batches ---- */

/* Upper bound of numbers in one data: extracted columns, x, and y of the splits. */
static size_t count_cells(const struct tw_train_data *d)
{
	size_t rows = d->table != NULL ? d->table->data->rows : 0;

	for (size_t i = 0; d->table == NULL && i < d->machine->recordings; i++)
		rows += tw_prom_longest(d->machine->recording[i].response);
	return rows * 2 * (d->group->count + 4 * d->source->count);
}

/* Choose the next batch: data from t->to on, at least one. */
static void begin_batch(struct training *t)
{
	const size_t most =
		t->all.job->batch_cells > 0 ? t->all.job->batch_cells : BATCH_CELLS;
	size_t cells = 0;

	t->from = t->to;
	do
		cells += count_cells(&t->all.data[t->to++]);
	while (t->to < t->all.datas && cells + count_cells(&t->all.data[t->to]) <= most);
}

/* Take the next data through all stages but the last: rows, isolation, fits, scores. */
static int train_batch(struct training *t, struct tw_train_result *r, struct tw_err *err)
{
	const struct tw_train_job *job = t->all.job;
	uint64_t lap = tw_now_ns();
	size_t datas;

	begin_batch(t);
	datas = t->to - t->from;
	tell(t, "extract", 0, 0);
	tw_pool_run(datas, job->threads, extract_one, t);
	r->extract_ns += lap_ns(&lap);
	if (check_ended(t, err) < 0 || check_data(t, err) < 0)
		return -1;
	tell(t, "isolate", 0, 0);
	tw_pool_run(datas, job->threads, isolate_one, t);
	r->isolate_ns += lap_ns(&lap);
	if (check_ended(t, err) < 0)
		return -1;
	begin_units(t);
	if (make_steps(t, err) < 0)
		return -1;
	tell(t, "fit", 0, t->steps);
	tw_pool_run(t->steps, job->threads, fit_one, t);
	r->fit_ns += lap_ns(&lap);
	if (check_ended(t, err) < 0)
		return -1;
	tell(t, "validate", t->steps, t->steps);
	tw_pool_run(t->all.units - t->unit_from, job->threads, finish_one, t);
	if (check_ended(t, err) < 0)
		return -1;
	for (size_t i = t->from; i < t->to; i++)
		tw_train_data_drop(&t->all.data[i]);
	r->pack_ns += lap_ns(&lap);
	return 0;
}

static int begin(struct training *t, struct tw_err *err)
{
	const struct tw_train_job *job = t->all.job;

	if (tw_train_job_check(job, err) < 0 ||
	    tw_train_machines_find(job, &t->all.machines, err) < 0 ||
	    tw_train_isolation_init(job, &t->all.machines,
				    t->share != NULL && job->table_count == 0,
				    &t->all.isolation, err) < 0 ||
	    plan(t, err) < 0)
		return -1;
	return make_units(t, err);
}

int tw_train(const struct tw_train_job *job, struct tw_train_result *out,
	     struct tw_err *err)
{
	struct training t = { .all.job = job };
	struct tw_train_result r = { 0 };
	uint64_t lap;
	int rc = -1;

	if (begin(&t, err) < 0)
		goto out;
	while (t.to < t.all.datas)
		if (train_batch(&t, &r, err) < 0)
			goto out;
	lap = tw_now_ns();
	tell(&t, "pack", t.steps, t.steps);
	if (tw_train_pack(&t.all, &r, err) < 0)
		goto out;
	r.pack_ns += lap_ns(&lap);

	*out = r;
	r = (struct tw_train_result){ 0 };
	rc = 0;
out:
	tw_train_result_release(&r);
	release(&t);
	return rc;
}

#if TW_FLEET
/* ---- a share of a training ---- */

/* Hand the units of the batch to the share's receiver. */
static int hand_over(struct training *t, struct tw_err *err)
{
	for (size_t i = t->unit_from; i < t->all.units; i++) {
		struct tw_train_unit *u = &t->all.unit[i];

		/* A model must not depend on how much memory there was. */
		if (u->err.code == TW_NOMEM)
			return tw_fail(err, TW_NOMEM, "%s: %s", u->trainer->name,
				       u->err.text);
		if (t->share->take(t->share->arg, u, err) < 0)
			return -1;
		tw_train_unit_release(u);
	}
	return 0;
}

int tw_train_units(const struct tw_train_job *job, const struct tw_train_share *share,
		   struct tw_err *err)
{
	struct training t = { .all.job = job, .share = share };
	struct tw_train_result times = { 0 };
	int rc = begin(&t, err);

	while (rc == 0 && t.to < t.all.datas)
		rc = train_batch(&t, &times, err) < 0 ? -1 : hand_over(&t, err);
	release(&t);
	return rc;
}
#endif
