/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_EXTRACT_PARTS_H
#define TW_TRAINER_EXTRACT_PARTS_H

/*
 * The two halves of an extraction, power and rates; a part of trainer/extract/extract.c.
 */

#include "trainer/extract/counters.h"
#include "trainer/extract/extract.h"
#include "trainer/extract/prom.h"
#include "trainer/extract/schema.h"

/* Series of one metric, as its schema knows it, and of one source. */
struct tw_metric_series {
	const struct tw_schema *schema;
	const struct tw_schema_metric *metric; /* NULL: the response has none */
	const struct tw_energy_source *source; /* NULL: a feature has none */
	const struct tw_series *series;        /* those of the metric's name */
	size_t count;
	bool own;     /* a third-party metric: a feature by the metric's name */
	bool of_node; /* own, and not of workloads */
};

/* The next series from *i on, which moves behind it; NULL at the end. */
const struct tw_series *tw_metric_series_next(const struct tw_metric_series *m,
					      size_t *i);

/* The first metric of the schema that the response has series of, for a component's
 * energy or power. */
struct tw_metric_series tw_energy_series(const struct tw_prom *p,
					 const struct tw_schema *schema,
					 enum tw_component c,
					 const struct tw_energy_source *source);

/* The schema by which the response has most of what is wanted; of equals, that which
 * has names for most of it. */
const struct tw_schema *tw_extract_schema(const struct tw_prom *p,
					  const struct tw_extract_args *a);

/* Fails naming what the response lacks, features and energy together. */
int tw_extract_check(const struct tw_prom *p, const struct tw_schema *schema,
		     const struct tw_extract_args *a, struct tw_err *err);

/* Features of the group that the response has, in the group's order. out has room for the
 * group's; the name of each is its metric's feature. */
size_t tw_extract_features(const struct tw_prom *p, const struct tw_schema *schema,
			   const struct tw_feature_group *group,
			   struct tw_metric_series *out);

/* Whether the group is of a node in the response: some metric of it is of no workload. */
bool tw_extract_of_node(const struct tw_prom *p, const struct tw_feature_group *g);

/* Components of the source that the response has, in the source's order. */
size_t tw_extract_components(const struct tw_prom *p, const struct tw_schema *schema,
			     const struct tw_energy_source *source,
			     enum tw_component out[TW_COMPONENT_COUNT]);

/*
 * Counters of the series of an own metric. Of workloads they go by their labels; of the
 * node each counter is one for itself, and the gauges are taken together.
 */
int tw_own_metric_add(const struct tw_metric_series *m, size_t what,
		      const struct tw_series *s, struct tw_counters *out,
		      struct tw_err *err);

/* Fails if rows are of workloads, and an own metric is of none that other metrics know.
 */
int tw_own_metric_check(const struct tw_metric_series *feature, size_t features,
			const struct tw_counters *c, struct tw_err *err);

/* Drop the rows of times at which nobody tells an own metric (NaN), which may be another
 * exporter's; a workload without it has 0. The features are d's first columns. */
int tw_own_metric_settle(const struct tw_metric_series *feature, size_t features,
			 struct tw_dataset *d, struct tw_err *err);

/* Guests that series are of: what each machine label said first. All zero is none. */
#define TW_MACHINE_LABELS_MAX 4

struct tw_machine {
	const char *label[TW_MACHINE_LABELS_MAX];
};

/* Fails if the series is of another machine than those before it; never where m is NULL.
 */
int tw_machine_check(struct tw_machine *m, const struct tw_schema *schema,
		     const struct tw_series *s, struct tw_err *err);

/* Fails if the counter falls inside the series. */
int tw_series_check_resets(const struct tw_series *s, const char *metric,
			   struct tw_err *err);

/* ---- packages (trainer/extract/extract_packages.c) ---- */

#define TW_PACKAGES_MAX 64

/* Those that power is told of, in order; none where they are not told apart. */
struct tw_packages {
	const char *name[TW_PACKAGES_MAX]; /* the response's: compare addresses */
	size_t count;
	struct tw_metric_series use; /* of them by workloads */
};

/*
 * They are told apart where the response has the use of each one that draws power. What
 * is left out instead gets a line in a->warnings.
 */
int tw_packages_find(const struct tw_prom *p, const struct tw_schema *schema,
		     const struct tw_extract_args *a, const enum tw_component *component,
		     size_t components, struct tw_packages *out, struct tw_err *err);

/* Place of the package that a label of the series names; count where it is none. */
size_t tw_packages_place(const struct tw_packages *p, const struct tw_series *s,
			 const char *label);

/* Whether the series is of the wanted kind of machine: of a VM, or of none. */
bool tw_series_is_wanted(const struct tw_series *s, const struct tw_extract_args *a);

/*
 * Add to the rows what they use of all packages, and the share of each in that
 * (trainer/extract/extract_shares.c). Rows at which one of them is not told, or none is
 * used, are dropped.
 */
int tw_shares_add(const struct tw_packages *p, const struct tw_extract_args *a,
		  struct tw_machine *machine, struct tw_dataset *d, struct tw_err *err);

/* First of the times, which are in order, from `from` on that is not before t; times if
 * all are. */
size_t tw_times_find(const int64_t *time_ms, size_t times, size_t from, int64_t t);

/* ---- power ---- */

struct tw_power_column {
	enum tw_component component;
	const char *package; /* NULL: of all */
	double *watts;       /* at the times of the table */
};

/* Watts at the times that all components have; all zero bytes is an empty table. */
struct tw_power {
	size_t times;
	int64_t *time_ms;
	struct tw_power_column *column; /* components as asked for, then their packages */
	size_t columns;
	double *memory;
};

int tw_power_extract(const struct tw_prom *p, const struct tw_schema *schema,
		     const struct tw_extract_args *a, const enum tw_component *component,
		     size_t components, const struct tw_packages *packages,
		     struct tw_power *out, struct tw_err *err);
void tw_power_release(struct tw_power *p);

/* Counters of the features, by workload; what is the feature's place. */
int tw_workloads_find(const struct tw_metric_series *feature, size_t features,
		      const struct tw_extract_args *a, struct tw_machine *machine,
		      struct tw_counters *out, struct tw_err *err);

/* Rates of one workload after another, at the times of power. */
struct tw_rates {
	size_t times;
	const int64_t *time_ms;
	bool *seen; /* times: whether the workload was there */
	size_t *at; /* those that are seen, in no order */
	size_t count;
	bool own_aside; /* a node's own metrics do not say that a workload was there */
	struct tw_track track;
};

int tw_rates_init(struct tw_rates *r, const struct tw_power *power, struct tw_err *err);

/*
 * The workload whose counters begin at *i; *i is the next one's afterwards. Its rate of
 * feature f at time k is added to column[f][row[k]], a NaN there being nothing yet; with
 * no columns (NULL) it is only told when the workload was there.
 */
int tw_rates_next(struct tw_rates *r, const struct tw_counters *c,
		  const struct tw_metric_series *feature, size_t *i,
		  double *const *column, const size_t *row, struct tw_err *err);
void tw_rates_release(struct tw_rates *r);

#endif /* TW_TRAINER_EXTRACT_PARTS_H */
