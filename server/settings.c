/* SPDX-License-Identifier: Apache-2.0 */
#include "server/settings.h"

#include "lib/core/array.h"
#include "lib/http/server/httpd.h"
#include "lib/program/kepler_key.h"
#include "lib/program/log.h"
#include "model-db/index/index.h"
#include "server/routes.h"

#include <stddef.h>

#define OPT(kind, flag, field, what, line) \
	TW_OPT_ROW(struct tw_server_settings, kind, flag, field, what, line)

static const struct tw_opt options[] = {
	{ OPT(LISTEN, "listen", listen, "ADDR:PORT",
	      "address and port of the HTTP server"),
	  .env = "TW_SERVER_LISTEN", .fallback = "127.0.0.1:8100" },
	{ OPT(TEXT, "model-db", model_db, "DIR", "directory of the model database"),
	  .env = "TW_MODEL_DB", .fallback = TW_MODEL_DB },
	{ OPT(TEXT, "prior", prior, "DIR",
	      "model database whose prior of machines serves if --model-db has none"),
	  .env = "TW_SERVER_PRIOR" },
	{ OPT(TEXT, "default-machine", default_machine, "KEY=VALUE,...",
	      "machine_spec of clients that send none, such as Kepler up to 0.7.11"),
	  .env = "TW_SERVER_DEFAULT_MACHINE" },
	{ OPT(TEXT, "prefer", prefer, "LIST",
	      "comma-separated pipelines, the most preferred first"),
	  .env = "TW_SERVER_PREFER" },
	{ OPT(TEXT, "error-key", error_key, "NAME",
	      "error figure that compares the models of a machine"),
	  .env = "ERROR_KEY", .fallback = TW_INDEX_ERROR },
	{ OPT(BOOL, "weights-metrics", weights_metrics, NULL,
	      "export the weights of linear models as metrics"),
	  .env = "TW_SERVER_WEIGHTS_METRICS", .fallback = "no" },
	{ OPT(U32, "threads", threads, "N",
	      "number of worker threads; 0: one for each CPU"),
	  .env = "TW_SERVER_THREADS", .fallback = "0", .max = 256 },
	{ OPT(TEXT, "web-config", web_config, "FILE",
	      "file with TLS and users, in the format of Prometheus exporters"),
	  .env = "TW_SERVER_WEB_CONFIG" },
	TW_OPTS_HOST_NAMES(struct tw_server_settings, "TW_SERVER_HOST_NAMES"),
	{ OPT(TEXT, "model-path", model_path, "PATH", "additional path of POST /model"),
	  .env = "MODEL_SERVER_MODEL_REQ_PATH" },
	{ OPT(TEXT, "best-models-path", best_models_path, "PATH",
	      "additional path of GET /best-models"),
	  .env = "MODEL_SERVER_MODEL_LIST_PATH" },
	{ OPT(TEXT, "publish-auth", publish_auth, "FILE",
	      "file of publishers: a token or user:password on each line; without it: "
	      "nobody"),
	  .env = "TW_SERVER_PUBLISH_AUTH" },
	{ OPT(LIST, "public-key", public_keys, "KEY|FILE",
	      "accept signatures of these keys only"),
	  .env = "TW_PUBLIC_KEYS" },
	{ OPT(BOOL, "require-signature", require_signature, NULL,
	      "accept and serve only pipelines that one of the public keys signed"),
	  .env = "TW_REQUIRE_SIGNATURE", .fallback = "no" },
	{ OPT(BOOL, "allow-downgrade", allow_downgrade, NULL,
	      "accept a pipeline with an older version than the published one"),
	  .env = "TW_ALLOW_DOWNGRADE", .fallback = "no" },
	{ OPT(BOOL, "serve-foreign", serve_foreign, NULL,
	      "send files of kepler-model-server, pickles among them"),
	  .env = "TW_SERVER_SERVE_FOREIGN", .fallback = "no" },
#if TW_FLEET
	{ OPT(LIST, "pull", pull, "[NAME=]URL",
	      "pipeline to download into the database, in the background"),
	  .env = "INITIAL_PIPELINE_URL" },
	{ OPT(TEXT, "pull-from", pull_from, "URL",
	      "base URL of pipelines that --pull names without a URL"),
	  .env = "MODEL_TOPURL" },
	{ OPT(DURATION_MS, "pull-refresh", pull_refresh_ms, "TIME",
	      "interval of checks for a new version; 0 for once"),
	  .env = "TW_SERVER_PULL_REFRESH", .fallback = "1h" },
	{ OPT(DURATION_MS, "pull-timeout", pull_timeout_ms, "TIME",
	      "time limit of one download; it resumes later"),
	  .env = "TW_SERVER_PULL_TIMEOUT", .fallback = "10m" },
	{ OPT(TEXT, "replica", replica, "NAME|I/N",
	      "name of this replica, or the I-th of N, for rollouts; default: the host"),
	  .env = "TW_SERVER_REPLICA" },
	{ OPT(LIST, "replica-labels", replica_labels, "KEY=VALUE,...",
	      "labels of this replica, for rollouts"),
	  .env = "TW_SERVER_REPLICA_LABELS" },
#endif
	{ OPT(U32, "connections", connections, "N", "limit of open connections"),
	  .env = "TW_SERVER_CONNECTIONS", .fallback = "8192", .min = 1, .max = 1000000 },
	TW_OPTS_LOG(struct tw_server_settings),
	TW_OPT_READY_FILE(struct tw_server_settings),
};

const struct tw_opts tw_server_opts = {
	.program = "tw-server",
	.summary = "Choose and serve power models from a model database.",
	TW_OPTS_TABLE(options),
	.list_metrics = tw_server_list_metrics,
};

static const char *const keys[] = { "MODEL_SERVER_PORT",
				    "MODEL_SERVER_MODEL_REQ_PATH",
				    "MODEL_SERVER_MODEL_LIST_PATH",
				    "ERROR_KEY",
				    "INITIAL_PIPELINE_URL",
				    "MODEL_TOPURL",
				    NULL };

int tw_server_old_keys(struct tw_err *err)
{
	if (tw_kepler_keys_load(keys, err) < 0 ||
	    tw_kepler_keys_load(tw_kepler_model_db_keys, err) < 0 ||
	    tw_kepler_model_db_default(err) < 0)
		return -1;
	/* The old server listens at all addresses. */
	return tw_kepler_key_default("TW_SERVER_LISTEN", ":", "MODEL_SERVER_PORT", "",
				     err);
}
