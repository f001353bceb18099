/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/http/server/expo.h"
#include "lib/http/server/httpd.h"
#include "lib/http/server/httpd_stats.h"
#include "model-db/index/index.h"
#include "server/model_metrics.h"
#include "server/pull_metrics.h"
#include "server/routes.h"
#include "server/service.h"

#include <stdatomic.h>

static const struct tw_expo_family build = {
	.name = "tw_build_info",
	.type = TW_EXPO_INFO,
	.help = "Version of the program.",
};

static const struct tw_expo_family models = {
	.name = "tw_models",
	.type = TW_EXPO_GAUGE,
	.help = "Models in the index.",
};

static const struct tw_expo_family pipelines = {
	.name = "tw_pipelines",
	.type = TW_EXPO_GAUGE,
	.help = "Pipelines in the index.",
};

static const struct tw_expo_family refused = {
	.name = "tw_models_refused",
	.type = TW_EXPO_GAUGE,
	.help = "Files and directories that the last reload rejected; the log has the "
		"reasons.",
};

static const struct tw_expo_family given_up = {
	.name = "tw_models_given_up_total",
	.type = TW_EXPO_COUNTER,
	.help = "Models that failed in use and are served no more.",
};

static const struct tw_expo_family reloads = {
	.name = "tw_reloads_total",
	.type = TW_EXPO_COUNTER,
	.help = "How often the database was read, by result.",
};

static const struct tw_expo_family loaded = {
	.name = "tw_loaded_timestamp_seconds",
	.type = TW_EXPO_GAUGE,
	.unit = "seconds",
	.help = "Time at which the served index was made.",
};

static const struct tw_expo_family load_time = {
	.name = "tw_load_seconds",
	.type = TW_EXPO_GAUGE,
	.unit = "seconds",
	.help = "Duration of making the served index.",
};

static void write_one(struct tw_expo *e, const struct tw_expo_family *f, double value)
{
	tw_expo_family(e, f);
	tw_expo_sample(e, NULL, 0, value);
}

static void write_reloads(const struct tw_service *s, struct tw_expo *e)
{
	static const struct tw_expo_label ok = { "result", "ok" };
	static const struct tw_expo_label failed = { "result", "failed" };

	tw_expo_family(e, &reloads);
	tw_expo_count(e, &ok, 1, atomic_load(&s->reloads));
	tw_expo_count(e, &failed, 1, atomic_load(&s->reloads_failed));
	write_one(e, &loaded, (double)atomic_load(&s->loaded_s));
	write_one(e, &load_time, (double)atomic_load(&s->load_us) / 1e6);
	write_one(e, &refused, (double)atomic_load(&s->refused));
	tw_expo_family(e, &given_up);
	tw_expo_count(e, NULL, 0, atomic_load(&s->catalog.given_up));
}

static void write_index(const struct tw_service *s, struct tw_index *x, struct tw_expo *e)
{
	write_one(e, &models, x != NULL ? (double)tw_index_count(x) : 0);
	write_one(e, &pipelines, x != NULL ? (double)tw_index_pipeline_count(x) : 0);
	if (x != NULL)
		tw_model_metrics_write(x, s->weights_metrics, e);
}

static void get_metrics(void *app, const struct tw_http_request *q,
			struct tw_http_reply *r)
{
	static const struct tw_expo_label version[] = { { "program", "tw-server" },
							{ "version", TW_VERSION } };
	struct tw_service *s = app;
	struct tw_index *x = tw_catalog_current(&s->catalog);
	struct tw_buf b = { 0 };
	struct tw_expo e = { .out = &b,
			     .format = tw_expo_wanted(tw_http_header(q, "Accept")) };

	tw_expo_family(&e, &build);
	tw_expo_sample(&e, version, 2, 1);
	if (s->http != NULL)
		tw_http_stats_write(s->http, &e);
	write_reloads(s, &e);
	tw_pull_metrics_write(s->pulls, &e);
	write_index(s, x, &e);
	tw_expo_end(&e);
	tw_index_unref(x);
	tw_http_reply_buf(r, &b);
	r->content_type = tw_expo_content_type(e.format);
	tw_http_reply_header(r, "Vary", "Accept");
}

const struct tw_http_route tw_route_metrics = {
	.method = "GET",
	.path = "/metrics",
	.handle = get_metrics,
};
