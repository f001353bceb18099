/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_REDFISH_CLIENT_H
#define TW_COLLECTOR_REDFISH_CLIENT_H

/*
 * A session with a management controller: log in, find the chassis that report power,
 * read them. Use from one thread; calls block.
 */

#include "collector/ask/redfish.h"
#include "lib/core/strs.h"
#include "lib/http/client/http.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;

struct tw_redfish_config {
	const char *url; /* "https://bmc", without a trailing '/' */
	enum tw_redfish_auth auth;
	const char *user, *password; /* NULL: no login */
	const char *ca_file;         /* or NULL */
	bool insecure;
	const struct tw_strs
		*chassis;    /* ids to read; NULL or empty: see tw_redfish_connect() */
	uint64_t timeout_ms; /* limit of one call */
	/* As tw_http_call(), with call_arg; tests replace it. */
	int (*call)(void *arg, const struct tw_http_call *c, struct tw_http_answer *out,
		    struct tw_err *err);
	void *call_arg;
	bool (*stopped)(void *arg); /* or NULL */
	void *stopped_arg;
};

/* A chassis that reports power. */
struct tw_redfish_source {
	enum tw_redfish_type type; /* below TW_REDFISH_POWER_TYPES; TW_REDFISH_SUBSYSTEM:
				      the sum of its supplies; TW_REDFISH_SENSOR: the
				      only one of its sensors that measures the chassis */
	char id[TW_REDFISH_ID];
	char path[TW_REDFISH_PATH]; /* the resource to read */
};

/* All zero bytes except the config: not connected. */
struct tw_redfish {
	struct tw_redfish_config config;
	char token[TW_HTTP_HEADER_MAX]; /* session token; "": none */
	char session[TW_REDFISH_PATH];  /* resource to delete at logout */
	char sessions[TW_REDFISH_PATH]; /* where sessions are created */
	bool basic; /* the controller has no sessions: use basic authentication */
	struct tw_redfish_source source[TW_REDFISH_CHASSIS_MAX];
	size_t sources;
	size_t skipped; /* chassis that could not be read, or reported 0 W: they may be
			   sources later */
};

/*
 * Log in and find the sources: of all chassis that report power now, the outermost ones,
 * which include the others; or the chassis of the config. If all report 0 W, these are
 * the sources. Parts of machines do not count. A chassis of the type Other counts if it
 * is the only one. TW_NOTFOUND without a source, TW_DENIED if the login or the
 * certificate is rejected. May be called again.
 */
int tw_redfish_connect(struct tw_redfish *r, struct tw_err *err);

/* Read a source. Logs in again, once, if the session has expired. */
int tw_redfish_read(struct tw_redfish *r, const struct tw_redfish_source *s,
		    struct tw_redfish_power *out, struct tw_err *err);

/*
 * End the session. Controllers have few sessions and keep abandoned ones for a long time.
 */
void tw_redfish_logout(struct tw_redfish *r);

#endif /* TW_COLLECTOR_REDFISH_CLIENT_H */
