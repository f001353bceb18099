/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_MODEL_FINDER_H
#define TW_COLLECTOR_MODEL_FINDER_H

/*
 * A child process that finds models like tw-estimator does (estimator/models.h): in a
 * model server, at URLs and in databases. It refreshes them and keeps the last good
 * copies on disk.
 *
 * It passes each model to the collector as the open file of a zip. So the collector
 * starts no program, writes no file, makes no request and never waits. The finder drops
 * its rights, and exits when the collector does. A process between the two, which reads
 * only the names of the features, starts it again if it is killed or fails.
 *
 * A message is one datagram of fixed size. The collector trusts neither the message nor
 * the model.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tw_err;
struct tw_init_urls;
struct tw_power_model;
struct tw_strs;

#define TW_FINDER_SOURCES_MAX 8
#define TW_FINDER_TEXT 512

struct tw_model_finder_config {
	const struct tw_strs *sources; /* energy sources to find models for */
	const char *trainer, *filter;  /* NULL: any */
	const char *model_db, *shipped_db, *server_url, *server_path; /* NULL: none */
	const struct tw_init_urls *urls;                              /* NULL: none */
	const char *keep_dir; /* directory of the copies; NULL: none are kept */
	uint64_t refresh_ms;
	const char *proc, *sys;
	const char *user; /* user to switch to; NULL: no switch */
	bool filter_calls;
};

/*
 * Start the finder. Call it before other descriptors are opened and before any thread
 * starts. *fd is the collector's end and yours; *pid is a child, which exits once that
 * end is closed.
 */
int tw_model_finder_start(const struct tw_model_finder_config *c, int *fd, pid_t *pid,
			  struct tw_err *err);

/*
 * Send the features that models may use, once. Then the search begins. A finder that has
 * exited is not a failure.
 */
int tw_model_finder_send_metrics(int fd, const struct tw_strs *metrics,
				 struct tw_err *err);

/* Search all origins again. */
void tw_model_finder_reload(int fd);

/* A message about the model of one source. */
struct tw_model_news {
	uint32_t source;     /* index in sources */
	uint32_t failing;    /* origins that failed in the last refresh */
	int64_t confirmed_s; /* when the origin last confirmed it, seconds since 1970 */
	char origin[32];     /* "server"; "": no model, see why */
	char from[TW_FINDER_TEXT];
	char why[TW_FINDER_TEXT];
};

enum tw_model_finder_event {
	TW_FINDER_NOTHING, /* no message now */
	TW_FINDER_NEWS,
	TW_FINDER_GONE, /* the finder has exited */
};

/*
 * Read the next message without waiting. *model is yours; NULL: keep the current model.
 * If the model cannot be used, *model is NULL and why of the news gives the reason.
 */
enum tw_model_finder_event tw_model_finder_next(int fd, struct tw_model_news *news,
						struct tw_power_model **model);

#endif /* TW_COLLECTOR_MODEL_FINDER_H */
