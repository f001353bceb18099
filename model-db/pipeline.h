/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_PIPELINE_H
#define TW_MODEL_DB_PIPELINE_H

/*
 * A pipeline: the models that came out of one training, with their common metadata,
 * in the layout of docs/wire.md, "Pipeline layout". It is put together in memory as a
 * set of files (names without the pipeline's own), then published as a directory of
 * the model database or sent as a zip.
 */

#include <jansson.h>

struct tw_err;
struct tw_fileset;
struct tw_model;
struct tw_node_types;

/* What the name of a model's rows of its validation ends in (model-db/validation.h). */
#define TW_PIPELINE_VALIDATION ".validation.csv"

/* Where a published pipeline has its error reports: no energy source. */
#define TW_PIPELINE_REPORTS "error_report"

/*
 * Add a model: <source>/<output>/<group>/<name>.zip, <name>.json where it has weights,
 * <name>/.. its files.
 */
int tw_pipeline_add_model(struct tw_fileset *pipeline, const struct tw_model *m,
			  struct tw_err *err);

/* Add <name>.validation.csv beside it; text is taken over, even on failure. */
int tw_pipeline_take_validation(struct tw_fileset *pipeline, const struct tw_model *m,
				char *text, size_t len, struct tw_err *err);

/*
 * Add what is about all of them: metadata.json (borrowed), node_type_index.json,
 * and one <source>_<output>_model_metadata.csv for each source and output of the
 * models, which are borrowed.
 */
int tw_pipeline_add_summary(struct tw_fileset *pipeline, const json_t *metadata,
			    const struct tw_model *models, size_t count,
			    struct tw_err *err);

/* As above, with these node types in the index. */
int tw_pipeline_add_index(struct tw_fileset *pipeline, const json_t *metadata,
			  const struct tw_node_types *types,
			  const struct tw_model *models, size_t count,
			  struct tw_err *err);

/*
 * Put the pipeline into the model database as <db>/<name>, replacing one of that
 * name. Atomic and durable: a reader, or whoever looks after a crash at any moment,
 * sees the whole old or the whole new one. Publishers in several processes take
 * turns. Left-overs of a publisher that was killed are removed. The name is checked.
 * A set without a manifest (model-db/manifest.h) gets one. The version that was there is
 * kept as <db>/.old-<name>, which readers pass over; of a publisher that is killed at the
 * very end perhaps the one before.
 */
int tw_pipeline_publish(const char *db, const char *name,
			const struct tw_fileset *pipeline, struct tw_err *err);

/*
 * As tw_pipeline_publish(), but what the pipeline of that name has and this one lacks is
 * kept (model-db/pipeline_merge.h): it is added to the set, which is then the whole. The
 * pipeline that is added to cannot change meanwhile. After a failure the set is of no
 * use.
 */
int tw_pipeline_update(const char *db, const char *name, struct tw_fileset *pipeline,
		       struct tw_err *err);

/*
 * Exchange the pipeline and its previous version, atomically: done twice, it is as
 * before. TW_NOTFOUND where there is none.
 */
int tw_pipeline_rollback(const char *db, const char *name, struct tw_err *err);

/*
 * The node types of a published pipeline, by which a training numbers its machines; none
 * where there is no such pipeline. *out must be empty; it is yours.
 */
int tw_pipeline_known(const char *db, const char *name, struct tw_node_types *out,
		      struct tw_err *err);

#endif /* TW_MODEL_DB_PIPELINE_H */
