/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ASK_OPTIONS_H
#define TW_COLLECTOR_ASK_OPTIONS_H

/*
 * Whom to ask, as options: rows for a program's table (lib/program/opt.h), and what they
 * fill.
 */

#include "collector/ask/redfish.h"
#include "lib/core/strs.h"
#include "lib/program/opt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;

/* A management controller by HTTP. */
struct tw_redfish_options {
	char *url;     /* NULL: none */
	char *login;   /* file of credentials; NULL: none */
	unsigned auth; /* enum tw_redfish_auth */
	char *ca;      /* file; NULL: the system's */
	bool insecure;
	struct tw_strs chassis; /* empty: the outermost ones */
	uint64_t interval_ms;
};

/* Who knows the names of pods. */
struct tw_pods_options {
	char *kubelet;  /* "https://10.0.0.5:10250": its pods */
	char *kube_api; /* "https://10.96.0.1": those of this node; one of both, or NULL
			 */
	char *token;    /* file; NULL: the service account's, if there is one */
	char *ca;       /* file; NULL: the service account's, else the system's */
	bool insecure;
	uint64_t interval_ms;
};

/* What is wrong with them that can be known at once: the URL, the file of credentials. */
int tw_redfish_options_check(const struct tw_redfish_options *o, struct tw_err *err);
int tw_pods_options_check(const struct tw_pods_options *o, struct tw_err *err);

/* config has a struct tw_redfish_options redfish. */
#define TW_OPTS_REDFISH(config)                                                          \
	{ .name = "redfish",                                                             \
	  .env = "TW_REDFISH",                                                           \
	  .type = TW_OPT_TEXT,                                                           \
	  .offset = offsetof(config, redfish.url),                                       \
	  .arg = "URL",                                                                  \
	  .help = "ask this management controller: https://ADDR" },                      \
		{ .name = "redfish-login",                                               \
		  .env = "TW_REDFISH_LOGIN",                                             \
		  .type = TW_OPT_TEXT,                                                   \
		  .offset = offsetof(config, redfish.login),                             \
		  .arg = "FILE",                                                         \
		  .help = "its 'user = NAME' and 'password = TEXT', for nobody else to " \
			  "read" },                                                      \
		{ .name = "redfish-auth",                                                \
		  .env = "TW_REDFISH_AUTH",                                              \
		  .type = TW_OPT_CHOICE,                                                 \
		  .offset = offsetof(config, redfish.auth),                              \
		  .fallback = "auto",                                                    \
		  .arg = "HOW",                                                          \
		  .help = "auto (a session where it makes one), session or basic",       \
		  .choices = tw_redfish_auth_names },                                    \
		{ .name = "redfish-ca",                                                  \
		  .env = "TW_REDFISH_CA",                                                \
		  .type = TW_OPT_TEXT,                                                   \
		  .offset = offsetof(config, redfish.ca),                                \
		  .arg = "FILE",                                                         \
		  .help = "believe certificates of these authorities, in place of the "  \
			  "system's" },                                                  \
		{ .name = "redfish-insecure",                                            \
		  .env = "TW_REDFISH_INSECURE",                                          \
		  .type = TW_OPT_BOOL,                                                   \
		  .offset = offsetof(config, redfish.insecure),                          \
		  .help = "believe whoever answers; and take http://" },                 \
	{                                                                                \
		.name = "redfish-chassis", .env = "TW_REDFISH_CHASSIS",                  \
		.type = TW_OPT_LIST, .offset = offsetof(config, redfish.chassis),        \
		.arg = "ID,...",                                                         \
		.help = "these chassis; if not given, the outermost that tell power"     \
	}

#define TW_OPT_REDFISH_INTERVAL(config)                                             \
	{                                                                           \
		.name = "redfish-interval", .env = "TW_REDFISH_INTERVAL",           \
		.type = TW_OPT_DURATION_MS,                                         \
		.offset = offsetof(config, redfish.interval_ms), .fallback = "10s", \
		.arg = "TIME", .help = "between two questions: 1s to 1h"            \
	}

/* config has a struct tw_pods_options pods. */
#define TW_OPTS_PODS(config)                                                            \
	{ .name = "kubelet",                                                            \
	  .env = "TW_KUBELET",                                                          \
	  .type = TW_OPT_TEXT,                                                          \
	  .offset = offsetof(config, pods.kubelet),                                     \
	  .arg = "URL",                                                                 \
	  .help = "ask this kubelet for names of pods: https://ADDR:10250" },           \
		{ .name = "kube-api",                                                   \
		  .env = "TW_KUBE_API",                                                 \
		  .type = TW_OPT_TEXT,                                                  \
		  .offset = offsetof(config, pods.kube_api),                            \
		  .arg = "URL",                                                         \
		  .help = "or this API server, for those of --node-name" },             \
		{ .name = "kube-token",                                                 \
		  .env = "TW_KUBE_TOKEN",                                               \
		  .type = TW_OPT_TEXT,                                                  \
		  .offset = offsetof(config, pods.token),                               \
		  .arg = "FILE",                                                        \
		  .help = "bearer token for it; if not given, the service account's" }, \
		{ .name = "kube-ca",                                                    \
		  .env = "TW_KUBE_CA",                                                  \
		  .type = TW_OPT_TEXT,                                                  \
		  .offset = offsetof(config, pods.ca),                                  \
		  .arg = "FILE",                                                        \
		  .help = "believe certificates of these authorities; if not given, "   \
			  "the "                                                        \
			  "service account's or the system's" },                        \
		{ .name = "kube-insecure",                                              \
		  .env = "TW_KUBE_INSECURE",                                            \
		  .type = TW_OPT_BOOL,                                                  \
		  .offset = offsetof(config, pods.insecure),                            \
		  .help = "believe whoever answers; and take http://" },                \
	{                                                                               \
		.name = "kube-interval", .env = "TW_KUBE_INTERVAL",                     \
		.type = TW_OPT_DURATION_MS,                                             \
		.offset = offsetof(config, pods.interval_ms), .fallback = "1m",         \
		.arg = "TIME",                                                          \
		.help = "between two questions: 1s to 1h; sooner for new pods"          \
	}

#endif /* TW_COLLECTOR_ASK_OPTIONS_H */
