/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_INDEX_WALK_H
#define TW_MODEL_DB_INDEX_WALK_H

/*
 * A walk through a model database's directories, in order of names:
 * <db>/<pipeline>/<source>/<output>/<group>/<model>.zip.
 *
 * Names with a dot in front, and plain files that are no model's zip, are passed over.
 * Links below the database are refused: its content is what is in it.
 */

#include "lib/field/energy.h"
#include "lib/field/feature.h"
#include "model-db/index/index.h"
#include "model-db/model.h"

struct tw_err;

/* Where a model's zip is; what the directories' names say. Borrowed. */
struct tw_index_place {
	const char *path;
	const char *pipeline;
	const struct tw_energy_source *source;
	enum tw_output output;
	const struct tw_feature_group *group;
	char name[TW_MODEL_NAME_MAX];
};

typedef int tw_index_found_fn(void *arg, const struct tw_index_place *at,
			      struct tw_err *err);

/*
 * found's failure ends the walk. refused is told of a path that is no part of a
 * database; the walk goes on. A database that is not there is an empty one.
 */
int tw_index_walk(const char *db, tw_index_found_fn *found, tw_index_refused_fn *refused,
		  void *arg, struct tw_err *err);

#endif /* TW_MODEL_DB_INDEX_WALK_H */
