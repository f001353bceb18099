/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SCHEMA_H
#define TW_TRAINER_SCHEMA_H

/*
 * Schemas: how each family of exporters names the metrics that training needs.
 *
 * A schema maps metrics and labels to canonical features and energy components, with the
 * factor of their unit. The rest of extraction uses canonical names only. To add a
 * schema, write its tables in trainer/response/schema.c and describe it in
 * docs/pipelines.md.
 */

#include "lib/field/energy.h"

#include <regex.h>
#include <stdbool.h>

struct tw_err;
struct tw_strs;

enum tw_metric_kind {
	TW_METRIC_FEATURE, /* counter of a workload; its rate is a feature */
	TW_METRIC_LEVEL,   /* gauge of the node; the mean of its series is a feature */
	TW_METRIC_ENERGY,  /* counter of the node's energy */
	TW_METRIC_POWER,   /* gauge of the node's power */
	TW_METRIC_PACKAGE_USE, /* gauge of a workload's usage of a package */
	TW_METRIC_TICK,  /* gauge: time of the exporter's counters, s since any instant */
	TW_METRIC_START, /* gauge: when a workload started, s since 1970 */
	TW_METRIC_SPEC,  /* 1; the labels describe the machine (train_machines.h) */
};

/* The metric of kind TW_METRIC_START, of any schema. Programs export it of themselves,
 * too: only series with a label of a workload are kept. */
#define TW_SCHEMA_STARTS "process_start_time_seconds"

struct tw_schema_metric {
	const char *name; /* "kepler_container_cpu_cycles_total" */
	enum tw_metric_kind kind;
	const char *feature;         /* canonical name; FEATURE and LEVEL */
	enum tw_component component; /* ENERGY and POWER */
	/* From the metric's unit to the canonical unit: of a feature (times seconds for a
	 * counter), joules, or watts. */
	double factor;
	bool falls;    /* the counter may fall: no reset */
	bool averaged; /* LEVEL: the mean over a row, not a value at its end */
	const char *label, *value; /* use only series with this label; NULL: all */
	bool within;               /* the label's text contains value; else it is equal */
	bool entries; /* of Redfish: a PowerControl that names a part of the machine does
			 not count, supplies do */
	const char *source; /* ENERGY and POWER: energy source; NULL: source_label
			       names it */
};

/* An exporter's name of an energy source, and ours. */
struct tw_schema_source {
	const char *label, *source;
};

/* Lists of names end with NULL. */
struct tw_schema {
	const char *name; /* "kepler-legacy" */
	const char *summary;
	/* If several map to the same thing, the first that a response has counts. */
	const struct tw_schema_metric *metrics;
	size_t metric_count;
	/* Machines may lack components: a response needs the source's first component
	 * only, not all. */
	bool some_components;
	/* Features that these exporters lack or export on request only. A group is
	 * extracted without those that a response lacks. Or NULL. */
	const char *const *optional;
	/* Features of one probe: these exporters omit a counter that is 0, so an absent
	 * one is 0 where another is present. Or NULL. */
	const char *const *together;
	const char *source_label; /* or NULL */
	/* Labels of the package: of an energy counter, of a PACKAGE_USE. Or NULL. */
	const char *package_label, *package_use_label;
	const struct tw_schema_source *sources;
	size_t source_count;
	const char *const *id_labels;   /* a workload's id: their texts, joined by '/' */
	const char *const *unit_labels; /* distinguish energy counters of a source */
	const char *const
		*machine_labels;         /* the first that a series has is its machine */
	const char *const *other_labels; /* distinguish series; stored, too */
};

size_t tw_schema_count(void);
const struct tw_schema *tw_schema_at(size_t i);

/* Whether a schema has the metric. name needs no NUL. */
bool tw_schema_has_metric(const char *name, size_t len);

/* Whether a schema uses the label, so that its texts are stored. */
bool tw_schema_has_label(const char *name, size_t len);

/* Whether the label tells who scraped a series, or which machine, not what it counts. */
bool tw_schema_is_scrape_label(const char *name);

/* Canonical name of the energy source that a label's text means; else the text itself. */
const char *tw_schema_source(const struct tw_schema *s, const char *label);

/* The first schema that has the metric, or NULL. */
const struct tw_schema *tw_schema_of_metric(const char *name);

/* Labels that may name the machine of a metric's series: its schema's, else the first
 * schema's. */
const char *const *tw_schema_machine_labels(const char *metric);

/* ---- choice of metrics ---- */

/*
 * Choice of the metrics to record or query: the schemas' metrics, or those whose whole
 * name matches a regular expression; and additional names.
 */

/* All zero bytes: the schemas' metrics. */
struct tw_metric_choice {
	bool by_pattern;
	regex_t pattern;
	const struct tw_strs *more;
};

/* pattern: POSIX extended, or NULL. more: additional names, borrowed, or NULL. */
int tw_metric_choice_open(struct tw_metric_choice *c, const char *pattern,
			  const struct tw_strs *more, struct tw_err *err);
void tw_metric_choice_release(struct tw_metric_choice *c);

/* Whether the metric is chosen. name needs no NUL. */
bool tw_metric_choice_has(const struct tw_metric_choice *c, const char *name, size_t len);

#endif /* TW_TRAINER_SCHEMA_H */
