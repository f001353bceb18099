/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ASK_OPTIONS_H
#define TW_COLLECTOR_ASK_OPTIONS_H

/*
 * Options for the services behind tw-ask: rows for a program's table (lib/program/opt.h),
 * and the structs that they fill.
 */

#include "collector/ask/redfish.h"
#include "lib/core/strs.h"
#include "lib/program/opt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;

/* A management controller with Redfish. */
struct tw_redfish_options {
	char *url;     /* NULL: none */
	char *login;   /* path of the credentials; NULL: none */
	unsigned auth; /* enum tw_redfish_auth */
	char *ca;      /* path of CA certificates; NULL: the system's */
	bool insecure;
	struct tw_strs chassis; /* empty: the outermost chassis */
	uint64_t interval_ms;
};

/* The source of pod names: a kubelet or the API server. */
struct tw_pods_options {
	char *kubelet;  /* "https://10.0.0.5:10250", for its pods; or NULL */
	char *kube_api; /* "https://10.96.0.1", for the pods of this node; or NULL */
	char *token;    /* path; NULL: the service account's token, if it exists */
	char *ca; /* path; NULL: the service account's certificates, else the system's */
	bool insecure;
	uint64_t interval_ms;
};

/* Check what can be checked at once: the URL and the credentials file. */
int tw_redfish_options_check(const struct tw_redfish_options *o, struct tw_err *err);
int tw_pods_options_check(const struct tw_pods_options *o, struct tw_err *err);

/* config has a struct tw_redfish_options redfish. */
#define TW_OPTS_REDFISH(config)                                                         \
	{ .name = "redfish",                                                            \
	  .env = "TW_REDFISH",                                                          \
	  .type = TW_OPT_TEXT,                                                          \
	  .offset = offsetof(config, redfish.url),                                      \
	  .arg = "URL",                                                                 \
	  .help = "read power from this management controller: https://ADDR" },         \
		{ .name = "redfish-login",                                              \
		  .env = "TW_REDFISH_LOGIN",                                            \
		  .type = TW_OPT_TEXT,                                                  \
		  .offset = offsetof(config, redfish.login),                            \
		  .arg = "FILE",                                                        \
		  .help = "file with 'user = NAME' and 'password = TEXT', readable "    \
			  "only "                                                       \
			  "by its owner" },                                             \
		{ .name = "redfish-auth",                                               \
		  .env = "TW_REDFISH_AUTH",                                             \
		  .type = TW_OPT_CHOICE,                                                \
		  .offset = offsetof(config, redfish.auth),                             \
		  .fallback = "auto",                                                   \
		  .arg = "HOW",                                                         \
		  .help = "login: auto (a session, else basic), session or basic",      \
		  .choices = tw_redfish_auth_names },                                   \
		{ .name = "redfish-ca",                                                 \
		  .env = "TW_REDFISH_CA",                                               \
		  .type = TW_OPT_TEXT,                                                  \
		  .offset = offsetof(config, redfish.ca),                               \
		  .arg = "FILE",                                                        \
		  .help = "trust these certificate authorities instead of the "         \
			  "system's" },                                                 \
		{ .name = "redfish-insecure",                                           \
		  .env = "TW_REDFISH_INSECURE",                                         \
		  .type = TW_OPT_BOOL,                                                  \
		  .offset = offsetof(config, redfish.insecure),                         \
		  .help = "do not verify certificates; allow http://" },                \
	{                                                                               \
		.name = "redfish-chassis", .env = "TW_REDFISH_CHASSIS",                 \
		.type = TW_OPT_LIST, .offset = offsetof(config, redfish.chassis),       \
		.arg = "ID,...",                                                        \
		.help = "read these chassis (default: the outermost that report power)" \
	}

#define TW_OPT_REDFISH_INTERVAL(config)                                             \
	{                                                                           \
		.name = "redfish-interval", .env = "TW_REDFISH_INTERVAL",           \
		.type = TW_OPT_DURATION_MS,                                         \
		.offset = offsetof(config, redfish.interval_ms), .fallback = "10s", \
		.arg = "TIME", .help = "time between two readings: 1s to 1h"        \
	}

/* config has a struct tw_pods_options pods. */
#define TW_OPTS_PODS(config)                                                             \
	{ .name = "kubelet",                                                             \
	  .env = "TW_KUBELET",                                                           \
	  .type = TW_OPT_TEXT,                                                           \
	  .offset = offsetof(config, pods.kubelet),                                      \
	  .arg = "URL",                                                                  \
	  .help = "get pod names from this kubelet: https://ADDR:10250" },               \
		{ .name = "kube-api",                                                    \
		  .env = "TW_KUBE_API",                                                  \
		  .type = TW_OPT_TEXT,                                                   \
		  .offset = offsetof(config, pods.kube_api),                             \
		  .arg = "URL",                                                          \
		  .help = "or from this API server, for the pods of --node-name" },      \
		{ .name = "kube-token",                                                  \
		  .env = "TW_KUBE_TOKEN",                                                \
		  .type = TW_OPT_TEXT,                                                   \
		  .offset = offsetof(config, pods.token),                                \
		  .arg = "FILE",                                                         \
		  .help = "bearer token (default: the service account's)" },             \
		{ .name = "kube-ca",                                                     \
		  .env = "TW_KUBE_CA",                                                   \
		  .type = TW_OPT_TEXT,                                                   \
		  .offset = offsetof(config, pods.ca),                                   \
		  .arg = "FILE",                                                         \
		  .help = "trust these certificate authorities (default: the service "   \
			  "account's, else the system's)" },                             \
		{ .name = "kube-insecure",                                               \
		  .env = "TW_KUBE_INSECURE",                                             \
		  .type = TW_OPT_BOOL,                                                   \
		  .offset = offsetof(config, pods.insecure),                             \
		  .help = "do not verify certificates; allow http://" },                 \
	{                                                                                \
		.name = "kube-interval", .env = "TW_KUBE_INTERVAL",                      \
		.type = TW_OPT_DURATION_MS,                                              \
		.offset = offsetof(config, pods.interval_ms), .fallback = "1m",          \
		.arg = "TIME",                                                           \
		.help = "time between two requests: 1s to 1h; new pods cause one sooner" \
	}

#endif /* TW_COLLECTOR_ASK_OPTIONS_H */
