/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_WATCH_H
#define TW_MODEL_DB_WATCH_H

/*
 * Whether pipelines come to and go from a model database (inotify). Pipelines are put
 * into place and taken away by a rename, so only the database's own names are watched;
 * names with a dot in front are a publisher's work in progress.
 */

#include <stdbool.h>

struct tw_err;

struct tw_watch {
	int fd; /* readable when something happened; -1: none */
	int wd; /* -1: the directory is not there */
};

#define TW_WATCH_NONE              \
	{                          \
		.fd = -1, .wd = -1 \
	}

/* Start to watch nothing. Yours: tw_watch_close(). */
int tw_watch_open(struct tw_watch *w, struct tw_err *err);

/* Watch this directory instead; false if it cannot be watched. */
bool tw_watch_directory(struct tw_watch *w, const char *dir);

/* Take what happened: true if the database may have changed or is gone. */
bool tw_watch_changed(struct tw_watch *w);

void tw_watch_close(struct tw_watch *w);

#endif /* TW_MODEL_DB_WATCH_H */
