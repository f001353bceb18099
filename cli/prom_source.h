/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_PROM_SOURCE_H
#define TW_CLI_PROM_SOURCE_H

/* A Prometheus that a command reads: its options, and the range of time. */

#include "lib/http/client/credentials.h"
#include "lib/program/opt.h"
#include "trainer/record/prom_client.h"
#include "trainer/response/prom.h"

#include <stdint.h>

struct tw_err;

/* The options as given. */
struct tw_prom_source {
	char *server, *start, *end;
	uint64_t last_ms, timeout_ms, retry_ms, answer_max;
	uint32_t points;
	unsigned partial;
};

/* Rows of an option table. The config has a struct tw_prom_source named prom. */
#define TW_OPTS_PROM(config)                                                            \
	{ TW_OPT_ROW(config, TEXT, "server", prom.server, "URL",                        \
		     "URL of Prometheus, or of a server with its API"),                 \
	  .env = "PROM_SERVER", .fallback = "http://localhost:9090" },                  \
		{ TW_OPT_ROW(config, TEXT, "start", prom.start, "TIME",                 \
			     "first time: 2026-11-21T12:00:00Z, or seconds since the "  \
			     "epoch") },                                                \
		{ TW_OPT_ROW(config, TEXT, "end", prom.end, "TIME",                     \
			     "last time (default: now)") },                             \
		{ TW_OPT_ROW(                                                           \
			  config, U32, "points", prom.points, "N",                      \
			  "samples of a series in one reply; without a step, seconds"), \
		  .fallback = "11000", .min = 1, .max = 10000000 },                     \
		{ TW_OPT_ROW(config, DURATION_MS, "timeout", prom.timeout_ms, "TIME",   \
			     "time limit of a request"),                                \
		  .fallback = "150s" },                                                 \
		{ TW_OPT_ROW(config, DURATION_MS, "retry-for", prom.retry_ms, "TIME",   \
			     "time to repeat requests without an answer"),              \
		  .fallback = "2m" },                                                   \
		{ TW_OPT_ROW(config, SIZE_BYTES, "max-answer", prom.answer_max, "SIZE", \
			     "size limit of a reply"),                                  \
		  .fallback = "2GiB" },                                                 \
	{                                                                               \
		TW_OPT_ROW(config, CHOICE, "partial", prom.partial, "HOW",              \
			   "answers that lack series (Thanos, VictoriaMetrics): "       \
			   "refuse, or accept"),                                        \
			.fallback = "refuse", .choices = tw_prom_partial_names          \
	}

/* The range by start, end and last, without a step. */
int tw_prom_source_range(const struct tw_prom_source *s, struct tw_prom_range *out,
			 struct tw_err *err);

/* The client's configuration, without `stop`. Borrows from s and access. */
struct tw_prom_client_config tw_prom_source_client(const struct tw_prom_source *s,
						   const struct tw_credentials *access,
						   void (*say)(const char *text));

#endif /* TW_CLI_PROM_SOURCE_H */
