/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_THIRDPARTY_H
#define TW_TRAINER_THIRDPARTY_H

/*
 * Metrics that the user names (--thirdparty-metrics): features besides those of a feature
 * group, by the metrics' own names. docs/pipelines.md, "Third-party metrics", tells what
 * becomes of their series.
 */

#include "lib/core/strs.h"
#include "lib/field/feature.h"

struct tw_err;

/* Names, at most. */
#define TW_THIRDPARTY_MAX 32

/* All zero bytes: none are named. */
struct tw_thirdparty {
	struct tw_strs names; /* sorted, each once */
	struct tw_feature_group
		*group;       /* all there are, in their order, with the names */
	const char **feature; /* of the groups, one behind the other */
};

/*
 * *t must be all zero; it is yours: tw_thirdparty_release(). A name that no metric may
 * have, or that means something else in tables, is TW_INVALID.
 */
int tw_thirdparty_init(struct tw_thirdparty *t, const struct tw_strs *names,
		       struct tw_err *err);

/* The group with the names; itself if there are none, or t is NULL. Lives as long as t.
 */
const struct tw_feature_group *tw_thirdparty_group(const struct tw_thirdparty *t,
						   const struct tw_feature_group *base);

void tw_thirdparty_release(struct tw_thirdparty *t);

#endif /* TW_TRAINER_THIRDPARTY_H */
