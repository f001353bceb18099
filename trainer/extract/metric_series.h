/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_METRIC_SERIES_H
#define TW_TRAINER_METRIC_SERIES_H

/*
 * The series of a response that a schema maps to one feature or one energy component; and
 * which schema fits a response.
 */

#include "lib/field/energy.h"
#include "lib/field/feature.h"
#include "trainer/response/prom_store.h"
#include "trainer/response/schema.h"

#include <stdbool.h>

struct tw_buf;
struct tw_err;
struct tw_quality;

enum tw_row_level {
	TW_ROWS_NODE,      /* one row a time stamp; features summed over containers */
	TW_ROWS_CONTAINER, /* one row a time stamp and container */
	TW_ROWS_FINEST,    /* CONTAINER where the group has containers, else NODE */
};

/* How to treat the step of a restart, in which counters fall. */
enum tw_resets {
	TW_RESETS_DROP,   /* it has no row */
	TW_RESETS_CARRY,  /* repeat the previous rate for that step (0 at the start) */
	TW_RESETS_REFUSE, /* as DROP; work that falls within a series is an error */
};

/* Which program's arithmetic to reproduce. */
enum tw_compat {
	TW_COMPAT_NONE, /* divide each difference by its own step */
	TW_COMPAT_KMS,  /* kepler-model-server: divide energy by the mean step; carry
			   resets */
};

/* Later than from_ms, up to to_ms. */
struct tw_time_span {
	int64_t from_ms, to_ms;
};

/* The arguments of an extraction, which each of its stages reads. Borrowed for the call.
 */
struct tw_extract_args {
	const struct tw_energy_source *source;
	const struct tw_feature_group *group;
	enum tw_row_level level;
	enum tw_resets resets;
	enum tw_compat compat;
	bool vm_metrics; /* use only series of VMs (job="vm"), which are skipped else */
	/* Add power columns of each package and the packages' shares, if the response has
	 * the usage of each package. */
	bool packages;
	/* Shift power by its lag behind the features (trainer/extract/lag.h). Not with
	 * compat. */
	bool correct_lag;
	struct tw_buf *warnings;    /* gets a line for each part left out; or NULL */
	struct tw_quality *quality; /* gets the quality of the recording: all zero bytes,
				       and yours after a success; or NULL */
	double tdp_w;               /* of the machine's processors; 0: not known */
	bool apart;                 /* the response is known to be of one machine */
	/* In order of time. All rows are cleaned together; then those that end outside
	 * of these spans are dropped. NULL: all rows stay. Not with compat. */
	const struct tw_time_span *span;
	size_t spans;
	const char *machine; /* the machine to extract (trainer/response/machines.h);
				NULL: the response must be of one */
};

/* Series of one metric, of one energy source. Borrowed from the response. */
struct tw_metric_series {
	const struct tw_schema *schema;
	const struct tw_schema_metric *metric; /* NULL: the response has no series */
	const struct tw_energy_source *source; /* NULL for a feature */
	const struct tw_series *series;        /* all series of the metric's name */
	size_t count;
	bool absent;     /* no series, which means 0 (tw_schema.together) */
	bool thirdparty; /* the feature has the metric's name */
	bool of_node;    /* a gauge of the node, or thirdparty and at least one series has
			    no container_id */
};

/* The next series from *i on that is of the metric and the source; NULL at the end.
 * Advances *i. */
const struct tw_series *tw_metric_series_next(const struct tw_metric_series *m,
					      size_t *i);

/* The first of the schema's metrics for a component's energy or power that the response
 * has series of. */
struct tw_metric_series tw_energy_series(const struct tw_prom *p,
					 const struct tw_schema *schema,
					 enum tw_component c,
					 const struct tw_energy_source *source);

/* Limit of features of a group. */
#define TW_EXTRACT_FEATURES_MAX 64

/*
 * The input of an extraction: the series of the wanted features and of the source's
 * components that the response has, in the order of group and source. Borrowed.
 */
struct tw_extract_input {
	const struct tw_prom *prom; /* of one machine */
	const struct tw_extract_args *args;
	const struct tw_schema *schema; /* of the exporter */
	struct tw_metric_series feature[TW_EXTRACT_FEATURES_MAX];
	size_t features;
	struct tw_metric_series power[TW_COMPONENT_COUNT];
	size_t components;
};

/*
 * Find the input by the schema with most of the wanted metrics in the response. Of equal
 * ones the schema that names most of the wanted features and components counts, then the
 * first. TW_NOTFOUND if the response lacks a needed metric; the text lists all that it
 * lacks.
 */
int tw_extract_input_find(const struct tw_prom *p, const struct tw_extract_args *a,
			  struct tw_extract_input *out, struct tw_err *err);

/* The group's features that the response has, in the group's order. out has room for
 * group->count. Returns their number. */
size_t tw_extract_features(const struct tw_prom *p, const struct tw_schema *schema,
			   const struct tw_feature_group *group,
			   struct tw_metric_series *out);

/* Whether rows of the group are of the node: by its definition, or because one of its
 * features is a gauge of the node, or a third-party metric of the node in this response.
 */
bool tw_extract_of_node(const struct tw_prom *p, const struct tw_feature_group *g);

/* Whether the response has the group's features, the source's power, or both from one
 * exporter (one schema). */
bool tw_extract_has_group(const struct tw_prom *p, const struct tw_feature_group *g);
bool tw_extract_has_source(const struct tw_prom *p, const struct tw_energy_source *s);
bool tw_extract_has_both(const struct tw_prom *p, const struct tw_feature_group *g,
			 const struct tw_energy_source *s);

/* A source of the response that does not measure, or NULL. */
const struct tw_energy_source *tw_extract_unmeasured(const struct tw_prom *p);

/* Add the first sources, known or not, that the response has energy or power of: "'a',
 * 'b'". */
void tw_extract_add_sources(const struct tw_prom *p, struct tw_buf *out);

#define TW_EXTRACT_SOURCES "; sources of energy in the data: %s (see --source)"

/* Why such a source is not trained on; its name twice. */
#define TW_EXTRACT_UNMEASURED                                                          \
	"the energy of source '%s' is estimated, simulated or passed on; to train on " \
	"it, "                                                                         \
	"pass --source %s"

/*
 * The path of a zone of the source (NULL: of any) that is neither below sysfs nor a
 * device, or NULL. It is of a powercap tree that a program wrote, whose power may be an
 * estimate. Only of metrics without a label of the source, such as Kepler's.
 */
const char *tw_extract_virtual_path(const struct tw_prom *p,
				    const struct tw_energy_source *source);

/* Whether to use the series: with a->vm_metrics a VM's, else a host's. */
bool tw_series_is_wanted(const struct tw_series *s, const struct tw_extract_args *a);

#endif /* TW_TRAINER_METRIC_SERIES_H */
