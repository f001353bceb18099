/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_IMPORT_MODEL_H
#define TW_MODEL_DB_IMPORT_MODEL_H

/* One model of kepler-model-server's pipeline: its files and their conversion. */

#include "lib/zip/fileset.h"

#include <jansson.h>
#include <stdbool.h>

struct tw_err;
struct tw_model;
struct tw_node_types;
struct tw_strs;

/* Longest "<source>/<output>/<group>/<model>", with its NUL. */
#define TW_IMPORT_PLACE 512

struct tw_import_found {
	char base[TW_IMPORT_PLACE];  /* "<source>/<output>/<group>/<model>" */
	char group[TW_IMPORT_PLACE]; /* base without the model */
	/* Contents of <base>.zip; if there is no zip, the files below <base>/. */
	struct tw_fileset files;
	json_t *metadata; /* NULL: none */
	json_t *weights;  /* NULL: none */
};

/*
 * Append the bases of all models, sorted. A model has <base>.zip, <base>.json,
 * <base>/metadata.json or <base>/weight.json. Releases before 0.6 wrote the weights of
 * SGDRegressorTrainer_1 as <group>/weight.json.
 */
int tw_import_list(const struct tw_fileset *old, struct tw_strs *out, struct tw_err *err);

/*
 * Collect the model's files. If it has weights but no metadata, make metadata from them
 * and the pipeline's table. Fails if the zip is broken. *out must be all zero; it is
 * yours, also after a failure: tw_import_found_release().
 */
int tw_import_look_at(const struct tw_fileset *old, const char *base,
		      struct tw_import_found *out, struct tw_err *err);
void tw_import_found_release(struct tw_import_found *f);

/*
 * Convert the model and check the result. old must be sorted. throughput: the machines
 * are those of SPECpower (docs/model-db.md). Errors name the unsupported or
 * broken part. *out must be all zero; it is yours, also after a failure:
 * tw_model_release().
 */
int tw_import_convert(const struct tw_fileset *old, const struct tw_node_types *types,
		      bool throughput, const struct tw_import_found *f,
		      struct tw_model *out, struct tw_err *err);

#endif /* TW_MODEL_DB_IMPORT_MODEL_H */
