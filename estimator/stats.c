/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/stats.h"

#include "estimator/history.h"
#include "estimator/models.h"
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

enum { REFUSED, ANSWER, MODEL, MODEL_AGE };

static const struct tw_expo_family families[] = {
	[REFUSED] = { "tallywatt_estimator_refused_total", TW_EXPO_COUNTER, NULL,
		      "Requests answered without watts, by reason." },
	[ANSWER] = { "tallywatt_estimator_answer_seconds", TW_EXPO_HISTOGRAM, "seconds",
		     "Time from the last byte of a request to the last byte of its "
		     "answer." },
	[MODEL] = { "tallywatt_estimator_model_info", TW_EXPO_INFO, NULL,
		    "A model that answers requests." },
	[MODEL_AGE] = { "tallywatt_estimator_model_age_seconds", TW_EXPO_GAUGE, "seconds",
			"Time since the origin last confirmed the model." },
};

/* All counts without labels. */
struct counts {
	struct tw_stats s;
	struct tw_models_counts models;
	uint64_t open, series, dropped, nodes;
};

#define ROW(type, name, help, object, member)                                        \
	TW_EXPO_ROW("tallywatt_estimator_" name, TW_EXPO_##type, NULL, help, object, \
		    member, 1)
#define COUNT(type, name, help, member) ROW(type, name, help, struct counts, member)

static const struct tw_expo_row of_requests[] = {
	COUNT(COUNTER, "connections_total", "Accepted connections.", s.connections),
	COUNT(GAUGE, "open_connections", "Open connections.", open),
	COUNT(COUNTER, "denied_total",
	      "Connections refused because --allow-users does not list the user.",
	      s.denied),
	COUNT(COUNTER, "crowded_out_total",
	      "Idle connections closed because --connections was reached.",
	      s.crowded_out),
	COUNT(COUNTER, "answers_total", "Answered requests.", s.answers),
	COUNT(COUNTER, "rows_total", "Rows of answered requests.", s.rows),
};

static const struct tw_expo_row of_series[] = {
	COUNT(GAUGE, "series", "Series with remembered rows.", series),
	COUNT(COUNTER, "series_forgotten_total",
	      "Series dropped because --series-memory was full.", dropped),
	COUNT(GAUGE, "node_series",
	      "Clients of version 1 whose rows of their node are remembered.", nodes),
};

#define ORIGIN(type, name, help, member) \
	ROW(type, name, help, struct tw_origin_counts, member)

static const struct tw_expo_row of_origin[] = {
	ORIGIN(COUNTER, "model_lookups_total", "Lookups of models, by origin.", lookups),
	ORIGIN(COUNTER, "model_failures_total",
	       "Lookups that found no usable model, by origin.", failed),
	ORIGIN(COUNTER, "model_loads_total", "Models loaded, by origin.", loaded),
	ORIGIN(GAUGE, "models_failing",
	       "Keys of the model table whose last lookup failed, by origin.", failing),
};

static const struct tw_expo_row of_keep[] = {
	COUNT(COUNTER, "keep_failures_total",
	      "Models that could not be written to the directory of --keep.",
	      models.keep_failures),
};

void tw_stats_list(struct tw_buf *out)
{
	static const struct tw_expo_table all[] = {
		TW_EXPO_TABLE(families),  TW_EXPO_TABLE(of_requests),
		TW_EXPO_TABLE(of_series), TW_EXPO_TABLE(of_origin),
		TW_EXPO_TABLE(of_keep),   { .first = NULL },
	};

	tw_expo_list(out, all);
}

void tw_stats_took(struct tw_stats *s, uint64_t ns)
{
	const double seconds = (double)ns * 1e-9;
	size_t i = 0;

	while (i < TW_STATS_BOUNDS && seconds > bounds_s[i])
		i++;
	s->took[i]++;
	s->took_s += seconds;
}

static void write_refused(struct tw_expo *e, const struct tw_stats *s)
{
	tw_expo_family(e, &families[REFUSED]);
	for (int i = 0; i < TW_REFUSED_COUNT; i++)
		tw_expo_count_by(e, "reason", reasons[i], s->refused[i]);
}

static void write_origins(struct tw_expo *e, const struct tw_models_counts *c)
{
	for (size_t f = 0; f < TW_COUNT(of_origin); f++) {
		tw_expo_family(e, &of_origin[f].family);
		for (int o = 0; o < TW_ORIGIN_COUNT; o++) {
			struct tw_labels l = { .count = 0 };

			tw_labels_add(&l, "origin", tw_origin_name((enum tw_origin)o));
			tw_expo_number(e, &of_origin[f], &l, &c->of[o]);
		}
	}
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

	tw_expo_family(e, &families[MODEL]);
	for (size_t i = 0; i < count; i++)
		write_model(e, used[i], 1.0);
	tw_expo_family(e, &families[MODEL_AGE]);
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
	struct counts c = { .s = *s,
			    .open = open,
			    .series = tw_history_count(h),
			    .dropped = tw_history_dropped(h),
			    .nodes = tw_node_series_count(nodes) };

	tw_models_count(m, &c.models);
	tw_expo_numbers(e, of_requests, TW_COUNT(of_requests), &c);
	write_refused(e, s);
	tw_expo_family(e, &families[ANSWER]);
	tw_expo_histogram(e, NULL, 0, bounds_s, TW_STATS_BOUNDS, s->took, s->took_s);
	tw_expo_numbers(e, of_series, TW_COUNT(of_series), &c);
	write_origins(e, &c.models);
	tw_expo_numbers(e, of_keep, TW_COUNT(of_keep), &c);
	write_models(e, m);
}
