/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PUBLISHING_H
#define TW_TRAINER_PUBLISHING_H

/*
 * Publishing of pipelines: read a pipeline, check all of it, send it to a tw-server. A
 * model database gets a pipeline only after the whole has been checked.
 */

#include <stddef.h>

struct tw_err;
struct tw_fileset;
struct tw_http_access;
struct tw_model;

/* Derive the pipeline's name from its path: "/a/ec2.zip" and "/a/ec2/" give "ec2". */
int tw_publishing_name(const char *from, char *out, size_t size, struct tw_err *err);

/* Read a directory or a zip file of at most 1 GiB. *out must be empty. */
int tw_publishing_read(const char *path, struct tw_fileset *out, struct tw_err *err);

/*
 * Check as tw_pipeline_check() does, and load each model into its predictor, so that
 * every published model can be evaluated. *models_out is the number of models.
 */
int tw_publishing_check(struct tw_fileset *pipeline, size_t *models_out,
			struct tw_err *err);

/*
 * Check one model: load its parts into the predictor. A tw_pipeline_look_fn; arg is
 * unused.
 */
int tw_publishing_look(void *arg, const struct tw_model *m, struct tw_err *err);

/*
 * PUT the pipeline as a zip to <url>/api/v1/pipelines/<name>. Fails with the server's
 * reason: TW_DENIED for 401 and 403, TW_NOTFOUND for 404, TW_IO for 5xx, else TW_INVALID.
 */
int tw_publishing_send(const char *url, const char *name, const struct tw_fileset *s,
		       const struct tw_http_access *access, struct tw_err *err);

/* POST <url>/api/v1/pipelines/<name>/rollback: restore the previous version. */
int tw_publishing_send_rollback(const char *url, const char *name,
				const struct tw_http_access *access, struct tw_err *err);

#endif /* TW_TRAINER_PUBLISHING_H */
