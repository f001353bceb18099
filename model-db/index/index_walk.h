/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_INDEX_WALK_H
#define TW_MODEL_DB_INDEX_WALK_H

/*
 * A walk through a model database's directories, in order of names:
 * <db>/<pipeline>/<source>/<output>/<group>/<model>.zip.
 *
 * The walk ignores names that start with a dot, and files other than zips. It refuses
 * symbolic links below the database.
 */

#include "lib/field/energy.h"
#include "lib/field/feature.h"
#include "model-db/model.h"

struct tw_err;

/* A model's zip and the names of the directories above it. Borrowed. */
struct tw_index_place {
	const char *path;
	const char *pipeline;
	const struct tw_energy_source *source;
	enum tw_output output;
	const struct tw_feature_group *group;
	char name[TW_MODEL_NAME_MAX];
};

/* Called with a path that does not belong into a database, or a model that is broken. */
typedef void tw_index_refused_fn(void *arg, const char *path, const struct tw_err *why);

/* Called with each pipeline's directory. -1, and why: refuse the pipeline. */
typedef int tw_index_enter_fn(void *arg, const char *path, const char *name,
			      struct tw_err *why);

typedef int tw_index_found_fn(void *arg, const struct tw_index_place *at,
			      struct tw_err *err);

/*
 * Call enter (may be NULL) for each pipeline and found for each model; a failure of found
 * ends the walk. A refused path does not end the
 * walk. An absent database is an empty one.
 */
int tw_index_walk(const char *db, tw_index_enter_fn *enter, tw_index_found_fn *found,
		  tw_index_refused_fn *refused, void *arg, struct tw_err *err);

#endif /* TW_MODEL_DB_INDEX_WALK_H */
