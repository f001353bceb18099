/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_SERVICE_H
#define TW_SERVER_SERVICE_H

/* State shared by the routes of tw-server: the app that handlers get. */

#include "server/catalog.h"

#include <stdatomic.h>
#include <stdbool.h>

struct tw_http_stats;
struct tw_machine_spec;
struct tw_pulls;
struct tw_uploads;

struct tw_service {
	struct tw_catalog catalog;
	struct tw_http_stats *http; /* NULL: requests are not counted */
	struct tw_uploads *uploads;
	struct tw_pulls *pulls; /* NULL: no pipeline is pulled */
	const char *model_db;
	const struct tw_machine_spec *default_machine; /* NULL: none */
	bool serve_foreign;   /* send files of kepler-model-server, pickles among them */
	atomic_flag packing;  /* set while a pipeline is packed */
	int reload_fd;        /* an eventfd: write to it to reload; -1: no reload */
	bool weights_metrics; /* --weights-metrics */

	/* Written by the main thread. */
	atomic_ullong reloads, reloads_failed;
	atomic_ullong refused; /* models left out by the last reload */
	atomic_llong loaded_s; /* time of the last reload, s since the epoch */
	atomic_ullong load_us; /* duration of the last reload */
};

#define TW_SERVICE_EMPTY                                                  \
	{                                                                 \
		.catalog = TW_CATALOG_EMPTY, .packing = ATOMIC_FLAG_INIT, \
		.reload_fd = -1                                           \
	}

#endif /* TW_SERVER_SERVICE_H */
