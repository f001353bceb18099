/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_REDFISH_SESSION_H
#define TW_COLLECTOR_REDFISH_SESSION_H

/*
 * A login at a management controller, and resources read with it. Redirects are followed
 * on the same server only.
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
	const struct tw_http_access *access; /* user NULL: no login */
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
	char good[TW_REDFISH_PATH]; /* a resource that this login has read; "": none */
	struct tw_redfish_source source[TW_REDFISH_CHASSIS_MAX];
	size_t sources;
	size_t skipped; /* chassis that could not be read, or reported 0 W, or all if a
			   board stands for them: they may be sources later */
};

/* Read the root and log in, in the order that the controller wants. */
int tw_redfish_log_in(struct tw_redfish *r, struct tw_redfish_root *root,
		      struct tw_err *err);

/*
 * Read a resource. Logs in again, once, if the session has expired. TW_DENIED if the
 * login is rejected, TW_INVALID for another status than 200, or a resource that this
 * login may not read.
 */
int tw_redfish_read_doc(struct tw_redfish *r, const char *path, enum tw_redfish_type type,
			union tw_redfish_doc *out, struct tw_err *err);

/* Append the links of all pages of a collection. */
int tw_redfish_read_members(struct tw_redfish *r, const char *path, struct tw_strs *out,
			    struct tw_err *err);

/*
 * End the session. Controllers have few sessions and keep abandoned ones for a long time.
 */
void tw_redfish_logout(struct tw_redfish *r);

#endif /* TW_COLLECTOR_REDFISH_SESSION_H */
