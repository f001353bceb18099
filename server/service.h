/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_SERVICE_H
#define TW_SERVER_SERVICE_H

/*
 * What the routes of tw-server share: the app that their handlers get.
 */

#include "server/catalog.h"

#include <stdatomic.h>
#include <stdbool.h>

struct tw_http_stats;
struct tw_pulls;
struct tw_uploads;

struct tw_service {
	struct tw_catalog catalog;
	struct tw_http_stats *http; /* NULL: not counted */
	const struct tw_uploads *uploads;
	struct tw_pulls *pulls; /* NULL: nothing is pulled */
	const char *model_db;
	bool serve_foreign;   /* other programs\' files are passed through */
	atomic_flag packing;  /* a pipeline is being packed for somebody */
	int reload_fd;        /* an eventfd: write to reload; -1: cannot */
	bool weights_metrics; /* weights as gauges */

	/* Written by the main thread. */
	atomic_ullong reloads, reloads_failed;
	atomic_ullong refused; /* models left out by the last reload */
	atomic_llong loaded_s; /* when that was: seconds since 1970 */
	atomic_ullong load_us; /* how long it took */
};

#define TW_SERVICE_EMPTY                                                  \
	{                                                                 \
		.catalog = TW_CATALOG_EMPTY, .packing = ATOMIC_FLAG_INIT, \
		.reload_fd = -1                                           \
	}

#endif /* TW_SERVER_SERVICE_H */
