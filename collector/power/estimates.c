/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/estimates.h"

#include "collector/power/features.h"
#include "collector/power/model_finder.h"
#include "collector/power/node.h"
#include "collector/system/virtual.h"
#include "estimator/predict/power_model.h"
#include "lib/core/err.h"
#include "lib/program/log.h"
#include "profiler/discover.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Messages of the finder in one go: a tick waits for them. */
#define HEAR_MAX TW_FINDER_SOURCES_MAX

/* The model and component of a zone. */
struct estimated_zone {
	size_t model;
	enum tw_component component;
};

struct tw_estimates {
	struct tw_estimates_config c;
	const struct tw_node *node;
	struct tw_features features;
	struct tw_tick_rows ticks;
	uint32_t cores; /* 0: unknown */
	bool hide_idle;
	bool retired;
	struct tw_source_model model[TW_ESTIMATES_MAX];
	size_t models;
	size_t finder_model[TW_FINDER_SOURCES_MAX]; /* index in model[] of each of the
						       finder's sources */
	int finder_fd;
	struct tw_log_limit log;

	struct tw_zone zone[TW_ESTIMATES_MAX * TW_COMPONENT_COUNT];
	struct estimated_zone of[TW_ESTIMATES_MAX * TW_COMPONENT_COUNT];
	size_t zones;
};

const char *const tw_estimated_idle_names[] = { "auto", "hide", "scale", NULL };

static const enum tw_zone_kind kind_of[TW_COMPONENT_COUNT] = {
	[TW_PACKAGE] = TW_ZONE_PACKAGE,   [TW_CORE] = TW_ZONE_CORE,
	[TW_UNCORE] = TW_ZONE_UNCORE,     [TW_DRAM] = TW_ZONE_DRAM,
	[TW_PLATFORM] = TW_ZONE_PLATFORM, [TW_GPU] = TW_ZONE_GPU,
};

/* ---- opening ---- */

static struct tw_source_model *model_of(struct tw_estimates *e,
					const struct tw_energy_source *s)
{
	for (size_t i = 0; i < e->models; i++)
		if (e->model[i].is.source == s)
			return &e->model[i];
	return NULL;
}

static int add_model(struct tw_estimates *e, const struct tw_energy_source *source,
		     struct tw_err *err)
{
	if (e->models == TW_ESTIMATES_MAX)
		return tw_fail(err, TW_INVALID, "more than %d models", TW_ESTIMATES_MAX);
	e->model[e->models++] =
		(struct tw_source_model){ .is = { .source = source, .core_ratio = 1 } };
	return 0;
}

/* Use a model, which is taken, even on failure. */
static int put_in_use(struct tw_estimates *e, struct tw_source_model *s,
		      struct tw_power_model *model, struct tw_err *err)
{
	if (tw_tick_rows_reserve(&e->ticks, e->features.names.count,
				 tw_power_model_back(model), err) < 0) {
		tw_power_model_free(model);
		return -1;
	}
	return tw_source_model_take(s, model, &e->features, e->cores, err);
}

static int add_file(struct tw_estimates *e, const char *path, struct tw_err *err)
{
	struct tw_power_model *model = NULL;
	struct tw_model_file file = { 0 };
	const struct tw_energy_source *source;
	struct tw_source_model *s;

	if (tw_model_file_open(&file, path, &model, err) < 0)
		return -1;
	source = tw_power_model_info(model)->source;
	if (model_of(e, source) != NULL) {
		tw_power_model_free(model);
		return tw_fail(err, TW_INVALID,
			       "'%s' is a second model of %s; give one per energy source",
			       path, source->name);
	}
	if (add_model(e, source, err) < 0) {
		tw_power_model_free(model);
		return -1;
	}
	s = &e->model[e->models - 1];
	s->file = file;
	snprintf(s->is.origin, sizeof(s->is.origin), "file");
	snprintf(s->is.from, sizeof(s->is.from), "%s", path);
	if (put_in_use(e, s, model, err) < 0)
		return tw_err_wrap(err, "'%s'", path);
	tw_source_model_log(s);
	return 0;
}

/* The sources that the finder looks for. It skips those with a model file. */
static int add_sources(struct tw_estimates *e, struct tw_err *err)
{
	if (e->finder_fd < 0)
		return 0;
	for (size_t i = 0; i < e->c.sources->count; i++) {
		const struct tw_energy_source *s;

		if (tw_energy_source_open(e->c.sources->at[i], &s, err) < 0)
			return -1;
		if (model_of(e, s) == NULL && add_model(e, s, err) < 0)
			return -1;
		if (i < TW_FINDER_SOURCES_MAX)
			e->finder_model[i] = (size_t)(model_of(e, s) - e->model);
	}
	return tw_model_finder_send_metrics(e->finder_fd, &e->features.names, err);
}

/* A component of two sources becomes one zone, because zones of a kind are summed. */
static void add_zones(struct tw_estimates *e)
{
	bool has[TW_COMPONENT_COUNT] = { false };

	for (size_t i = 0; i < e->models; i++) {
		const struct tw_energy_source *s = e->model[i].is.source;

		for (size_t k = 0; k < s->count; k++) {
			const enum tw_component c = s->components[k];
			struct tw_zone *z = &e->zone[e->zones];

			if (has[c])
				continue;
			has[c] = true;
			*z = (struct tw_zone){ .kind = kind_of[c],
					       .reports_power = true,
					       .estimated = true,
					       .package = -1 };
			snprintf(z->name, sizeof(z->name), "%s", tw_component_name(c));
			snprintf(z->path, sizeof(z->path), "model:%s", s->name);
			e->of[e->zones++] = (struct estimated_zone){ i, c };
		}
	}
}

static int open_parts(struct tw_estimates *e, const struct tw_workloads *workloads,
		      struct tw_err *err)
{
	struct tw_err unknown = { 0 };

	/* If the cores are unknown, the ratio is 1: docs/wire.md. */
	if (tw_cores_discover(e->c.sys, &e->cores, &unknown) < 0)
		e->cores = 0;
	e->hide_idle = e->c.idle == TW_ESTIMATED_IDLE_AUTO
			       ? tw_is_virtual(e->c.proc, e->c.sys)
			       : e->c.idle == TW_ESTIMATED_IDLE_HIDE;
	if (tw_features_open(&e->features, e->node, workloads, err) < 0 ||
	    tw_tick_rows_reserve(&e->ticks, e->features.names.count, 0, err) < 0)
		return -1;
	for (size_t i = 0; e->c.paths != NULL && i < e->c.paths->count; i++)
		if (add_file(e, e->c.paths->at[i], err) < 0)
			return -1;
	if (add_sources(e, err) < 0)
		return -1;
	if (e->models == 0)
		return tw_fail(
			err, TW_NOTFOUND,
			"no model is configured (--model, --model-server, --model-db)");
	add_zones(e);
	return 0;
}

int tw_estimates_open(const struct tw_estimates_config *c, const struct tw_node *node,
		      const struct tw_workloads *workloads, struct tw_estimates **out,
		      struct tw_err *err)
{
	struct tw_estimates *e = calloc(1, sizeof(*e));

	if (e == NULL) {
		if (c->finder_fd >= 0)
			close(c->finder_fd);
		return tw_fail(err, TW_NOMEM, "estimates");
	}
	e->c = *c;
	e->node = node;
	e->finder_fd = c->finder_fd;
	if (open_parts(e, workloads, err) < 0) {
		tw_estimates_close(e);
		return -1;
	}
	*out = e;
	return 0;
}

/* True unless they are a last resort and a meter has one of the kinds (1 << kind). */
static bool is_wanted(const struct tw_estimates *e, unsigned measured)
{
	const unsigned cpus = 1u << TW_ZONE_PACKAGE | 1u << TW_ZONE_CORE |
			      1u << TW_ZONE_PSYS | 1u << TW_ZONE_PLATFORM;

	return !e->c.last_resort || (measured & cpus) == 0;
}

void tw_estimates_close(struct tw_estimates *e)
{
	if (e == NULL)
		return;
	for (size_t i = 0; i < e->models; i++)
		tw_source_model_release(&e->model[i]);
	tw_features_release(&e->features);
	tw_tick_rows_release(&e->ticks);
	if (e->finder_fd >= 0)
		close(e->finder_fd);
	free(e);
}

/* ---- the results ---- */

int tw_estimates_fd(const struct tw_estimates *e)
{
	return e->finder_fd;
}

const struct tw_zone *tw_estimates_zones(const struct tw_estimates *e, size_t *count)
{
	*count = e->retired ? 0 : e->zones;
	return e->zone;
}

size_t tw_estimates_count(const struct tw_estimates *e)
{
	return e->retired ? 0 : e->models;
}

const struct tw_estimate *tw_estimates_at(const struct tw_estimates *e, size_t i)
{
	return &e->model[i].is;
}

const char *tw_estimate_model(const struct tw_estimate *s)
{
	return s->model != NULL ? tw_power_model_info(s->model)->name : "";
}

const struct tw_estimate *tw_estimates_of_zone(const struct tw_estimates *e,
					       const struct tw_zone *z)
{
	return tw_estimates_at(e, e->of[z - e->zone].model);
}

double tw_estimates_mae(const struct tw_estimates *e, const struct tw_zone *z)
{
	const struct estimated_zone *of = &e->of[z - e->zone];
	const struct tw_source_model *s = &e->model[of->model];

	if (s->is.model == NULL || s->part[of->component] < 0)
		return NAN;
	return tw_power_model_figure(s->is.model, (size_t)s->part[of->component], "mae");
}

bool tw_estimates_hide_idle(const struct tw_estimates *e, const struct tw_estimate *s)
{
	return e->hide_idle || s->output == TW_DYN_POWER;
}

/* ---- models come and go ---- */

/* Put a model into use. model is taken. */
static void take(struct tw_estimates *e, struct tw_source_model *s,
		 struct tw_power_model *model)
{
	struct tw_err err = { 0 };

	if (put_in_use(e, s, model, &err) < 0) {
		tw_log_warn_limited(&e->log, "cannot use a model, continuing %s: %s",
				    s->is.model != NULL ? "with the old one"
							: "without it",
				    err.text);
		tw_source_model_failed(s, err.text);
		return;
	}
	s->is.why[0] = '\0';
	tw_source_model_log(s);
}

static void look_at_file(struct tw_estimates *e, struct tw_source_model *s)
{
	struct tw_power_model *model = NULL;
	struct tw_err err = { 0 };
	const int found = tw_model_file_look(&s->file, &model, &err);

	if (found > 0)
		take(e, s, model);
	if (found >= 0)
		return;
	tw_log_warn_limited(&e->log,
			    "cannot reload a model, continuing with the old one: %s",
			    err.text);
	tw_source_model_failed(s, err.text);
}

/* Process a message about a model. A model file has precedence over the finder. */
static void take_news(struct tw_estimates *e, const struct tw_model_news *news,
		      struct tw_power_model *model)
{
	struct tw_source_model *s = news->source < e->c.sources->count
					    ? &e->model[e->finder_model[news->source]]
					    : NULL;

	if (s == NULL || s->file.path != NULL || e->retired) {
		tw_power_model_free(model);
		return;
	}
	s->is.failing = news->failing;
	if (news->why[0] != '\0')
		tw_source_model_failed(s, news->why);
	if (news->origin[0] == '\0' || (model == NULL && news->why[0] != '\0'))
		return;
	s->is.confirmed_s = news->confirmed_s;
	if (model == NULL)
		return;
	snprintf(s->is.origin, sizeof(s->is.origin), "%s", news->origin);
	snprintf(s->is.from, sizeof(s->is.from), "%s", news->from);
	take(e, s, model);
}

bool tw_estimates_hear(struct tw_estimates *e)
{
	struct tw_model_news news;
	struct tw_power_model *model;

	for (int i = 0; i < HEAR_MAX; i++) {
		switch (tw_model_finder_next(e->finder_fd, &news, &model)) {
		case TW_FINDER_NEWS:
			take_news(e, &news, model);
			break;
		case TW_FINDER_NOTHING:
			return true;
		case TW_FINDER_GONE:
			tw_log_warn(
				"the model finder has exited: the models are no longer "
				"refreshed");
			close(e->finder_fd);
			e->finder_fd = -1;
			return false;
		}
	}
	return true;
}

void tw_estimates_reload(struct tw_estimates *e)
{
	for (size_t i = 0; i < e->models; i++)
		if (e->model[i].file.path != NULL)
			tw_model_file_reload(&e->model[i].file);
	if (e->finder_fd >= 0)
		tw_model_finder_reload(e->finder_fd);
}

/* ---- a tick ---- */

/* Estimate one source. False: no estimate; *why is the reason. */
static bool predict(struct tw_estimates *e, struct tw_source_model *s, bool known,
		    struct tw_predicted *out, const char **why)
{
	s->is.fresh = false;
	if (s->is.model != NULL)
		s->is.output = tw_power_model_info(s->is.model)->output;
	if (s->file.path != NULL)
		look_at_file(e, s);
	*why = "the machine's counters are not available";
	if (!known)
		return false;
	if (s->is.model == NULL) {
		*why = s->is.why[0] != '\0' ? s->is.why : "no model yet";
		return false;
	}
	tw_source_model_predict(s, &e->ticks, out);
	s->is.output = out->output;
	tw_source_model_count(s, out->outside, e->node->elapsed_ns);
	return true;
}

static struct tw_reading reading_of(const struct tw_estimates *e,
				    const struct tw_predicted *p, enum tw_component c)
{
	struct tw_reading r = { .readable = p->has[c], .has_idle = true };

	if (!p->has[c]) {
		snprintf(r.why, sizeof(r.why), "the model has no %s",
			 tw_component_name(c));
		return r;
	}
	r.power_w = fmax(p->power_w[c] - p->rest_w[c], 0);
	if (!e->hide_idle && p->output == TW_ABS_POWER)
		r.idle_w = fmax(p->rest_w[c], 0) * p->core_ratio;
	r.power_w += r.idle_w;
	return r;
}

void tw_estimates_read(struct tw_estimates *e, struct tw_reading *out)
{
	double rows[2 * TW_FEATURES_MAX];
	const bool known = tw_features_read(&e->features, e->node, rows);

	tw_tick_rows_add(&e->ticks, e->node->elapsed_ns, known ? rows : NULL);
	for (size_t i = 0; i < e->models; i++) {
		struct tw_predicted p;
		const char *why;
		const bool predicted = predict(e, &e->model[i], known, &p, &why);

		for (size_t z = 0; z < e->zones; z++) {
			if (e->of[z].model != i)
				continue;
			if (predicted) {
				out[z] = reading_of(e, &p, e->of[z].component);
				continue;
			}
			out[z] = (struct tw_reading){ .readable = false };
			snprintf(out[z].why, sizeof(out[z].why), "%s", why);
		}
	}
}

/* ---- the meter "model" ---- */

static int open_model(const struct tw_meter_config *c, void **state, struct tw_err *err)
{
	if (c->estimates == NULL)
		return tw_fail(err, TW_NOTFOUND, "no model is configured (--model)");
	if (!is_wanted(c->estimates, c->measured))
		return tw_fail(
			err, TW_NOTFOUND,
			"a meter measures this machine (--model-db adds estimates)");
	*state = c->estimates;
	return 0;
}

static const struct tw_zone *zones_of_model(const void *state, size_t *count)
{
	return tw_estimates_zones(state, count);
}

static void read_model(void *state, struct tw_reading *out)
{
	tw_estimates_read(state, out);
}

static bool retires_model(void *state, unsigned measured)
{
	struct tw_estimates *e = state;

	e->retired = e->retired || !is_wanted(e, measured);
	return e->retired;
}

/* The owner of the estimates closes them. */
static void close_model(void *state)
{
	(void)state;
}

const struct tw_meter tw_meter_model = {
	.name = "model",
	.summary = "an estimate by a trained model: no measurement",
	.open = open_model,
	.zones = zones_of_model,
	.read = read_model,
	.retires = retires_model,
	.close = close_model,
};
