/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_SETTINGS_H
#define TW_ESTIMATOR_SETTINGS_H

/*
 * The options of tw-estimator.
 */

#include "estimator/listen.h"
#include "estimator/users.h"
#include "lib/core/strs.h"
#include "lib/program/opt.h"

#include <stdint.h>

struct tw_err;

struct tw_settings {
	char *sockets, *socket_mode;
	struct tw_strs users;
	char *owner;
	char *model_db, *shipped_models, *model_server;
	char *keep;
	uint64_t refresh_ms;
	char *proc, *sys;
	char *metrics, *web_config;
	uint32_t connections;
	uint64_t idle_ms, request_ms;
	uint64_t series_bytes;
	unsigned log_level, log_format;
	char *ready_file;
};

extern const struct tw_opts tw_settings_opts;

/* The options whose texts need parsing. */
struct tw_settings_parsed {
	struct tw_strs sockets;
	struct tw_listener_rights rights;
	struct tw_users users;
};

/*
 * Parse and check the options. *out must be all zero; release it, on failure too.
 * TW_INVALID: an option has a wrong value.
 */
int tw_settings_parse(const struct tw_settings *s, struct tw_settings_parsed *out,
		      struct tw_err *err);
void tw_settings_parsed_release(struct tw_settings_parsed *m);

#endif /* TW_ESTIMATOR_SETTINGS_H */
