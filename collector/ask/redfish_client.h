/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_REDFISH_CLIENT_H
#define TW_COLLECTOR_REDFISH_CLIENT_H

/*
 * A conversation with a management controller: logging in, finding the chassis that tell
 * power, reading them. One thread; calls block.
 */

#include "collector/ask/redfish.h"
#include "lib/core/strs.h"
#include "lib/http/http.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;

struct tw_redfish_config {
	const char *url; /* "https://bmc"; no '/' at its end */
	enum tw_redfish_auth auth;
	const char *user, *password; /* NULL: no login */
	const char *ca_file;         /* or NULL */
	bool insecure;
	const struct tw_strs *chassis; /* ids: these only; NULL or empty: see below */
	uint64_t timeout_ms;           /* of a call */
	/* As tw_http_call(); of call_arg where it is not that. */
	int (*call)(void *arg, const struct tw_http_call *c, struct tw_http_answer *out,
		    struct tw_err *err);
	void *call_arg;
	bool (*stopped)(void *arg); /* or NULL */
	void *stopped_arg;
};

/* By trust. */
enum tw_redfish_kind {
	TW_REDFISH_METRICS,  /* EnvironmentMetrics of a chassis */
	TW_REDFISH_POWER,    /* Power */
	TW_REDFISH_SUPPLIES, /* the sum of the metrics of its power supplies */
	TW_REDFISH_KINDS
};

/* A chassis that tells power. */
struct tw_redfish_source {
	enum tw_redfish_kind kind;
	char id[TW_REDFISH_ID];
	char path[TW_REDFISH_PATH]; /* what is read; of supplies, their subsystem */
};

/* All zero bytes but for the config is one that has not been connected. */
struct tw_redfish {
	struct tw_redfish_config config;
	char token[TW_HTTP_HEADER_MAX]; /* of the session; "": none */
	char session[TW_REDFISH_PATH];  /* what to delete at its end */
	char sessions[TW_REDFISH_PATH]; /* where one is made */
	bool basic;                     /* sessions are not made here */
	struct tw_redfish_source source[TW_REDFISH_CHASSIS_MAX];
	size_t sources;
};

/*
 * Log in and find the sources: of all chassis that tell power now, the outermost ones,
 * which have the power of what is in them; or those of the config. TW_NOTFOUND if there
 * is none, TW_DENIED if the login or the certificate is not taken. May be called again.
 */
int tw_redfish_connect(struct tw_redfish *r, struct tw_err *err);

/* A session that has expired is made anew, once. */
int tw_redfish_read(struct tw_redfish *r, const struct tw_redfish_source *s,
		    struct tw_redfish_power *out, struct tw_err *err);

/* Controllers have few sessions, and keep those that nobody ends for a long time. */
void tw_redfish_logout(struct tw_redfish *r);

#endif /* TW_COLLECTOR_REDFISH_CLIENT_H */
