/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SCHEMA_H
#define TW_TRAINER_SCHEMA_H

/*
 * Schemas: how one family of exporters names what we need.
 *
 * A schema maps metric names and labels to canonical features and energy counters with
 * unit factors; extraction sees canonical names only. To add one, write
 * trainer/schema_<name>.c with a `const struct tw_schema`, name it in
 * trainer/extract/schema.c and describe it in docs/pipelines.md.
 */

#include "lib/field/energy.h"

#include <stdbool.h>
#include <stddef.h>

enum tw_metric_kind {
	TW_METRIC_FEATURE, /* a counter of a workload; its rate is a feature */
	TW_METRIC_LEVEL,   /* a gauge of the node; the mean of its series is a feature */
	TW_METRIC_ENERGY,  /* a counter of the node's energy */
	TW_METRIC_POWER,   /* a gauge of the node's power */
	TW_METRIC_PACKAGE_USE, /* a gauge: what a workload uses of a package */
};

struct tw_schema_metric {
	const char *name; /* "kepler_container_cpu_cycles_total" */
	enum tw_metric_kind kind;
	const char *feature;         /* canonical; FEATURE and LEVEL */
	enum tw_component component; /* ENERGY and POWER */
	double factor; /* of a counter to the feature's unit times s, or joules; of a
			  gauge to the feature's unit, or watts */
	const char *label, *value; /* only series whose label says this; NULL: all */
	bool within;               /* or has it in its text */
	const char *source;        /* ENERGY and POWER; NULL: source_label says it */
};

/* What the source label says, and who that is. */
struct tw_schema_source {
	const char *label, *source;
};

/* Lists of names are ended by NULL. */
struct tw_schema {
	const char *name; /* "kepler-legacy" */
	const char *summary;
	/* Where several name the same thing, the first that a response has is taken. */
	const struct tw_schema_metric *metrics;
	size_t metric_count;
	/* What the machine has not is not there: only the first component of a source
	 * must be. Else all must. */
	bool some_components;
	/* Features that these exporters do not tell, or only if they are asked to: a
	 * group goes without them where they are missing. Or NULL. */
	const char *const *untold;
	const char *source_label; /* or NULL */
	/* Which package an energy counter is of, and which a PACKAGE_USE. Or NULL. */
	const char *package_label, *package_use_label;
	const struct tw_schema_source *sources;
	size_t source_count;
	const char *const *id_labels;      /* a workload's, joined by '/' */
	const char *const *unit_labels;    /* tell energy counters of a source apart */
	const char *const *machine_labels; /* the most telling first */
	const char *const *other_labels;   /* kept, too: they tell series apart */
};

size_t tw_schema_count(void);
const struct tw_schema *tw_schema_at(size_t i);

/* Whether any schema knows the metric. name needs no NUL. */
bool tw_schema_has_metric(const char *name, size_t len);

/* Whether any schema looks at the label, and so its text is kept. */
bool tw_schema_has_label(const char *name, size_t len);

/* Canonical name of the source that a label's text says: itself where nothing is known.
 */
const char *tw_schema_source(const struct tw_schema *s, const char *label);

/* The first schema that knows the metric, or NULL. */
const struct tw_schema *tw_schema_of_metric(const char *name);

/* Labels that say of which machine a metric's series are: those of its schema, else of
 * the first. */
const char *const *tw_schema_machine_labels(const char *metric);

extern const struct tw_schema tw_schema_kepler;
extern const struct tw_schema tw_schema_kepler_legacy;
extern const struct tw_schema tw_schema_node_exporter;
extern const struct tw_schema tw_schema_tallywatt;

#endif /* TW_TRAINER_SCHEMA_H */
