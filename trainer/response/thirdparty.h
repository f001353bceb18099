/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_THIRDPARTY_H
#define TW_TRAINER_THIRDPARTY_H

/*
 * Third-party metrics (--thirdparty-metrics): additional features of all feature groups,
 * named like the metrics. docs/pipelines.md, "Third-party metrics", describes how their
 * series are used.
 */

#include "lib/core/strs.h"
#include "lib/field/feature.h"

struct tw_err;

/* Limit of names. */
#define TW_THIRDPARTY_MAX 32

/* All zero bytes: no third-party metrics. */
struct tw_thirdparty {
	struct tw_strs names;           /* sorted, without duplicates */
	struct tw_strs gauges;          /* those of the names that are declared gauges */
	struct tw_feature_group *group; /* all feature groups with the names added */
	const char **feature;           /* the groups' lists, concatenated */
};

/*
 * *t must be all zero; the caller releases it. TW_INVALID for a name that is not valid in
 * Prometheus or is used for another column of a dataset.
 */
int tw_thirdparty_init(struct tw_thirdparty *t, const struct tw_strs *names,
		       struct tw_err *err);

/* Declare names gauges. TW_INVALID for a name that t does not have. */
int tw_thirdparty_declare(struct tw_thirdparty *t, const struct tw_strs *gauges,
			  struct tw_err *err);

/* The group with the names added; base itself without names, or if t is NULL. Lives as
 * long as t. */
const struct tw_feature_group *tw_thirdparty_group(const struct tw_thirdparty *t,
						   const struct tw_feature_group *base);

void tw_thirdparty_release(struct tw_thirdparty *t);

#endif /* TW_TRAINER_THIRDPARTY_H */
