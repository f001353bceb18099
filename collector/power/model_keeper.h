/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_MODEL_KEEPER_H
#define TW_COLLECTOR_MODEL_KEEPER_H

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

#define TW_KEEPER_SOURCES_MAX 8
#define TW_KEEPER_TEXT 512

struct tw_keeper_config {
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
int tw_keeper_start(const struct tw_keeper_config *c, int *fd, struct tw_err *err);

/* What models may be chosen by: sent once, then it begins. */
int tw_keeper_tell_metrics(int fd, const struct tw_strs *metrics, struct tw_err *err);

/* Look everywhere again. */
void tw_keeper_reload(int fd);

/* What it says of the model of one source. */
struct tw_keeper_news {
	uint32_t source;     /* of the list */
	uint32_t failing;    /* origins that were asked in vain the last time */
	int64_t confirmed_s; /* when the origin last said so, of the epoch */
	char origin[32];     /* "server"; "" where there is no model: why says it */
	char from[TW_KEEPER_TEXT];
	char why[TW_KEEPER_TEXT];
};

enum tw_keeper_said {
	TW_KEEPER_NOTHING, /* now */
	TW_KEEPER_NEWS,
	TW_KEEPER_GONE, /* and nothing more will come */
};

/*
 * The next message, without waiting. *model is yours, or NULL: the one that there is
 * stays. A model that cannot be used is told in why of the news, and is NULL.
 */
enum tw_keeper_said tw_keeper_hear(int fd, struct tw_keeper_news *news,
				   struct tw_power_model **model);

#endif /* TW_COLLECTOR_MODEL_KEEPER_H */
