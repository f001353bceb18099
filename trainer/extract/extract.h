/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_EXTRACT_H
#define TW_TRAINER_EXTRACT_H

/*
 * Extraction: a Prometheus response becomes a dataset of rates and watts.
 * docs/pipelines.md tells each step.
 */

#include "lib/field/dataset.h"
#include "lib/field/energy.h"
#include "lib/field/feature.h"

struct tw_buf;
struct tw_err;
struct tw_prom;

enum tw_level {
	TW_LEVEL_NODE,      /* features summed over containers */
	TW_LEVEL_CONTAINER, /* one row a time stamp and container */
	TW_LEVEL_FINEST,    /* of containers, if the group has any */
};

/* What to do where a counter falls inside a series. */
enum tw_resets {
	TW_RESETS_REFUSE, /* fail, naming series and time */
	TW_RESETS_CARRY,  /* the rate before it goes on for that step (else 0) */
};

/* By enum tw_resets, for options; ended by NULL. */
extern const char *const tw_resets_names[];

/* Whose arithmetic. */
enum tw_compat {
	TW_COMPAT_NONE, /* each difference is divided by its own step */
	TW_COMPAT_KMS,  /* kepler-model-server's: power by the mean step; resets are
			   carried */
};

struct tw_extract_args {
	const struct tw_energy_source *source;
	const struct tw_feature_group *group;
	enum tw_level level;
	enum tw_resets resets;
	enum tw_compat compat;
	bool vm_metrics; /* take the series with job="vm" instead of leaving them out */
	/* Columns of each package, too, where the response has their use. */
	bool packages;
	struct tw_buf *warnings; /* a line for what of this is left out; or NULL */
	bool apart;              /* the response is known to be of one machine */
	const char *
		machine; /* of several (trainer/extract/machines.h); NULL: there is one */
};

/*
 * *out must be empty; it is yours. Fails with TW_NOTFOUND if a metric of the group or of
 * the source is missing, TW_INVALID if no row is left; the text names the metric or
 * says which time ranges do not meet. A counter reset, series of several machines where
 * none is named, and containers of a group that is of a node are TW_INVALID too.
 */
int tw_extract(const struct tw_prom *p, const struct tw_extract_args *a,
	       struct tw_dataset *out, struct tw_err *err);

/* Whether the response has the group's features, the source's power, and both by one
 * exporter (schema). */
bool tw_extract_has_group(const struct tw_prom *p, const struct tw_feature_group *g);
bool tw_extract_has_source(const struct tw_prom *p, const struct tw_energy_source *s);
bool tw_extract_has_both(const struct tw_prom *p, const struct tw_feature_group *g,
			 const struct tw_energy_source *s);

#endif /* TW_TRAINER_EXTRACT_H */
