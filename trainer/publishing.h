/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PUBLISHING_H
#define TW_TRAINER_PUBLISHING_H

/*
 * Pipelines on their way into a model database: the whole of it is checked before any of
 * it is seen, then it is put in place in one step, here or by a server.
 */

#include <stddef.h>

struct tw_err;
struct tw_fileset;
struct tw_http_access;
struct tw_model;
struct tw_strs;

/* The name of a pipeline by where it is from: "/a/ec2.zip" and "/a/ec2/" are "ec2". */
int tw_publishing_name(const char *from, char *out, size_t size, struct tw_err *err);

/* A directory, or a zip file, into an empty set. */
int tw_publishing_read(const char *path, struct tw_fileset *out, struct tw_err *err);

/*
 * As tw_pipeline_check(), and each model is loaded into its predictor: what is published
 * can be evaluated.
 */
int tw_publishing_check(struct tw_fileset *pipeline, size_t *models_out,
			struct tw_err *err);

/* The look of the above at one model: a tw_pipeline_look_fn. */
int tw_publishing_look(void *arg, const struct tw_model *m, struct tw_err *err);

/*
 * PUT <url>/api/v1/pipelines/<name> with the set as a zip. TW_DENIED where the server
 * refuses who asks, TW_INVALID where it refuses what is sent: with its reason.
 */
int tw_publishing_send(const char *url, const char *name, const struct tw_fileset *s,
		       const struct tw_http_access *access, struct tw_err *err);

/* POST <url>/api/v1/pipelines/<name>/rollback. */
int tw_publishing_send_rollback(const char *url, const char *name,
				const struct tw_http_access *access, struct tw_err *err);

#endif /* TW_TRAINER_PUBLISHING_H */
