/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/extract.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "trainer/extract/clean_rows.h"
#include "trainer/extract/clock.h"
#include "trainer/extract/counter_series.h"
#include "trainer/extract/lag.h"
#include "trainer/extract/node_rows.h"
#include "trainer/extract/package_shares.h"
#include "trainer/extract/power_series.h"
#include "trainer/extract/quality.h"
#include "trainer/extract/rates.h"
#include "trainer/response/machines.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Time of a row that no workload has filled. */
#define NO_TIME INT64_MIN

const char *const tw_resets_names[] = {
	[TW_RESETS_DROP] = "drop",
	[TW_RESETS_CARRY] = "carry",
	[TW_RESETS_REFUSE] = "refuse",
	NULL,
};

static int fail_empty(const struct tw_power_series *power,
		      const struct tw_counter_set *workloads, struct tw_err *err)
{
	double first = INFINITY, last = 0;

	for (size_t i = 0; i < workloads->count; i++) {
		const struct tw_packed *times = &workloads->at[i].series->time_ms;

		first = fmin(first, tw_packed_first(times));
		last = fmax(last, tw_packed_last(times));
	}
	if (power->times == 0)
		return tw_fail(
			err, TW_INVALID,
			"no row is left: power is known at no time (each component "
			"needs two samples, and one component more than 0 W)");
	return tw_fail(err, TW_INVALID,
		       "no row is left: power is known from %" PRId64 " to %" PRId64
		       ", features from %" PRId64 " to %" PRId64 " (seconds)",
		       power->time_ms[0] / 1000, power->time_ms[power->times - 1] / 1000,
		       (int64_t)first / 1000, (int64_t)last / 1000);
}

/* State of an extraction. */
struct job {
	const struct tw_extract_args *args;
	bool by_id; /* one row for each container */
	struct tw_extract_input in;
	struct tw_clock clock;
	struct tw_packages packages;
	struct tw_power_series power;
	struct tw_guest guest; /* the VM; power comes from its host, under another name */
	struct tw_counter_set workloads;
	struct tw_starts starts;
	struct tw_rates rates;
	struct tw_node_rows node;
	struct tw_increment_counts counts;
	struct tw_late_counts late;
	struct tw_clean_counts clean;
	double corrected_s; /* by which power was shifted */
	/* For each time of power: its row, or at container level the next workload's. */
	size_t *row;
	struct tw_dataset out;
	double *column[TW_EXTRACT_FEATURES_MAX]; /* feature columns of out */
};

/*
 * Assign rows to times. At node level each time gets a row; drop_rows() removes the rows
 * that no workload fills. At container level a first pass over the workloads counts the
 * rows of each time, so that rows can be in order of time.
 */
static int count_rows(struct job *j, size_t *rows, struct tw_err *err)
{
	size_t total = 0;

	if (!j->by_id) {
		for (; total < j->power.times; total++)
			j->row[total] = total;
		*rows = total;
		return 0;
	}
	for (size_t i = 0; i < j->workloads.count;) {
		if (tw_rates_next(&j->rates, &i, NULL, NULL, err) < 0)
			return -1;
		for (size_t n = 0; n < j->rates.count; n++)
			j->row[j->rates.at[n]]++;
	}
	for (size_t k = 0; k < j->power.times; k++) {
		const size_t count = j->row[k];

		j->row[k] = total;
		total += count;
	}
	*rows = total;
	return 0;
}

/* Set time and id of the rows of the workload just read. */
static int end_workload(struct job *j, const char *id, struct tw_err *err)
{
	if (j->by_id && j->rates.count > 0 && tw_strs_adds(&j->out.ids, id, err) < 0)
		return -1;
	for (size_t n = 0; n < j->rates.count; n++) {
		const size_t k = j->rates.at[n], row = j->row[k];

		j->out.time_ms[row] = j->power.time_ms[k];
		if (j->by_id) {
			j->out.id[row] = (uint32_t)(j->out.ids.count - 1);
			j->row[k]++;
		}
	}
	return 0;
}

/* Drop the rows that no workload filled. */
static void drop_rows(struct job *j)
{
	size_t n = 0;

	for (size_t row = 0; row < j->out.rows; row++) {
		if (j->out.time_ms[row] == NO_TIME)
			continue;
		for (size_t f = 0; f < j->in.features; f++)
			j->column[f][n] = j->column[f][row];
		j->out.time_ms[n++] = j->out.time_ms[row];
	}
	j->out.rows = n;
}

/*
 * Whether the rows of the node, which the repairs summed, are the rows of the dataset. A
 * column of a third-party metric has no value where no workload has one.
 */
static bool has_node_rows(const struct job *j)
{
	for (size_t f = 0; f < j->in.features; f++)
		if (j->in.feature[f].thirdparty)
			return false;
	return !j->by_id && j->args->compat == TW_COMPAT_NONE;
}

static void copy_node_rows(struct job *j)
{
	size_t n = 0;

	for (size_t k = 0; k < j->node.rows; k++) {
		if (!j->node.filled[k])
			continue;
		for (size_t f = 0; f < j->in.features; f++)
			j->column[f][n] = j->node.feature[f][k];
		j->out.time_ms[n++] = j->power.time_ms[k];
	}
	j->out.rows = n;
}

static int fill_rows(struct job *j, struct tw_err *err)
{
	if (has_node_rows(j)) {
		copy_node_rows(j);
		return 0;
	}
	for (size_t row = 0; row < j->out.rows; row++)
		j->out.time_ms[row] = NO_TIME;
	for (size_t i = 0; i < j->workloads.count;) {
		const char *id = j->workloads.at[i].key;

		if (tw_rates_next(&j->rates, &i, j->column, j->row, err) < 0 ||
		    end_workload(j, id, err) < 0)
			return -1;
	}
	drop_rows(j);
	return 0;
}

/* Both the rows and the times of power ascend: walk them together. */
static void fill_power(const struct job *j, const double *from, double *watts)
{
	size_t k = 0;

	for (size_t row = 0; row < j->out.rows; row++) {
		while (j->power.time_ms[k] < j->out.time_ms[row])
			k++;
		watts[row] = from[k];
	}
}

static int add_power_columns(struct job *j, struct tw_err *err)
{
	for (size_t i = 0; i < j->power.columns; i++) {
		const struct tw_power_column *c = &j->power.column[i];
		char name[TW_PACKAGE_COLUMN_SIZE];
		double *v;

		if (c->package != NULL)
			tw_package_power_column(c->component, c->package, name);
		if (tw_dataset_add(&j->out,
				   c->package != NULL ? name
						      : tw_power_column(c->component),
				   &v, err) < 0)
			return -1;
		fill_power(j, c->watts, v);
	}
	return tw_dataset_add(&j->out, "node_type", NULL, err);
}

static bool has_package(const struct job *j)
{
	for (size_t k = 0; k < j->in.components; k++)
		if (j->in.power[k].metric->component == TW_PACKAGE)
			return true;
	return false;
}

/* Without separate packages, the share of the single package is 1. */
static int add_shares(struct job *j, struct tw_err *err)
{
	double *v;

	if (j->packages.count > 0)
		return tw_package_shares_add(&j->packages, j->args,
					     j->args->vm_metrics ? &j->guest : NULL,
					     &j->out, err);
	if (!has_package(j))
		return 0;
	if (tw_dataset_add(&j->out, TW_RATIO_PREFIX "package", &v, err) < 0)
		return -1;
	for (size_t row = 0; row < j->out.rows; row++)
		v[row] = 1.0;
	return 0;
}

static int add_feature_column(struct job *j, size_t f, struct tw_err *err)
{
	if (tw_dataset_add(&j->out, j->in.feature[f].metric->feature, &j->column[f],
			   err) < 0)
		return -1;
	for (size_t row = 0; j->in.feature[f].thirdparty && row < j->out.rows; row++)
		j->column[f][row] = NAN;
	return 0;
}

static int read_node(struct job *j, struct tw_err *err)
{
	tw_node_rows_release(&j->node);
	j->rates.increments.counts = (struct tw_increment_counts){ 0 };
	if (tw_node_rows_read(&j->node, &j->rates, j->in.features, err) < 0)
		return -1;
	if (j->args->compat == TW_COMPAT_NONE &&
	    tw_node_rows_limit_births(&j->node, &j->rates)) {
		tw_node_rows_release(&j->node);
		j->rates.increments.counts = (struct tw_increment_counts){ 0 };
		if (tw_node_rows_read(&j->node, &j->rates, j->in.features, err) < 0)
			return -1;
	}
	j->counts = j->rates.increments.counts;
	return 0;
}

/* Read the features again if rows of power were dropped or joined. */
static int read_again(struct job *j, bool changed, struct tw_err *err)
{
	if (!changed)
		return 0;
	if (tw_rates_retime(&j->rates, &j->power, err) < 0)
		return -1;
	return read_node(j, err);
}

/* Rows that were joined are cleaned again. */
static int clean_rows(struct job *j, struct tw_err *err)
{
	size_t joined = 0;

	for (int i = 0; i < 2; i++) {
		struct tw_clean_counts *n = &j->clean;

		if (tw_clean_rows(&j->power, &j->node, &j->rates, n, err) < 0 ||
		    read_again(j, n->outliers + n->standing + n->joined > 0, err) < 0)
			return -1;
		joined += n->joined;
		if (n->joined == 0)
			break;
	}
	j->power.repeats += joined;
	return 0;
}

static int drop_unseen(struct job *j, struct tw_err *err)
{
	const struct tw_hidden at = j->counts.hidden_at;

	if (at.count == 0)
		return 0;
	if (tw_drop_unseen_rows(&j->power, &j->node, &j->rates, &at, &j->clean, err) < 0)
		return -1;
	return read_again(j, j->clean.unseen > 0, err);
}

/* Drop the rows in which the meter was absent or the exporter restarted. Join the rows of
 * late scrapes, of an exporter whose clock is not known. Drop the rows that are wrong. */
static int repair_rows(struct job *j, struct tw_err *err)
{
	const size_t times = j->power.times;

	if (j->args->compat != TW_COMPAT_NONE)
		return 0;
	if (tw_power_series_drop_absences(&j->power, &j->rates.ticks, err) < 0)
		return -1;
	tw_rates_drop_restarts(&j->rates, &j->power);
	if (j->power.times < times && tw_rates_retime(&j->rates, &j->power, err) < 0)
		return -1;
	if (read_node(j, err) < 0)
		return -1;
	if (j->clock.count == 0 &&
	    (tw_late_repair(&j->power, &j->node, &j->rates, &j->late, err) < 0 ||
	     read_again(j, j->late.late + j->late.impossible > 0, err) < 0))
		return -1;
	if (clean_rows(j, err) < 0)
		return -1;
	return drop_unseen(j, err);
}

/* Names of the features, for TW_EXTRACT_FEATURES_MAX of them. */
static struct tw_measured_rows quality_rows(const struct job *j, const char **name,
					    const double *node_ms)
{
	for (size_t f = 0; f < j->in.features; f++)
		name[f] = j->in.feature[f].metric->feature;
	return (struct tw_measured_rows){
		.rows = j->power.times,
		.from_ms = j->power.from_ms,
		.time_ms = j->power.time_ms,
		.from = j->rates.from,
		.to = j->rates.to,
		.filled = j->node.filled,
		.name = name,
		.feature = j->node.feature,
		.features = j->in.features,
		.cpu_ms = j->node.cpu_ms,
		.node_ms = node_ms,
		.watts = j->power.column[0].watts,
		.span = j->args->span,
		.spans = j->args->spans,
	};
}

/* Shift power by its lag behind the features of the node. */
static int correct_lag(struct job *j, struct tw_err *err)
{
	const char *name[TW_EXTRACT_FEATURES_MAX];
	struct tw_quality q = { .cpus = j->clock.cpus };
	struct tw_measured_rows rows;
	int rc = -1;

	if (!j->args->correct_lag || j->args->compat != TW_COMPAT_NONE ||
	    j->power.times == 0)
		return 0;
	rows = quality_rows(j, name, NULL);
	if (tw_quality_measure(&q, &rows, err) < 0)
		goto out;
	j->corrected_s = q.lag_s;
	if (q.lag_s != 0 &&
	    (tw_lag_correct(&j->power, q.lag_s * 1e3, err) < 0 ||
	     tw_rates_retime(&j->rates, &j->power, err) < 0 || read_node(j, err) < 0))
		goto out;
	rc = 0;
out:
	tw_quality_release(&q);
	return rc;
}

static int drop_unsteady(struct job *j, struct tw_err *err)
{
	if (j->args->compat != TW_COMPAT_NONE)
		return 0;
	if (tw_drop_unsteady_rows(&j->power, &j->node, &j->rates, &j->clean, err) < 0)
		return -1;
	return read_again(j, j->clean.unsteady > 0, err);
}

/* Keep the rows in the spans: both are in order of time. */
static int keep_spans(struct job *j, struct tw_err *err)
{
	const struct tw_extract_args *a = j->args;
	struct tw_power_series *p = &j->power;
	const size_t times = p->times;
	size_t n = 0, i = 0;

	if (a->span == NULL || a->compat != TW_COMPAT_NONE)
		return 0;
	for (size_t k = 0; k < times; k++) {
		while (i < a->spans && p->time_ms[k] > a->span[i].to_ms)
			i++;
		if (i < a->spans && p->time_ms[k] > a->span[i].from_ms)
			tw_power_series_move(p, n++, k);
		else
			tw_power_series_forget(p, k);
	}
	/* Each row's share of what the whole recording repeats. */
	p->repeats = times > 0 ? p->repeats * n / times : 0;
	p->times = n;
	return read_again(j, n < times, err);
}

static int make_dataset(struct job *j, struct tw_err *err)
{
	size_t rows;

	if (tw_starts_find(j->in.prom, &j->starts, err) < 0 ||
	    tw_rates_init(&j->rates, &j->power, &j->workloads, j->in.feature, &j->starts,
			  &j->clock, j->args, err) < 0)
		return -1;
	for (size_t f = 0; f < j->in.features; f++)
		j->rates.thirdparty_makes_no_rows |= !j->in.feature[f].of_node;
	if (repair_rows(j, err) < 0 || correct_lag(j, err) < 0 ||
	    drop_unsteady(j, err) < 0 || keep_spans(j, err) < 0)
		return -1;
	if (TW_NEW(j->row, j->power.times + 1, err) < 0 || count_rows(j, &rows, err) < 0)
		return -1;
	if (tw_dataset_init(&j->out, rows, j->by_id, err) < 0)
		return -1;
	for (size_t f = 0; f < j->in.features; f++)
		if (add_feature_column(j, f, err) < 0)
			return -1;
	if (fill_rows(j, err) < 0 ||
	    tw_thirdparty_metrics_settle(j->in.feature, j->in.features, &j->out, err) < 0)
		return -1;
	if (j->out.rows == 0 && j->args->span != NULL)
		return tw_fail(err, TW_NOTFOUND, "no row is left in the spans of time");
	if (j->out.rows == 0)
		return fail_empty(&j->power, &j->workloads, err);
	if (add_power_columns(j, err) < 0)
		return -1;
	return add_shares(j, err);
}

/* ---- quality ---- */

static size_t count_restarts(const struct job *j)
{
	const struct tw_restarts *r = &j->rates.restarts;
	size_t most = 0, here = 0;

	/* A restart is in several columns: count those of the column with most. */
	for (size_t i = 0; i < r->count; i++) {
		if (i > 0 && r->at[i].column != r->at[i - 1].column)
			here = 0;
		if (j->in.feature[r->at[i].column].metric->kind == TW_METRIC_FEATURE)
			here++;
		most = here > most ? here : most;
	}
	return most;
}

static int add_missing(const struct job *j, struct tw_strs *missing, struct tw_err *err)
{
	for (size_t i = 0, f = 0; i < j->args->group->count; i++) {
		const char *name = j->args->group->features[i];

		if (f < j->in.features &&
		    strcmp(j->in.feature[f].metric->feature, name) == 0)
			f++;
		else if (tw_strs_adds(missing, name, err) < 0)
			return -1;
	}
	return 0;
}

static int measure_quality(struct job *j, struct tw_err *err)
{
	const char *name[TW_EXTRACT_FEATURES_MAX];
	double *node_ms = calloc(j->power.times + 1, sizeof(*node_ms));
	const struct tw_measured_rows rows = quality_rows(j, name, node_ms);
	struct tw_quality q = { .cpus = j->clock.cpus,
				.clocked = j->clock.count > 0,
				.repeats = j->power.repeats,
				.late = j->late,
				.clean = j->clean,
				.merged = j->workloads.merged + j->power.merged,
				.series = j->counts,
				.restarts = count_restarts(j),
				.energy_meter_j = j->power.grown_j,
				.lag_corrected_s = j->corrected_s };
	const char *path = tw_extract_virtual_path(j->in.prom, j->args->source);
	int rc = -1;

	if (path != NULL)
		snprintf(q.virtual_path, sizeof(q.virtual_path), "%s", path);
	if (node_ms == NULL)
		return tw_fail(err, TW_NOMEM, "quality of %zu rows", j->power.times);
	for (size_t k = 0; k < j->power.times; k++)
		node_ms[k] = NAN;
	if (tw_balance_node_cpu(&j->in, &j->power, &j->clock, &j->node, node_ms,
				&q.cpu_node_s, err) < 0 ||
	    tw_quality_measure(&q, &rows, err) < 0 || add_missing(j, &q.missing, err) < 0)
		goto out;
	*j->args->quality = q;
	q = (struct tw_quality){ 0 };
	rc = 0;
out:
	tw_quality_release(&q);
	free(node_ms);
	return rc;
}

/*
 * The collector exports readings that contradict physics. psys is a board of its own: its
 * contradiction spoils only models of psys.
 */
static int check_meters(const struct tw_prom *p, const struct tw_extract_args *a,
			struct tw_err *err)
{
	size_t count;
	const struct tw_series *s =
		tw_prom_series(p, "tallywatt_meter_violation", &count);

	for (size_t i = 0; i < count; i++) {
		const char *zone = tw_series_label(&s[i], "zone"),
			   *path = tw_series_label(&s[i], "path"),
			   *reason = tw_series_label(&s[i], "reason");

		if (zone == NULL || path == NULL || reason == NULL ||
		    (strcmp(zone, "psys") == 0 && strcmp(a->source->name, "psys") != 0))
			continue;
		return tw_fail(
			err, TW_INVALID,
			"the recording's meters contradict physics: zone %s, %s: %s "
			"('tallywatt probe --explain' there shows the meters)",
			zone, path, reason);
	}
	return 0;
}

/* Find the wanted metrics, the packages, power and the workloads' counters. */
static int find_inputs(struct job *j, const struct tw_prom *p, struct tw_err *err)
{
	const struct tw_extract_args *a = j->args;

	if (tw_extract_input_find(p, a, &j->in, err) < 0)
		return -1;
	if (a->compat == TW_COMPAT_NONE && check_meters(p, a, err) < 0)
		return -1;
	if (tw_clock_find(&j->in, &j->clock, err) < 0 ||
	    tw_packages_find(&j->in, &j->packages, err) < 0 ||
	    tw_power_series_extract(&j->in, &j->packages, &j->clock, &j->power, err) <
		    0 ||
	    tw_workload_counters_find(j->in.feature, j->in.features, a,
				      a->vm_metrics ? &j->guest : NULL, &j->workloads,
				      err) < 0)
		return -1;
	if (!j->by_id)
		return 0;
	return tw_thirdparty_metrics_check(j->in.feature, j->in.features, &j->workloads,
					   err);
}

static int check_group(const struct tw_prom *p, const struct tw_extract_args *a,
		       struct tw_err *err)
{
	const struct tw_feature_group *g = a->group;

	if (g->count == 0)
		return tw_fail(err, TW_INVALID,
			       "%s has no features but third-party metrics: name some "
			       "with --thirdparty-metrics",
			       g->name);
	if (a->level == TW_ROWS_CONTAINER && tw_extract_of_node(p, g))
		return tw_fail(
			err, TW_INVALID,
			"%s%s has no features of containers: extract it at node level",
			g->name, g->of_node ? "" : " with these metrics");
	return 0;
}

int tw_extract(const struct tw_prom *p, const struct tw_extract_args *a,
	       struct tw_dataset *out, struct tw_err *err)
{
	struct tw_prom *one = NULL;
	struct job j = { .args = a };
	int rc = -1;

	if (check_group(p, a, err) < 0)
		goto out;
	j.by_id = a->level != TW_ROWS_NODE && !tw_extract_of_node(p, a->group);
	if (!a->apart && tw_machines_single(p, a->machine, &one, err) < 0)
		goto out;
	if (find_inputs(&j, one != NULL ? one : p, err) < 0 || make_dataset(&j, err) < 0)
		goto out;
	if (a->quality != NULL && a->compat == TW_COMPAT_NONE &&
	    measure_quality(&j, err) < 0)
		goto out;
	*out = j.out;
	j.out = (struct tw_dataset){ 0 };
	rc = 0;
out:
	tw_dataset_release(&j.out);
	free(j.row);
	tw_node_rows_release(&j.node);
	tw_rates_release(&j.rates);
	tw_starts_release(&j.starts);
	tw_counter_set_release(&j.workloads);
	tw_power_series_release(&j.power);
	tw_clock_release(&j.clock);
	tw_prom_free(one);
	return rc;
}
