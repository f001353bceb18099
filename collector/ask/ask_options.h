/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ASK_OPTIONS_H
#define TW_COLLECTOR_ASK_OPTIONS_H

/*
 * Options for the services behind tw-ask: rows for a program's table (lib/program/opt.h),
 * and the structs that they fill.
 */

#include "collector/ask/redfish.h"
#include "collector/ask/value.h"
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

/* A meter of the user's own: one of a command, a file and a query. */
struct tw_own_meter_options {
	char *command;            /* prints a value a line; NULL: none */
	char *file;               /* its first line is a value; NULL: none */
	char *prometheus;         /* URL of a server; NULL: none */
	char *query;              /* what to ask that server */
	char *source;             /* the energy source; NULL: the meter's name */
	unsigned zone;            /* index of tw_own_meter_zones */
	unsigned unit;            /* enum tw_unit */
	uint64_t interval_ms;     /* time between two values */
	uint64_t window_ms;       /* what a value averages; 0: unknown */
	char *user;               /* of the command; NULL: that of the collector */
	char *login, *token, *ca; /* paths, for the server; NULL: none */
};

/* Choices of --meter-zone; ends with NULL. */
extern const char *const tw_own_meter_zones[];

/* Check what can be checked at once: which options go together, names, files. */
int tw_own_meter_options_check(const struct tw_own_meter_options *o, struct tw_err *err);

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

#define TW_OPT_OWN_TEXT(config, flag, variable, field, what, line)                     \
	{                                                                              \
		.name = flag, .env = variable, .type = TW_OPT_TEXT,                    \
		.offset = offsetof(config, own_meter.field), .arg = what, .help = line \
	}

/* config has a struct tw_own_meter_options own_meter. */
#define TW_OPTS_OWN_METER(config)                                                        \
	TW_OPT_OWN_TEXT(config, "meter-command", "TW_METER_COMMAND", command, "CMD",     \
			"read power from this command, which prints a value a line"),    \
		TW_OPT_OWN_TEXT(config, "meter-file", "TW_METER_FILE", file, "PATH",     \
				"read power from this file, which holds a value"),       \
		TW_OPT_OWN_TEXT(config, "meter-prometheus", "TW_METER_PROMETHEUS",       \
				prometheus, "URL",                                       \
				"read power from this Prometheus server, by --query"),   \
		TW_OPT_OWN_TEXT(config, "query", "TW_QUERY", query, "EXPR",              \
				"PromQL of --meter-prometheus, with a single series"),   \
		TW_OPT_OWN_TEXT(config, "meter-source", "TW_METER_SOURCE", source,       \
				"NAME",                                                  \
				"energy source of that meter (default: command, file, "  \
				"prometheus)"),                                          \
		{ .name = "meter-zone",                                                  \
		  .env = "TW_METER_ZONE",                                                \
		  .type = TW_OPT_CHOICE,                                                 \
		  .offset = offsetof(config, own_meter.zone),                            \
		  .fallback = "platform",                                                \
		  .arg = "ZONE",                                                         \
		  .help = "the part of the machine that it measures",                    \
		  .choices = tw_own_meter_zones },                                       \
		{ .name = "meter-unit",                                                  \
		  .env = "TW_METER_UNIT",                                                \
		  .type = TW_OPT_CHOICE,                                                 \
		  .offset = offsetof(config, own_meter.unit),                            \
		  .fallback = "W",                                                       \
		  .arg = "UNIT",                                                         \
		  .help = "unit: power (W, mW, uW), or a counter of energy (J, mJ, uJ, " \
			  "Wh, kWh)",                                                    \
		  .choices = tw_unit_names },                                            \
		{ .name = "meter-interval",                                              \
		  .env = "TW_METER_INTERVAL",                                            \
		  .type = TW_OPT_DURATION_MS,                                            \
		  .offset = offsetof(config, own_meter.interval_ms),                     \
		  .fallback = "1s",                                                      \
		  .arg = "TIME",                                                         \
		  .help = "time between two of its values: 100ms to 1h" },               \
		{ .name = "meter-window",                                                \
		  .env = "TW_METER_WINDOW",                                              \
		  .type = TW_OPT_DURATION_MS,                                            \
		  .offset = offsetof(config, own_meter.window_ms),                       \
		  .fallback = "0",                                                       \
		  .arg = "TIME",                                                         \
		  .help = "time that its power averages, or between two steps of its "   \
			  "counter; 0: unknown" },                                       \
		TW_OPT_OWN_TEXT(config, "meter-user", "TW_METER_USER", user, "NAME",     \
				"user that runs the command (default: the user of the "  \
				"collector)"),                                           \
		TW_OPT_OWN_TEXT(config, "meter-login", "TW_METER_LOGIN", login, "FILE",  \
				"file with 'user = NAME' and 'password = TEXT' for the " \
				"server"),                                               \
		TW_OPT_OWN_TEXT(config, "meter-token", "TW_METER_TOKEN", token, "FILE",  \
				"file with a bearer token for the server"),              \
		TW_OPT_OWN_TEXT(config, "meter-ca", "TW_METER_CA", ca, "FILE",           \
				"trust these certificate authorities instead of the "    \
				"system's")

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
