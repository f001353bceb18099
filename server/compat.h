/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_COMPAT_H
#define TW_SERVER_COMPAT_H

/*
 * Configuration keys of kepler-model-server (docs/wire.md, "Keys of the old programs") as
 * defaults of tw-server.
 */

#include "lib/http/server/httpd.h"

struct tw_err;

/*
 * Take the old keys from files and the environment as defaults of our own variables:
 * MODEL_PATH, or MNT_PATH with /models appended, as TW_MODEL_DB; MODEL_SERVER_PORT as
 * TW_SERVER_LISTEN. Call it before options are read and threads are started.
 */
int tw_compat_load(struct tw_err *err);

/* Routes with additional paths. All zero bytes: no such routes. */
struct tw_compat_routes {
	struct tw_http_route *at;
	char *path[2];
};

/*
 * All of tw_server_routes(), and POST /model and GET /best-models at these additional
 * paths (NULL: no additional path). *out is yours, also after a failure:
 * tw_compat_routes_release().
 */
int tw_compat_routes_make(const char *model_path, const char *best_models_path,
			  struct tw_compat_routes *out, size_t *count,
			  struct tw_err *err);
void tw_compat_routes_release(struct tw_compat_routes *r);

#endif /* TW_SERVER_COMPAT_H */
