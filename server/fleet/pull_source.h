/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_PULL_SOURCE_H
#define TW_SERVER_PULL_SOURCE_H

/*
 * Sources of pulled pipelines (docs/tw-server.md, "Pulling"): a list of [NAME=]WHERE.
 * WHERE is a URL, a path that begins with '/' (or file://), or a name; ".zip" is appended
 * to a name, which is relative to another URL or path. A WHERE that ends in
 * ".rollout.json" names the versions of a pipeline (server/fleet/rollout.h).
 */

#include "lib/http/client/url.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_strs;

#define TW_PULL_SOURCES_MAX 64

struct tw_pull_source {
	char *pipeline; /* name in the database */
	char *from;     /* URL, or path of a zip or directory */
	bool local;
	bool rollout;             /* from names a rollout, not a pipeline */
	char shown[TW_URL_SHOWN]; /* without secrets */
};

struct tw_pull_sources {
	struct tw_pull_source at[TW_PULL_SOURCES_MAX];
	size_t count;
};

/*
 * top: base of names; NULL: no base. With an empty list and a top the sources are the
 * default pipelines of kepler-model-server. *out must be all zero; it is yours, also
 * after a failure: tw_pull_sources_release(). TW_INVALID names the entry.
 */
int tw_pull_sources_read(const struct tw_strs *list, const char *top,
			 struct tw_pull_sources *out, struct tw_err *err);

void tw_pull_sources_release(struct tw_pull_sources *s);

#endif /* TW_SERVER_PULL_SOURCE_H */
