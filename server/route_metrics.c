/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "lib/http/server/expo.h"
#include "lib/http/server/httpd.h"
#include "lib/http/server/httpd_stats.h"
#include "model-db/index/index.h"
#include "server/model_metrics.h"
#include "server/pull_metrics.h"
#include "server/routes.h"
#include "server/service.h"

#include <stdatomic.h>

static const struct tw_expo_family reloads[] = {
	{ "tw_reloads_total", TW_EXPO_COUNTER, NULL,
	  "How often the database was read, by result." },
};

struct numbers {
	double loaded_s, load_s;
	uint64_t refused, given_up;
	size_t models, pipelines;
};

#define ROW(name, type, unit, help, member) \
	TW_EXPO_ROW("tw_" name, type, unit, help, struct numbers, member, 1)

static const struct tw_expo_row of_reload[] = {
	ROW("loaded_timestamp_seconds", TW_EXPO_GAUGE, "seconds",
	    "Time at which the served index was made.", loaded_s),
	ROW("load_seconds", TW_EXPO_GAUGE, "seconds",
	    "Duration of making the served index.", load_s),
	ROW("models_refused", TW_EXPO_GAUGE, NULL,
	    "Files and directories that the last reload rejected; the log has the "
	    "reasons.",
	    refused),
	ROW("models_given_up_total", TW_EXPO_COUNTER, NULL,
	    "Models that failed in use and are served no more.", given_up),
};

static const struct tw_expo_row of_index[] = {
	ROW("models", TW_EXPO_GAUGE, NULL, "Models in the index.", models),
	ROW("pipelines", TW_EXPO_GAUGE, NULL, "Pipelines in the index.", pipelines),
};

void tw_server_list_metrics(struct tw_buf *out)
{
	static const struct tw_expo_table own[] = { TW_EXPO_TABLE(reloads),
						    TW_EXPO_TABLE(of_reload),
						    TW_EXPO_TABLE(of_index),
						    { .first = NULL } };

	tw_expo_list(out, tw_http_families);
	tw_expo_list(out, own);
	tw_expo_list(out, tw_pull_families);
	tw_expo_list(out, tw_model_families);
}

static void write_metrics(void *service, struct tw_expo *e)
{
	static const struct tw_expo_label ok = { "result", "ok" },
					  failed = { "result", "failed" };
	struct tw_service *s = service;
	struct tw_index *x = tw_catalog_current(&s->catalog);
	const struct numbers numbers = {
		.loaded_s = (double)atomic_load(&s->loaded_s),
		.load_s = (double)atomic_load(&s->load_us) / 1e6,
		.refused = atomic_load(&s->refused),
		.given_up = atomic_load(&s->catalog.given_up),
		.models = x != NULL ? tw_index_count(x) : 0,
		.pipelines = x != NULL ? tw_index_pipeline_count(x) : 0,
	};

	tw_http_stats_write(s->http, "tw-server", e);
	tw_expo_family(e, reloads);
	tw_expo_count(e, &ok, 1, atomic_load(&s->reloads));
	tw_expo_count(e, &failed, 1, atomic_load(&s->reloads_failed));
	tw_expo_numbers(e, of_reload, TW_COUNT(of_reload), &numbers);
	tw_pull_metrics_write(s->pulls, e);
	tw_expo_numbers(e, of_index, TW_COUNT(of_index), &numbers);
	if (x != NULL)
		tw_model_metrics_write(x, s->weights_metrics, e);
	tw_index_unref(x);
}

static void get_metrics(void *app, const struct tw_http_request *q,
			struct tw_http_reply *r)
{
	tw_http_reply_metrics(q, r, write_metrics, app);
}

const struct tw_http_route tw_route_metrics = {
	.method = "GET",
	.path = "/metrics",
	.handle = get_metrics,
};
