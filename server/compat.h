/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_COMPAT_H
#define TW_SERVER_COMPAT_H

/*
 * The keys that configure kepler-model-server (docs/wire.md, "Keys of the old programs"),
 * for tw-server.
 */

#include "lib/http/httpd.h"

struct tw_err;

/*
 * Take what the old keys say, from files and the environment, as the defaults of our own
 * environment variables: MODEL_PATH, or MNT_PATH with /models behind it, as TW_MODEL_DB,
 * and MODEL_SERVER_PORT as TW_SERVER_LISTEN. Before options are read and threads started.
 */
int tw_compat_load(struct tw_err *err);

/* Routes with other paths, beside those that they always have. All zero bytes: none. */
struct tw_compat_routes {
	const struct tw_http_route **at;
	struct tw_http_route copy[2];
	char *path[2];
};

/*
 * All of tw_server_routes(), and POST /model and GET /best-models at these paths as well,
 * where they are given (NULL: not). *out is yours, also after a failure:
 * tw_compat_routes_release().
 */
int tw_compat_routes_make(const char *model_path, const char *best_models_path,
			  struct tw_compat_routes *out, size_t *count,
			  struct tw_err *err);
void tw_compat_routes_release(struct tw_compat_routes *r);

#endif /* TW_SERVER_COMPAT_H */
