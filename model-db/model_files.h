/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_MODEL_FILES_H
#define TW_MODEL_DB_MODEL_FILES_H

/*
 * The files of a model (docs/model-format.md): metadata.json, details.json, <name>.json,
 * one file a component, and weight.json. All are JSON; nothing in them is executed. They
 * are untrusted input.
 */

#include "model-db/model.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_fileset;

/*
 * Read a model from its files (a directory, or an unpacked zip) and check it. *out must
 * be all zero; it is yours: tw_model_release(). Errors name the file and the key.
 */
int tw_model_from_files(const struct tw_fileset *files, struct tw_model *out,
			struct tw_err *err);

/* The same from a zip of its files. */
int tw_model_from_zip(const char *data, size_t len, struct tw_model *out,
		      struct tw_err *err);

/*
 * Whether the metadata has objects beside machine_spec, which go to details.json: that
 * file keeps them from kepler-model-server's estimator, which rejects them.
 */
bool tw_model_has_details(const struct tw_model_info *i);

/*
 * Read one file of a model, at most max bytes; *data is the caller's and NUL-terminated.
 * TW_NOTFOUND if there is no such file.
 */
typedef int tw_model_file_fn(void *arg, const char *name, size_t max, char **data,
			     size_t *len, struct tw_err *err);

/* Whether tw_model_glance() reads the components of the model. */
typedef bool tw_model_wants_parts_fn(const struct tw_model_info *i);

/*
 * Read the metadata, and the components only where wants is true, without their error
 * texts and without details.json: an index reads thousands of models. info is checked,
 * the components' texts are not. *out must be all zero; it is yours.
 */
int tw_model_glance(tw_model_file_fn *file, void *arg, tw_model_wants_parts_fn *wants,
		    struct tw_model *out, struct tw_err *err);

/*
 * Write the model's files, sorted by name; weight.json only if the model has plain
 * weights. The fields of info give the keys of metadata.json that docs/model-format.md
 * lists, info.metadata the others. The same model gives the same bytes.
 */
int tw_model_to_files(const struct tw_model *m, struct tw_fileset *out,
		      struct tw_err *err);

#endif /* TW_MODEL_DB_MODEL_FILES_H */
