/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/stats.h"

#include "estimator/history.h"
#include "estimator/models.h"
#include "estimator/node_series.h"
#include "estimator/predict/power_model.h"
#include "lib/core/array.h"
#include "lib/http/server/expo.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

static const double bounds_s[TW_STATS_BOUNDS] = { 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4,
						  5e-4, 1e-3,   1e-2, 1e-1, 1.0 };

static const char *const reasons[TW_REFUSED_COUNT] = {
	[TW_REFUSED_MALFORMED] = "malformed",
	[TW_REFUSED_NO_MODEL] = "no_model",
	[TW_REFUSED_LATE] = "late",
};

static const struct tw_expo_family accepted = { "tallywatt_estimator_connections_total",
						TW_EXPO_COUNTER, NULL,
						"Accepted connections." };
static const struct tw_expo_family denied = {
	"tallywatt_estimator_denied_total", TW_EXPO_COUNTER, NULL,
	"Connections refused because --allow-users does not list the user."
};
static const struct tw_expo_family crowded_out = {
	"tallywatt_estimator_crowded_out_total", TW_EXPO_COUNTER, NULL,
	"Idle connections closed because --connections was reached."
};
static const struct tw_expo_family open_now = { "tallywatt_estimator_connections",
						TW_EXPO_GAUGE, NULL,
						"Open connections." };
static const struct tw_expo_family answers = { "tallywatt_estimator_answers_total",
					       TW_EXPO_COUNTER, NULL,
					       "Answered requests." };
static const struct tw_expo_family rows = { "tallywatt_estimator_rows_total",
					    TW_EXPO_COUNTER, NULL,
					    "Rows of answered requests." };
static const struct tw_expo_family refused = {
	"tallywatt_estimator_refused_total", TW_EXPO_COUNTER, NULL,
	"Requests answered without watts, by reason."
};
static const struct tw_expo_family took = {
	"tallywatt_estimator_answer_seconds", TW_EXPO_HISTOGRAM, "seconds",
	"Time from the last byte of a request to the last byte of its answer."
};
static const struct tw_expo_family lookups = { "tallywatt_estimator_model_lookups_total",
					       TW_EXPO_COUNTER, NULL,
					       "Lookups of models, by origin." };
static const struct tw_expo_family failed = {
	"tallywatt_estimator_model_failures_total", TW_EXPO_COUNTER, NULL,
	"Lookups that found no usable model, by origin."
};
static const struct tw_expo_family loaded = { "tallywatt_estimator_model_loads_total",
					      TW_EXPO_COUNTER, NULL,
					      "Models loaded, by origin." };
static const struct tw_expo_family failing = {
	"tallywatt_estimator_models_failing", TW_EXPO_GAUGE, NULL,
	"Keys of the model table whose last lookup failed, by origin."
};
static const struct tw_expo_family series = { "tallywatt_estimator_series", TW_EXPO_GAUGE,
					      NULL, "Series with remembered rows." };
static const struct tw_expo_family dropped = {
	"tallywatt_estimator_series_forgotten_total", TW_EXPO_COUNTER, NULL,
	"Series dropped because --series-memory was full."
};
static const struct tw_expo_family node_series = {
	"tallywatt_estimator_node_series", TW_EXPO_GAUGE, NULL,
	"Clients of version 1 whose rows of their node are remembered."
};
static const struct tw_expo_family keep_failures = {
	"tallywatt_estimator_keep_failures_total", TW_EXPO_COUNTER, NULL,
	"Models that could not be written to the directory of --keep."
};
static const struct tw_expo_family model_info = { "tallywatt_estimator_model_info",
						  TW_EXPO_INFO, NULL,
						  "A model that answers requests." };
static const struct tw_expo_family model_age = {
	"tallywatt_estimator_model_age_seconds", TW_EXPO_GAUGE, "seconds",
	"Time since the origin last confirmed the model."
};

void tw_stats_took(struct tw_stats *s, uint64_t ns)
{
	const double seconds = (double)ns * 1e-9;
	size_t i = 0;

	while (i < TW_STATS_BOUNDS && seconds > bounds_s[i])
		i++;
	s->took[i]++;
	s->took_s += seconds;
}

static void write_count(struct tw_expo *e, const struct tw_expo_family *f, uint64_t n)
{
	tw_expo_family(e, f);
	tw_expo_count(e, NULL, 0, n);
}

static void write_refused(struct tw_expo *e, const struct tw_stats *s)
{
	tw_expo_family(e, &refused);
	for (int i = 0; i < TW_REFUSED_COUNT; i++) {
		const struct tw_expo_label label = { "reason", reasons[i] };

		tw_expo_count(e, &label, 1, s->refused[i]);
	}
}

static void write_origins(struct tw_expo *e, const struct tw_models_counts *c)
{
	const struct tw_expo_family *const families[] = { &lookups, &failed, &loaded,
							  &failing };

	for (size_t f = 0; f < TW_COUNT(families); f++) {
		tw_expo_family(e, families[f]);
		for (int o = 0; o < TW_ORIGIN_COUNT; o++) {
			const struct tw_expo_label label = {
				"origin", tw_origin_name((enum tw_origin)o)
			};
			const uint64_t values[TW_COUNT(families)] = { c->of[o].lookups,
								      c->of[o].failed,
								      c->of[o].loaded,
								      c->of[o].failing };

			tw_expo_count(e, &label, 1, values[f]);
		}
	}
	write_count(e, &keep_failures, c->keep_failures);
}

static void write_model(struct tw_expo *e, const struct tw_served *s, double value)
{
	const struct tw_model_info *info = tw_power_model_info(s->model);
	const struct tw_expo_label labels[] = {
		{ "model", info->name },
		{ "output", tw_output_name(info->output) },
		{ "source", info->source->name },
		{ "group", info->group->name },
		{ "origin", tw_origin_name(s->origin) },
		{ "from", s->from },
	};

	tw_expo_sample(e, labels, TW_COUNT(labels), value);
}

/* A scraper rejects the whole scrape if two series have the same labels. */
static bool is_same(const struct tw_served *a, const struct tw_served *b)
{
	const struct tw_model_info *x = tw_power_model_info(a->model);
	const struct tw_model_info *y = tw_power_model_info(b->model);

	return a->origin == b->origin && x->output == y->output &&
	       x->source == y->source && x->group == y->group &&
	       strcmp(x->name, y->name) == 0 && strcmp(a->from, b->from) == 0;
}

/* Release the models whose labels equal those of an earlier one. */
static size_t drop_same(struct tw_models *m, struct tw_served **used, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		size_t k = 0;

		while (k < kept && !is_same(used[k], used[i]))
			k++;
		if (k < kept)
			tw_models_release(m, used[i]);
		else
			used[kept++] = used[i];
	}
	return kept;
}

static void write_models(struct tw_expo *e, struct tw_models *m)
{
	struct tw_served *used[TW_MODELS_KEYS_MAX];
	const size_t count = drop_same(m, used, tw_models_in_use(m, used));
	const double now_s = (double)time(NULL);

	tw_expo_family(e, &model_info);
	for (size_t i = 0; i < count; i++)
		write_model(e, used[i], 1.0);
	tw_expo_family(e, &model_age);
	for (size_t i = 0; i < count; i++)
		write_model(e, used[i],
			    now_s - (double)atomic_load(&used[i]->confirmed_s));
	for (size_t i = 0; i < count; i++)
		tw_models_release(m, used[i]);
}

void tw_stats_write(const struct tw_stats *s, size_t open, const struct tw_history *h,
		    const struct tw_node_series *nodes, struct tw_models *m,
		    struct tw_expo *e)
{
	struct tw_models_counts counts;

	tw_models_count(m, &counts);
	write_count(e, &accepted, s->connections);
	write_count(e, &open_now, open);
	write_count(e, &denied, s->denied);
	write_count(e, &crowded_out, s->crowded_out);
	write_count(e, &answers, s->answers);
	write_count(e, &rows, s->rows);
	write_refused(e, s);
	tw_expo_family(e, &took);
	tw_expo_histogram(e, NULL, 0, bounds_s, TW_STATS_BOUNDS, s->took, s->took_s);
	write_count(e, &series, tw_history_count(h));
	write_count(e, &dropped, tw_history_dropped(h));
	write_count(e, &node_series, tw_node_series_count(nodes));
	write_origins(e, &counts);
	write_models(e, m);
}
