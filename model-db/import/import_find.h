/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_IMPORT_FIND_H
#define TW_MODEL_DB_IMPORT_FIND_H

/*
 * Where pipelines of kepler-model-server are: in a set of files, or below a directory. A
 * place is what has <source>/<output>/<group>/<file> below it: "" (the set or directory
 * itself), "ec2-0.7.11", "v0.6/nx12/std_v0.6".
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_energy_source;
struct tw_err;
struct tw_fileset;
struct tw_strs;

/* Beyond these a directory is not looked at as a database. */
#define TW_IMPORT_DEPTH_MAX 8
#define TW_IMPORT_DIRS_MAX 20000

/* A source by its name of any release; NULL if there is none. */
const struct tw_energy_source *tw_import_source(const char *name);

/* Append the places in the set, sorted, each once. */
int tw_import_places(const struct tw_fileset *s, struct tw_strs *out, struct tw_err *err);

/* Append the places below a directory, sorted. Links are passed over. */
int tw_import_places_in(const char *dir, struct tw_strs *out, struct tw_err *err);

/* Move what is below a place of `from`, which must be sorted, into an empty set. */
int tw_import_move(struct tw_fileset *from, const char *place, struct tw_fileset *out,
		   struct tw_err *err);

/*
 * The set becomes that of its one place; TW_INVALID where it has none, or several.
 */
int tw_import_enter(struct tw_fileset *s, struct tw_err *err);

/*
 * The names of the pipelines of these places: the last part, and where that is not the
 * only one, more of the parts, joined by '-'. "" is named `self`. Appended in their
 * order.
 */
int tw_import_names(const struct tw_strs *places, const char *self, struct tw_strs *out,
		    struct tw_err *err);

/* Whether it is not one of ours: no manifest, and no creator in its metadata.json. */
bool tw_import_is_old(struct tw_fileset *s);

#endif /* TW_MODEL_DB_IMPORT_FIND_H */
