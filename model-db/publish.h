/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_PUBLISH_H
#define TW_MODEL_DB_PUBLISH_H

/* How a pipeline is put in place, for who must look at what is there before. */

struct tw_err;
struct tw_fileset;

/* What is at path, if anything, before it is replaced and while nobody else can. */
typedef int tw_pipeline_meet_fn(void *arg, const char *path, struct tw_err *err);

/* As tw_pipeline_publish(); meet, which may be NULL, may still change the set. */
int tw_pipeline_publish_with(const char *db, const char *name,
			     const struct tw_fileset *pipeline, tw_pipeline_meet_fn *meet,
			     void *arg, struct tw_err *err);

#endif /* TW_MODEL_DB_PUBLISH_H */
