/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/json/writer.h"
#include "lib/program/log.h"
#include "server/routes.h"
#include "server/service.h"
#include "server/uploads.h"

#include <stdint.h>
#include <unistd.h>

int tw_allow_publish(void *app, const struct tw_http_request *q, struct tw_err *err)
{
	const struct tw_service *s = app;

	return tw_uploads_allow(s->uploads, tw_http_header(q, "Authorization"), err);
}

/* Request a reload. The directory watch does so, too, where it works. */
static void reload(const struct tw_service *s)
{
	const uint64_t one = 1;

	if (s->reload_fd >= 0)
		(void)!write(s->reload_fd, &one, sizeof(one));
}

static void answer(struct tw_http_reply *r, const char *name, const char *what,
		   size_t models)
{
	struct tw_buf b = { 0 };

	tw_json_add_object(&b, NULL);
	tw_json_add_text(&b, "pipeline", name);
	tw_json_add_text(&b, "status", what);
	if (models > 0)
		tw_json_add_uint(&b, "models", models);
	tw_json_end_object(&b);
	tw_http_reply_buf(r, &b);
}

void tw_put_pipeline(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	const struct tw_service *s = app;
	const char *name = tw_http_param(q, "pipeline");
	struct tw_err err = { 0 };
	size_t models;

	if (tw_uploads_take(s->uploads, name, q->body, q->len, &models, &err) < 0) {
		tw_log_warn("cannot take a pipeline name=%.64s: %s", name, err.text);
		tw_http_reply_error(r, &err);
		return;
	}
	tw_log_info("pipeline taken name=%s models=%zu", name, models);
	reload(s);
	answer(r, name, "published", models);
}

void tw_post_rollback(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	const struct tw_service *s = app;
	const char *name = tw_http_param(q, "pipeline");
	struct tw_err err = { 0 };

	if (tw_uploads_rollback(s->uploads, name, &err) < 0) {
		tw_http_reply_error(r, &err);
		return;
	}
	tw_log_info("pipeline rolled back name=%s", name);
	reload(s);
	answer(r, name, "rolled back", 0);
}
