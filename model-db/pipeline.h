/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_PIPELINE_H
#define TW_MODEL_DB_PIPELINE_H

/*
 * A pipeline: the models of one training and their common metadata, as a set of files in
 * the layout of docs/wire.md, "Pipeline layout". It is published as a directory of the
 * model database (model-db/publish.h) or sent as a zip.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_fileset;
struct tw_model;
struct tw_node_types;
struct tw_profile;

/* Suffix of the file of a model's validation rows (model-db/validation.h). */
#define TW_PIPELINE_VALIDATION ".validation.csv"

/* The directory of a published pipeline's error reports; it is not an energy source. */
#define TW_PIPELINE_REPORTS "error_report"

/* The idle power of the pipeline's machines (profiler/profile.h). */
#define TW_PIPELINE_PROFILE "profile.json"

/* The directory for files of other programs, which are only downloaded. */
#define TW_PIPELINE_FOREIGN "foreign"

/* The directory of a database's prior of machines (prior/prior_file.h). */
#define TW_PIPELINE_PRIOR "machines"

/* Check the name of a pipeline to publish: tw_name_check(), not
 * TW_PIPELINE_PRIOR, and no ending of a file or route (".zip"). */
int tw_pipeline_name_check(const char *name, size_t len, struct tw_err *err);

/*
 * Add a model: <source>/<output>/<group>/<name>.zip, its weights as <name>.json, and its
 * files in <name>/.
 */
int tw_pipeline_add_model(struct tw_fileset *pipeline, const struct tw_model *m,
			  struct tw_err *err);

/* Add <name>.validation.csv beside the zip; takes text over, even on failure. */
int tw_pipeline_take_validation(struct tw_fileset *pipeline, const struct tw_model *m,
				char *text, size_t len, struct tw_err *err);

/*
 * Add the common files: metadata.json, node_type_index.json, and a
 * <source>_<output>_model_metadata.csv for each source and output of the models. Borrows
 * metadata and models. The node types are those of the models.
 */
int tw_pipeline_add_summary(struct tw_fileset *pipeline, const json_t *metadata,
			    const struct tw_model *models, size_t count,
			    struct tw_err *err);

/* The same with these node types. */
int tw_pipeline_add_index(struct tw_fileset *pipeline, const json_t *metadata,
			  const struct tw_node_types *types,
			  const struct tw_model *models, size_t count,
			  struct tw_err *err);

/* Write profile.json; replaces an older one. */
int tw_pipeline_set_profile(struct tw_fileset *pipeline, const struct tw_profile *p,
			    struct tw_err *err);

/* Add to fresh's profile.json the entries that only old has. */
int tw_pipeline_join_profile(struct tw_fileset *fresh, const struct tw_fileset *old,
			     struct tw_err *err);

/*
 * The user whose training published the pipeline first: "trained_by" of metadata.json.
 * *owner is yours: free(); NULL: it is not known.
 */
int tw_pipeline_owner(const struct tw_fileset *pipeline, char **owner,
		      struct tw_err *err);

/* Parse a file of the set. TW_NOTFOUND if it has none. *out is yours: json_decref(). */
int tw_pipeline_parse(const struct tw_fileset *pipeline, const char *name, json_t **out,
		      struct tw_err *err);

/* Read node_type_index.json of the set. *out must be empty; it is yours. */
int tw_pipeline_read_node_types(const struct tw_fileset *pipeline,
				struct tw_node_types *out, struct tw_err *err);

/* Whether a file of the set is a model: <source>/<output>/<group>/<name>.zip. */
bool tw_pipeline_is_model(const char *name);

/* A further check of each model. */
typedef int tw_pipeline_look_fn(void *arg, const struct tw_model *m, struct tw_err *err);

/*
 * Check that an untrusted set of files is a pipeline that may be published. Fails on
 * names that differ only in case, a missing metadata.json, malformed JSON, a zip that is
 * not a model or lies in the wrong directory, a failure of look (may be NULL), and a set
 * without models. *models_out is the number of models. Sorts the set.
 */
int tw_pipeline_check(struct tw_fileset *pipeline, tw_pipeline_look_fn *look, void *arg,
		      size_t *models_out, struct tw_err *err);

#endif /* TW_MODEL_DB_PIPELINE_H */
