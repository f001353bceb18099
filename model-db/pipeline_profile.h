/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_PIPELINE_PROFILE_H
#define TW_MODEL_DB_PIPELINE_PROFILE_H

/* profile.json of a pipeline: its machines at rest (profiler/profile.h). */

struct tw_err;
struct tw_fileset;
struct tw_profile;

#define TW_PIPELINE_PROFILE "profile.json"

/* Write it, in the place of one that is there. */
int tw_pipeline_set_profile(struct tw_fileset *pipeline, const struct tw_profile *p,
			    struct tw_err *err);

/* Add what old has and fresh lacks; nothing happens where old has none. */
int tw_pipeline_join_profile(struct tw_fileset *fresh, const struct tw_fileset *old,
			     struct tw_err *err);

#endif /* TW_MODEL_DB_PIPELINE_PROFILE_H */
