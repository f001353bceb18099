/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/models_config.h"

#include "lib/core/err.h"
#include "lib/program/kepler_key.h"

#include <stdlib.h>
#include <strings.h>

const char *const tw_models_server_keys[] = { "MODEL_SERVER_URL", "MODEL_SERVER_ENABLE",
					      "MODEL_SERVER_PORT",
					      "MODEL_SERVER_MODEL_REQ_PATH", NULL };

int tw_models_server_default(struct tw_err *err)
{
	const char *enable = getenv("MODEL_SERVER_ENABLE");
	const char *port = getenv("MODEL_SERVER_PORT");

	if (enable == NULL || strcasecmp(enable, "true") != 0)
		return 0;
	if ((port == NULL || *port == '\0') && setenv("MODEL_SERVER_PORT", "8100", 1) < 0)
		return tw_fail(err, TW_NOMEM, "MODEL_SERVER_PORT");
	return tw_kepler_key_default(
		"MODEL_SERVER_URL",
		"http://kepler-model-server.kepler.svc.cluster.local:",
		"MODEL_SERVER_PORT", "", err);
}

const char *tw_models_server(const char *url)
{
	const char *enable = getenv("MODEL_SERVER_ENABLE");

	if (enable != NULL && strcasecmp(enable, "false") == 0)
		return NULL;
	return url != NULL && url[0] != '\0' ? url : NULL;
}

const char *tw_models_server_path(void)
{
	const char *path = getenv("MODEL_SERVER_MODEL_REQ_PATH");

	return path != NULL && path[0] != '\0' ? path : NULL;
}
