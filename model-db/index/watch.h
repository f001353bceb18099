/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_WATCH_H
#define TW_MODEL_DB_WATCH_H

/*
 * Reports that pipelines were added to or removed from a model database (inotify).
 * Publishing renames whole pipelines, so watching the database's directory is enough.
 * Names that start with a dot are a publisher's work in progress and ignored.
 */

#include <stdbool.h>

struct tw_err;

struct tw_watch {
	int fd; /* readable when there are events; -1: closed */
	int wd; /* -1: no directory is watched */
};

#define TW_WATCH_NONE              \
	{                          \
		.fd = -1, .wd = -1 \
	}

/* Open a watch on no directory yet. Yours: tw_watch_close(). */
int tw_watch_open(struct tw_watch *w, struct tw_err *err);

/* Watch this directory instead; false if it cannot be watched. */
bool tw_watch_directory(struct tw_watch *w, const char *dir);

/* Read the events; true if the database may have changed or is gone. */
bool tw_watch_changed(struct tw_watch *w);

void tw_watch_close(struct tw_watch *w);

#endif /* TW_MODEL_DB_WATCH_H */
