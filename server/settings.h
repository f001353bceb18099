/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_SETTINGS_H
#define TW_SERVER_SETTINGS_H

/*
 * The options of tw-server.
 */

#include "lib/core/strs.h"
#include "lib/program/opt.h"

#include <stdbool.h>
#include <stdint.h>

struct tw_err;

struct tw_server_settings {
	char *listen;
	char *model_db;
	char *prior;
	char *default_machine;
	char *prefer;
	char *error_key;
	bool weights_metrics;
	uint32_t threads;
	uint32_t connections;
	char *web_config;
	struct tw_strs host_names;
	char *publish_auth;
	struct tw_strs public_keys;
	bool require_signature, allow_downgrade;
	bool serve_foreign;
#if TW_FLEET
	struct tw_strs pull;
	char *pull_from;
	char *replica;
	struct tw_strs replica_labels;
	uint64_t pull_refresh_ms, pull_timeout_ms;
#endif
	char *model_path;
	char *best_models_path;
	unsigned log_level;
	unsigned log_format;
	char *ready_file;
};

extern const struct tw_opts tw_server_opts;

/*
 * Take kepler-model-server's keys (docs/wire.md, "Keys of the old programs") from files
 * and the environment as defaults of our own variables. Call it before options are read
 * and threads are started.
 */
int tw_server_old_keys(struct tw_err *err);

#endif /* TW_SERVER_SETTINGS_H */
