/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_PUBLISH_H
#define TW_MODEL_DB_PUBLISH_H

/*
 * Puts pipelines into a model database. Publishing is atomic and durable: a reader, or a
 * restart after a crash at any moment, sees the whole old or the whole new version.
 * Publishers in several processes take turns by a lock on <db>/.lock.
 *
 * The previous version is kept as <db>/.old-<name>. Readers ignore names that start with
 * a dot.
 */

#include <stdbool.h>

struct tw_err;
struct tw_fileset;
struct tw_node_types;
struct tw_signer;

/*
 * Publish the pipeline as <db>/<name>, replacing an older version. The name is checked
 * (tw_pipeline_name_check()). A set without a manifest (model-db/manifest.h) gets one
 * with a version above those of the published and of the previous one. A manifest of
 * another pipeline or with an older version is rejected (docs/model-db.md, "Manifest").
 * Removes the left-overs of a publisher that was killed. If a publisher is killed after
 * its last rename, .old-<name> may be the version before the previous one.
 */
int tw_pipeline_publish(const char *db, const char *name,
			const struct tw_fileset *pipeline, struct tw_err *err);

/*
 * Called with the lock held, before the version at path is replaced. There may be none.
 * It may change the set that is published.
 */
typedef int tw_pipeline_meet_fn(void *arg, const char *path, struct tw_err *err);

/* All zero bytes: as tw_pipeline_publish(). */
struct tw_publish_terms {
	tw_pipeline_meet_fn *meet; /* its failure publishes nothing; NULL: none */
	void *arg;                 /* of meet */
	const struct tw_signer
		*signer;      /* signs the manifest that is made; NULL: nobody */
	bool allow_downgrade; /* accept an older version */
};

int tw_pipeline_publish_with(const char *db, const char *name,
			     const struct tw_fileset *pipeline,
			     const struct tw_publish_terms *terms, struct tw_err *err);

/*
 * Whether the set may replace the published version: TW_DENIED if its manifest is of
 * another pipeline or of an older version. tw_pipeline_publish_with() checks that again,
 * under the lock. A set without a manifest may.
 */
int tw_pipeline_check_version(const char *db, const char *name,
			      const struct tw_fileset *pipeline, bool allow_downgrade,
			      struct tw_err *err);

/*
 * Merge the published pipeline of that name into the set (model-db/pipeline_merge.h) and
 * publish the result, under one lock. With a signer (may be NULL) the result is signed,
 * and the published pipeline must have its signature. After a failure the set is of no
 * use.
 */
int tw_pipeline_update(const char *db, const char *name, struct tw_fileset *pipeline,
		       const struct tw_signer *signer, struct tw_err *err);

/* Whether these files may be published under this name again, or be added to. */
typedef int tw_pipeline_check_fn(void *arg, const char *name, struct tw_fileset *files,
				 struct tw_err *err);

/* The same; check (may be NULL) is called on the published pipeline, under the lock. */
int tw_pipeline_update_with(const char *db, const char *name, struct tw_fileset *pipeline,
			    const struct tw_signer *signer, tw_pipeline_check_fn *check,
			    void *arg, struct tw_err *err);

/*
 * Exchange the pipeline and its previous version atomically; a second call restores the
 * first state. The previous version's manifest is checked, then check (may be NULL) is
 * called, both with the lock held. TW_NOTFOUND if there is no previous version.
 */
int tw_pipeline_rollback(const char *db, const char *name, tw_pipeline_check_fn *check,
			 void *arg, struct tw_err *err);

/*
 * Read the node types of a published pipeline: a training continues their numbers. No
 * types if there is no such pipeline. *out must be empty; it is yours.
 */
int tw_pipeline_known(const char *db, const char *name, struct tw_node_types *out,
		      struct tw_err *err);

/*
 * Read the owner of a published pipeline (tw_pipeline_owner()). *exists is false if there
 * is no such pipeline. *owner is yours: free(); NULL: it is not known.
 */
int tw_pipeline_published_owner(const char *db, const char *name, bool *exists,
				char **owner, struct tw_err *err);

#endif /* TW_MODEL_DB_PUBLISH_H */
