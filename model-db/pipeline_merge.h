/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_PIPELINE_MERGE_H
#define TW_MODEL_DB_PIPELINE_MERGE_H

/*
 * A pipeline that a training adds to: what it made goes before what was there, file by
 * file of a model, and what it did not make stays as it was, byte for byte.
 */

#include <stddef.h>

struct tw_err;
struct tw_fileset;
struct tw_model;

/*
 * fresh becomes the whole: its models, those of old that it has not, and what is about
 * all of them made anew. Trainers and machines of metadata.json are those of both,
 * train_arguments.json is fresh's, and so is what
 * both tell in profile.json. TW_INVALID where a node type is not that machine's any
 * more, or where old has a model that cannot be read. What is left of old is its caller's
 * to clear; after a failure fresh is of no use.
 */
int tw_pipeline_merge(struct tw_fileset *fresh, struct tw_fileset *old,
		      struct tw_err *err);

struct tw_pipeline_models {
	struct tw_model *at; /* in order of the files */
	size_t count;
};

/* All models of the set, from their zips. *out must be empty; it is yours. */
int tw_pipeline_read_models(const struct tw_fileset *pipeline,
			    struct tw_pipeline_models *out, struct tw_err *err);

void tw_pipeline_models_release(struct tw_pipeline_models *m);

#endif /* TW_MODEL_DB_PIPELINE_MERGE_H */
