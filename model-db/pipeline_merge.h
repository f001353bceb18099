/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_PIPELINE_MERGE_H
#define TW_MODEL_DB_PIPELINE_MERGE_H

/*
 * Merges a new training into an older version of its pipeline. A model of the new
 * training replaces the older one with all its files. Other models stay, byte for byte.
 */

#include <stddef.h>

struct tw_err;
struct tw_fileset;
struct tw_model;

/*
 * Make fresh the merged pipeline: its own models, the models that only old has, and
 * common files made anew. metadata.json gets the trainers and machines of both;
 * train_arguments.json is fresh's; profile.json prefers fresh. TW_INVALID if a node type
 * number means different machines in the two, or a model of old does not load. Moves
 * files out of old. After a failure fresh is of no use.
 */
int tw_pipeline_merge(struct tw_fileset *fresh, struct tw_fileset *old,
		      struct tw_err *err);

struct tw_pipeline_models {
	struct tw_model *at; /* in order of the files */
	size_t count;
};

/* Read all models of the set from their zips. *out must be empty; it is yours. */
int tw_pipeline_read_models(const struct tw_fileset *pipeline,
			    struct tw_pipeline_models *out, struct tw_err *err);

void tw_pipeline_models_release(struct tw_pipeline_models *m);

#endif /* TW_MODEL_DB_PIPELINE_MERGE_H */
