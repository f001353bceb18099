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
	char *sys;
	char *metrics;
	uint32_t connections;
	uint64_t idle_ms, request_ms;
	uint64_t series_bytes;
	unsigned log_level, log_format;
	char *ready_file;
};

extern const struct tw_opts tw_settings_opts;

/* What is made of them. */
struct tw_settings_made {
	struct tw_strs sockets;
	struct tw_listener_rights rights;
	struct tw_users users;
};

/*
 * *out must be all zero; it is yours, on failure too: tw_settings_made_release().
 * TW_INVALID for wrong use.
 */
int tw_settings_make(const struct tw_settings *s, struct tw_settings_made *out,
		     struct tw_err *err);
void tw_settings_made_release(struct tw_settings_made *m);

#endif /* TW_ESTIMATOR_SETTINGS_H */
