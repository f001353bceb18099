/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_MODEL_FINDER_H
#define TW_COLLECTOR_MODEL_FINDER_H

/*
 * A child process that finds models as tw-estimator does (estimator/models.h): in a model
 * server, at URLs, in databases, again and again, with the last good copies on disk. It
 * hands them to the collector as zips through open files, so that the collector itself
 * starts no program, writes no file and asks nobody, and waits for none of that. Without
 * rights, and without a collector, it ends.
 *
 * One datagram is one message, of a fixed size; what is in it is not trusted more than
 * the model, which came from anywhere.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_init_urls;
struct tw_power_model;
struct tw_strs;

#define TW_FINDER_SOURCES_MAX 8
#define TW_FINDER_TEXT 512

struct tw_model_finder_config {
	const struct tw_strs *sources; /* energy sources that models are wanted of */
	const char *trainer, *filter;  /* NULL: any */
	const char *model_db, *shipped_db, *server_url, *server_path; /* NULL: none */
	const struct tw_init_urls *urls;                              /* NULL: none */
	const char *keep_dir; /* of copies; NULL: none are kept */
	uint64_t refresh_ms;
	const char *sys;
	const char *user; /* whom it becomes; NULL: nobody else */
	bool filter_calls;
};

/*
 * Start it: before descriptors are opened that are not its own, and before any thread.
 * *fd is yours: the collector's end.
 */
int tw_model_finder_start(const struct tw_model_finder_config *c, int *fd,
			  struct tw_err *err);

/* What models may be chosen by: sent once, then it begins. */
int tw_model_finder_send_metrics(int fd, const struct tw_strs *metrics,
				 struct tw_err *err);

/* Look everywhere again. */
void tw_model_finder_reload(int fd);

/* What it says of the model of one source. */
struct tw_model_news {
	uint32_t source;     /* of the list */
	uint32_t failing;    /* origins that were asked in vain the last time */
	int64_t confirmed_s; /* when the origin last said so, of the epoch */
	char origin[32];     /* "server"; "" where there is no model: why says it */
	char from[TW_FINDER_TEXT];
	char why[TW_FINDER_TEXT];
};

enum tw_model_finder_event {
	TW_FINDER_NOTHING, /* now */
	TW_FINDER_NEWS,
	TW_FINDER_GONE, /* and nothing more will come */
};

/*
 * The next message, without waiting. *model is yours, or NULL: the one that there is
 * stays. A model that cannot be used is told in why of the news, and is NULL.
 */
enum tw_model_finder_event tw_model_finder_next(int fd, struct tw_model_news *news,
						struct tw_power_model **model);

#endif /* TW_COLLECTOR_MODEL_FINDER_H */
