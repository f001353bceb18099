/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ASK_OPTIONS_H
#define TW_COLLECTOR_ASK_OPTIONS_H

/*
 * Options for the services behind tw-ask: rows for a program's table (lib/program/opt.h),
 * and the structs that they fill.
 */

#include "collector/ask/redfish.h"
#include "collector/ask/value.h"
#include "collector/push/format.h"
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

/* Receivers that get the metrics. */
struct tw_push_options {
	char *url[TW_PUSH_COUNT];    /* NULL: none */
	char *access[TW_PUSH_COUNT]; /* paths of files with credentials; NULL: none */
	uint64_t interval_ms, timeout_ms;
	struct tw_strs labels; /* NAME=VALUE */
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
int tw_push_options_check(const struct tw_push_options *o, struct tw_err *err);

/* config has a struct tw_redfish_options redfish. */
#define TW_OPTS_REDFISH(config)                                                         \
	{ TW_OPT_ROW(config, TEXT, "redfish", redfish.url, "URL",                       \
		     "read power from this management controller: https://ADDR"),       \
	  .env = "TW_REDFISH" },                                                        \
		{ TW_OPT_ROW(config, TEXT, "redfish-login", redfish.login, "FILE",      \
			     "file with 'user = NAME' and 'password = TEXT', readable " \
			     "only by its owner"),                                      \
		  .env = "TW_REDFISH_LOGIN" },                                          \
		{ TW_OPT_ROW(config, CHOICE, "redfish-auth", redfish.auth, "HOW",       \
			     "login: auto (a session, else basic), session or basic"),  \
		  .env = "TW_REDFISH_AUTH", .fallback = "auto",                         \
		  .choices = tw_redfish_auth_names },                                   \
		{ TW_OPT_ROW(config, TEXT, "redfish-ca", redfish.ca, "FILE",            \
			     "trust these certificate authorities instead of the "      \
			     "system's"),                                               \
		  .env = "TW_REDFISH_CA" },                                             \
		{ TW_OPT_ROW(config, BOOL, "redfish-insecure", redfish.insecure, NULL,  \
			     "do not verify certificates; allow http://"),              \
		  .env = "TW_REDFISH_INSECURE" },                                       \
	{                                                                               \
		TW_OPT_ROW(config, LIST, "redfish-chassis", redfish.chassis, "ID,...",  \
			   "read these chassis (default: the outermost that report "    \
			   "power)"),                                                   \
			.env = "TW_REDFISH_CHASSIS"                                     \
	}

/* config has a struct tw_own_meter_options own_meter. */
#define TW_OPTS_OWN_METER(config)                                                       \
	{ TW_OPT_ROW(config, TEXT, "meter-command", own_meter.command, "CMD",           \
		     "read power from this command, which prints a value a line"),      \
	  .env = "TW_METER_COMMAND" },                                                  \
		{ TW_OPT_ROW(config, TEXT, "meter-file", own_meter.file, "PATH",        \
			     "read power from this file, which holds a value"),         \
		  .env = "TW_METER_FILE" },                                             \
		{ TW_OPT_ROW(config, TEXT, "meter-prometheus", own_meter.prometheus,    \
			     "URL",                                                     \
			     "read power from this Prometheus server, by --query"),     \
		  .env = "TW_METER_PROMETHEUS" },                                       \
		{ TW_OPT_ROW(config, TEXT, "query", own_meter.query, "EXPR",            \
			     "PromQL of --meter-prometheus, with a single series"),     \
		  .env = "TW_QUERY" },                                                  \
		{ TW_OPT_ROW(config, TEXT, "meter-source", own_meter.source, "NAME",    \
			     "energy source of that meter (default: command, file, "    \
			     "prometheus)"),                                            \
		  .env = "TW_METER_SOURCE" },                                           \
		{ TW_OPT_ROW(config, CHOICE, "meter-zone", own_meter.zone, "ZONE",      \
			     "the part of the machine that it measures"),               \
		  .env = "TW_METER_ZONE", .fallback = "platform",                       \
		  .choices = tw_own_meter_zones },                                      \
		{ TW_OPT_ROW(config, CHOICE, "meter-unit", own_meter.unit, "UNIT",      \
			     "unit: power (W, mW, uW), or a counter of energy (J, mJ, " \
			     "uJ, Wh, kWh)"),                                           \
		  .env = "TW_METER_UNIT", .fallback = "W", .choices = tw_unit_names },  \
		{ TW_OPT_ROW(config, DURATION_MS, "meter-interval",                     \
			     own_meter.interval_ms, "TIME",                             \
			     "time between two of its values"),                         \
		  .env = "TW_METER_INTERVAL", .fallback = "1s", .min = 100,             \
		  .max = 3600000 },                                                     \
		{ TW_OPT_ROW(config, DURATION_MS, "meter-window", own_meter.window_ms,  \
			     "TIME",                                                    \
			     "time that its power averages, or between two steps of "   \
			     "its counter (0: unknown)"),                               \
		  .env = "TW_METER_WINDOW", .fallback = "0", .max = 3600000 },          \
		{ TW_OPT_ROW(config, TEXT, "meter-user", own_meter.user, "NAME",        \
			     "user that runs the command (default: the user of the "    \
			     "collector)"),                                             \
		  .env = "TW_METER_USER" },                                             \
		{ TW_OPT_ROW(config, TEXT, "meter-login", own_meter.login, "FILE",      \
			     "file with 'user = NAME' and 'password = TEXT' for the "   \
			     "server"),                                                 \
		  .env = "TW_METER_LOGIN" },                                            \
		{ TW_OPT_ROW(config, TEXT, "meter-token", own_meter.token, "FILE",      \
			     "file with a bearer token for the server"),                \
		  .env = "TW_METER_TOKEN" },                                            \
	{                                                                               \
		TW_OPT_ROW(                                                             \
			config, TEXT, "meter-ca", own_meter.ca, "FILE",                 \
			"trust these certificate authorities instead of the system's"), \
			.env = "TW_METER_CA"                                            \
	}

#endif /* TW_COLLECTOR_ASK_OPTIONS_H */
