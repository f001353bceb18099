/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_IMPORT_FIND_H
#define TW_MODEL_DB_IMPORT_FIND_H

/*
 * Finds pipelines of kepler-model-server in a set of files or below a directory. A place
 * is a path with <source>/<output>/<group>/<file> below it: "" (the set or directory
 * itself), "ec2-0.7.11", "v0.6/nx12/std_v0.6".
 */

#include <stdbool.h>

struct tw_energy_source;
struct tw_err;
struct tw_fileset;
struct tw_strs;

/* Limits for a search below a directory. */
#define TW_IMPORT_DEPTH_MAX 8
#define TW_IMPORT_DIRS_MAX 20000

/* Find a source by its name in any release; NULL if there is none. */
const struct tw_energy_source *tw_import_source(const char *name);

/* Append the places in the set, sorted, each once. */
int tw_import_places(const struct tw_fileset *s, struct tw_strs *out, struct tw_err *err);

/* Append the places below a directory, sorted. Ignores symbolic links. */
int tw_import_places_in(const char *dir, struct tw_strs *out, struct tw_err *err);

/* Move the files below a place of `from`, which must be sorted, to an empty set. */
int tw_import_move(struct tw_fileset *from, const char *place, struct tw_fileset *out,
		   struct tw_err *err);

/* Replace the set by the files below its one place. TW_INVALID for none or several. */
int tw_import_enter(struct tw_fileset *s, struct tw_err *err);

/*
 * Append a pipeline name for each place, in their order: the last component of the path;
 * more components, joined by '-', until it is unique. "" is named `self`.
 */
int tw_import_names(const struct tw_strs *places, const char *self, struct tw_strs *out,
		    struct tw_err *err);

/* Whether kepler-model-server made it: no manifest, no creator in metadata.json. */
bool tw_import_is_old(struct tw_fileset *s);

#endif /* TW_MODEL_DB_IMPORT_FIND_H */
