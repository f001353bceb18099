/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "model-db/index/index.h"
#include "server/routes.h"
#include "server/service.h"

/* Liveness: the process answers. It is alive without models, too. */
static void answer_alive(void *app, const struct tw_http_request *q,
			 struct tw_http_reply *r)
{
	struct tw_service *s = app;
	struct tw_buf b = { 0 };

	(void)q;
	tw_buf_addf(&b, "{\"status\":\"ok\",\"models\":%zu}",
		    tw_catalog_count(&s->catalog));
	tw_http_reply_buf(r, &b);
}

/* Readiness: there are models. */
static void answer_ready(void *app, const struct tw_http_request *q,
			 struct tw_http_reply *r)
{
	struct tw_service *s = app;
	struct tw_index *index = tw_catalog_ref(&s->catalog, r);

	if (index == NULL)
		return;
	tw_index_unref(index);
	answer_alive(app, q, r);
}

const struct tw_http_route tw_route_healthz = {
	.method = "GET",
	.path = "/healthz",
	.handle = answer_alive,
};

const struct tw_http_route tw_route_livez = {
	.method = "GET",
	.path = "/livez",
	.handle = answer_alive,
};

const struct tw_http_route tw_route_readyz = {
	.method = "GET",
	.path = "/readyz",
	.handle = answer_ready,
};

const struct tw_http_route tw_route_healthy = {
	.method = "GET",
	.path = "/-/healthy",
	.handle = answer_alive,
};

const struct tw_http_route tw_route_ready = {
	.method = "GET",
	.path = "/-/ready",
	.handle = answer_ready,
};
