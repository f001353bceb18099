/* SPDX-License-Identifier: Apache-2.0 */
#include "server/compat.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/program/kepler_key.h"
#include "server/routes.h"

#include <stdlib.h>
#include <string.h>

static const char *const keys[] = { "MODEL_SERVER_PORT",
				    "MODEL_SERVER_MODEL_REQ_PATH",
				    "MODEL_SERVER_MODEL_LIST_PATH",
				    "ERROR_KEY",
				    "INITIAL_PIPELINE_URL",
				    "MODEL_TOPURL",
				    NULL };

int tw_compat_load(struct tw_err *err)
{
	if (tw_kepler_keys_load(keys, err) < 0 ||
	    tw_kepler_keys_load(tw_kepler_model_db_keys, err) < 0 ||
	    tw_kepler_model_db_default(err) < 0)
		return -1;
	/* The old server listens at all addresses. */
	return tw_kepler_key_default("TW_SERVER_LISTEN", ":", "MODEL_SERVER_PORT", "",
				     err);
}

/* Add a path to a route, unless the route has it. */
static int add_path(struct tw_compat_routes *r, size_t i, const char *route,
		    const char *path, size_t *count, struct tw_err *err)
{
	const struct tw_http_route *of = NULL;
	struct tw_buf b = { 0 };

	if (path == NULL || *path == '\0')
		return 0;
	tw_buf_addf(&b, "%s%s", *path != '/' ? "/" : "", path);
	r->path[i] = tw_buf_detach(&b, NULL);
	if (r->path[i] == NULL)
		return tw_fail(err, TW_NOMEM, "path of a route");
	if (strcmp(r->path[i], route) == 0)
		return 0;
	for (size_t k = 0; k < *count; k++) {
		if (strcmp(r->at[k].path, r->path[i]) == 0)
			return tw_fail(err, TW_INVALID,
				       "path '%.64s' is another route's already",
				       r->path[i]);
		if (strcmp(r->at[k].path, route) == 0)
			of = &r->at[k];
	}
	r->at[*count] = *of;
	r->at[(*count)++].path = r->path[i];
	return 0;
}

int tw_compat_routes_make(const char *model_path, const char *best_models_path,
			  struct tw_compat_routes *out, size_t *count, struct tw_err *err)
{
	size_t n;
	const struct tw_http_route *ours = tw_server_routes(&n);

	out->at = calloc(n + 2, sizeof(*out->at));
	if (out->at == NULL)
		return tw_fail(err, TW_NOMEM, "%zu routes", n);
	memcpy(out->at, ours, n * sizeof(*ours));
	if (add_path(out, 0, "/model", model_path, &n, err) < 0 ||
	    add_path(out, 1, "/best-models", best_models_path, &n, err) < 0)
		return -1;
	*count = n;
	return 0;
}

void tw_compat_routes_release(struct tw_compat_routes *r)
{
	free(r->at);
	free(r->path[0]);
	free(r->path[1]);
	*r = (struct tw_compat_routes){ 0 };
}
