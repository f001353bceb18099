/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_IMPORT_MODEL_H
#define TW_MODEL_DB_IMPORT_MODEL_H

/*
 * One model of a pipeline of kepler-model-server, as it is found and as it becomes ours.
 * For model-db/import*.c only.
 */

#include "lib/zip/fileset.h"

#include <jansson.h>

struct tw_err;
struct tw_model;
struct tw_node_types;
struct tw_strs;

/* Longest "<source>/<output>/<group>/<model>", with its NUL. */
#define TW_IMPORT_PLACE 512

struct tw_import_found {
	char base[TW_IMPORT_PLACE];  /* "<source>/<output>/<group>/<model>" */
	char group[TW_IMPORT_PLACE]; /* without the model */
	/* Of the zip <base>.zip, or where there is none, what is below <base>/. */
	struct tw_fileset files;
	json_t *metadata; /* NULL: none */
	json_t *weights;  /* NULL: none */
};

/*
 * Append where models are, sorted: where there is <base>.zip, <base>.json, or
 * <base>/metadata.json or weight.json; and <group>/weight.json is SGDRegressorTrainer_1
 * of a group that has no other of that trainer, as releases before 0.6 have it.
 */
int tw_import_list(const struct tw_fileset *old, struct tw_strs *out, struct tw_err *err);

/*
 * What there is of the model. A model of which there are weights alone gets a metadata of
 * what these and the pipeline's table tell. Fails where the zip is broken. *out must be
 * all zero; it is yours, on failure too: tw_import_found_release().
 */
int tw_import_look_at(const struct tw_fileset *old, const char *base,
		      struct tw_import_found *out, struct tw_err *err);
void tw_import_found_release(struct tw_import_found *f);

/*
 * The model in our form, checked. old is sorted. TW_UNSUPPORTED and others say what
 * cannot be taken. *out must be all zero; it is yours, on failure too:
 * tw_model_release().
 */
int tw_import_convert(const struct tw_fileset *old, const struct tw_node_types *types,
		      const struct tw_import_found *f, struct tw_model *out,
		      struct tw_err *err);

/*
 * Put the numbers that the pipeline's <source>_<output>_model_metadata.csv has of the
 * model ("mae", "package_mae", ..) into metadata. No table or no row is fine, and a table
 * that is malformed counts as none.
 */
int tw_import_figures(const struct tw_fileset *old, const char *base, json_t *metadata,
		      struct tw_err *err);

#endif /* TW_MODEL_DB_IMPORT_MODEL_H */
