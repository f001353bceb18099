/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_EXTRACT_PARTS_H
#define TW_TRAINER_EXTRACT_PARTS_H

/*
 * The two halves of an extraction, power and rates; a part of trainer/extract.c.
 */

#include "trainer/counters.h"
#include "trainer/extract.h"
#include "trainer/prom.h"
#include "trainer/schema.h"

/* Series of one metric, and the metric as its schema knows it. */
struct tw_metric_series {
	const struct tw_schema_metric *metric; /* NULL: the response has none */
	const struct tw_series *series;
	size_t count;
};

/* The first metric of the schema that the response has series of, for a feature. */
struct tw_metric_series tw_feature_series(const struct tw_prom *p,
					  const struct tw_schema *schema,
					  const char *feature);

/* The same for a component's energy, whatever the source. */
struct tw_metric_series tw_energy_series(const struct tw_prom *p,
					 const struct tw_schema *schema,
					 enum tw_component c);

/* Whether an energy series is of the source. */
bool tw_series_has_source(const struct tw_series *s, const struct tw_schema *schema,
			  const struct tw_energy_source *source);

/* Machines that series are of: what each machine label said first. All zero is none. */
#define TW_MACHINE_LABELS_MAX 4

struct tw_machine {
	const char *label[TW_MACHINE_LABELS_MAX];
};

/* Fails if the series is of another machine than those before it. */
int tw_machine_check(struct tw_machine *m, const struct tw_schema *schema,
		     const struct tw_series *s, struct tw_err *err);

/* Fails if the counter falls inside the series. */
int tw_series_check_resets(const struct tw_series *s, const char *metric,
			   struct tw_err *err);

/* Watts at the times that all components have; all zero bytes is an empty table. */
struct tw_power {
	size_t times;
	int64_t *time_ms;
	double *watts[TW_COMPONENT_COUNT]; /* in the source's order */
	double *memory;
};

int tw_power_extract(const struct tw_prom *p, const struct tw_schema *schema,
		     const struct tw_extract_args *a, struct tw_machine *machine,
		     struct tw_power *out, struct tw_err *err);
void tw_power_release(struct tw_power *p);

/* Counters of the group's features, by workload; what is the feature's place. */
int tw_workloads_find(const struct tw_prom *p, const struct tw_schema *schema,
		      const struct tw_extract_args *a, struct tw_machine *machine,
		      struct tw_counters *out, struct tw_err *err);

/* Rates of one workload at the times of power. */
struct tw_rates {
	size_t times, features;
	const int64_t *time_ms;
	double *rate; /* features * times, feature by feature */
	bool *seen;   /* times: whether the workload was there */
	size_t *at;   /* those that are seen, in no order */
	size_t count;
	struct tw_track track;
};

int tw_rates_init(struct tw_rates *r, const struct tw_power *power, size_t features,
		  struct tw_err *err);

/*
 * The workload whose counters begin at *i; *i is the next one's afterwards. factor[] is
 * of the features, to their unit.
 */
int tw_rates_next(struct tw_rates *r, const struct tw_counters *c, const double *factor,
		  size_t *i, struct tw_err *err);
void tw_rates_release(struct tw_rates *r);

#endif /* TW_TRAINER_EXTRACT_PARTS_H */
