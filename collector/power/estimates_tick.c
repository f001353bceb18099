/* SPDX-License-Identifier: Apache-2.0 */
/* estimates.h: what happens between and in ticks. */
#include "collector/power/estimates_parts.h"
#include "collector/power/node.h"
#include "estimator/asker.h"
#include "estimator/predict/power_model.h"
#include "lib/core/clock.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* An estimator that did not answer in time is not waited for again for a while. */
#define PAUSE_MIN_MS 1000
#define PAUSE_DOUBLINGS 5

/* ---- models come and go ---- */

/* model is taken. */
static void take(struct tw_estimates *e, struct tw_slot *s, struct tw_power_model *model)
{
	struct tw_err err = { 0 };

	if (tw_slot_take(s, model, &e->features, e->cores, &err) < 0) {
		tw_log_warn_limited(&e->log, "cannot use a model, continuing %s: %s",
				    s->model != NULL ? "with the one there is"
						     : "without it",
				    err.text);
		tw_slot_failed(s, err.text);
		return;
	}
	s->why[0] = '\0';
	tw_slot_tell_loaded(s);
}

static void look_at_file(struct tw_estimates *e, struct tw_slot *s)
{
	struct tw_power_model *model = NULL;
	struct tw_err err = { 0 };
	const int found = tw_model_file_look(&s->file, &model, &err);

	if (found > 0)
		take(e, s, model);
	if (found >= 0)
		return;
	tw_log_warn_limited(&e->log,
			    "cannot read a model again, continuing with the one there "
			    "is: %s",
			    err.text);
	tw_slot_failed(s, err.text);
}

/* A source that has a model of a file is the keeper's no longer than that. */
static void take_news(struct tw_estimates *e, const struct tw_keeper_news *news,
		      struct tw_power_model *model)
{
	struct tw_slot *s = news->source < e->c.sources->count
				    ? &e->slot[e->wished[news->source]]
				    : NULL;

	if (s == NULL || s->file.path != NULL) {
		tw_power_model_free(model);
		return;
	}
	s->failing = news->failing;
	if (news->why[0] != '\0')
		tw_slot_failed(s, news->why);
	if (news->origin[0] == '\0' || (model == NULL && news->why[0] != '\0'))
		return;
	s->confirmed_s = news->confirmed_s;
	if (model == NULL)
		return;
	snprintf(s->origin, sizeof(s->origin), "%s", news->origin);
	snprintf(s->from, sizeof(s->from), "%s", news->from);
	take(e, s, model);
}

bool tw_estimates_hear(struct tw_estimates *e)
{
	struct tw_keeper_news news;
	struct tw_power_model *model;

	for (;;) {
		switch (tw_keeper_hear(e->keeper_fd, &news, &model)) {
		case TW_KEEPER_NEWS:
			take_news(e, &news, model);
			break;
		case TW_KEEPER_NOTHING:
			return true;
		case TW_KEEPER_GONE:
			tw_log_warn("the keeper of models is gone: models stay as they "
				    "are");
			close(e->keeper_fd);
			e->keeper_fd = -1;
			return false;
		}
	}
}

void tw_estimates_reload(struct tw_estimates *e)
{
	for (size_t i = 0; i < e->slots; i++)
		if (e->slot[i].file.path != NULL)
			tw_model_file_reload(&e->slot[i].file);
	if (e->keeper_fd >= 0)
		tw_keeper_reload(e->keeper_fd);
}

/* ---- the estimator's socket ---- */

static void estimator_failed(struct tw_estimates *e, struct tw_slot *s,
			     const struct tw_err *why)
{
	const unsigned doublings = e->late < PAUSE_DOUBLINGS ? e->late : PAUSE_DOUBLINGS;

	e->asked.failures++;
	tw_slot_failed(s, why->text);
	tw_log_warn_limited(
		&e->log, "no estimate of %s from the estimator%s: %s", s->source->name,
		s->model != NULL ? ", continuing with the model there is" : "",
		why->text);
	/* To ask where nobody listens costs nothing. */
	if (why->code != TW_IO)
		return;
	e->pause_until_ms = tw_now_ms() + ((uint64_t)PAUSE_MIN_MS << doublings);
	e->late++;
}

static void read_watts(const struct tw_watts *w, const struct tw_worth *worth,
		       struct tw_predicted *out)
{
	*out = (struct tw_predicted){ .core_ratio = worth->core_ratio,
				      .outside = worth->outside };
	for (int c = 0; c < TW_COMPONENT_COUNT; c++) {
		out->has[c] = worth->has[c];
		out->power_w[c] = w->of[c] != NULL ? w->of[c][0] : 0;
		out->rest_w[c] = w->of[c] != NULL ? w->of[c][1] : 0;
	}
}

static bool ask(struct tw_estimates *e, struct tw_slot *s, const double *rows,
		struct tw_predicted *out)
{
	const struct tw_question q = { .metrics = &e->features.names,
				       .x = rows,
				       .rows = 2,
				       .output = tw_output_name(TW_ABS_POWER),
				       .source = s->source->name,
				       .trainer = e->c.trainer,
				       .filter = e->c.filter };
	struct tw_watts watts = { .rows = 0 };
	struct tw_err err = { 0 };

	if (tw_now_ms() < e->pause_until_ms)
		return false;
	if (tw_asker_ask(e->asker, &q, e->c.wait_ms, &watts, &s->worth, &err) < 0) {
		estimator_failed(e, s, &err);
		return false;
	}
	e->asked.answers++;
	e->late = 0;
	read_watts(&watts, &s->worth, out);
	tw_watts_release(&watts);
	return true;
}

/* ---- a tick ---- */

/* False: there is nothing to tell it from, and why. */
static bool predict(struct tw_estimates *e, struct tw_slot *s, bool known,
		    const double *rows, struct tw_predicted *out, const char **why)
{
	s->told = s->by_estimator = false;
	if (s->file.path != NULL)
		look_at_file(e, s);
	*why = "the machine's counters are not known";
	if (!known)
		return false;
	s->by_estimator = e->asker != NULL && ask(e, s, rows, out);
	if (!s->by_estimator && s->model == NULL) {
		*why = s->why[0] != '\0' ? s->why : "no model yet";
		return false;
	}
	if (!s->by_estimator)
		tw_slot_predict(s, rows, e->features.names.count, out);
	tw_slot_count(s, out->outside, e->node->elapsed_ns);
	return true;
}

static struct tw_reading reading_of(const struct tw_estimates *e,
				    const struct tw_predicted *p, enum tw_component c)
{
	struct tw_reading r = { .there = p->has[c], .idle_told = true };

	if (!p->has[c]) {
		snprintf(r.why, sizeof(r.why), "the model has no %s",
			 tw_component_name(c));
		return r;
	}
	r.power_w = fmax(p->power_w[c] - p->rest_w[c], 0);
	if (!e->hide_idle)
		r.idle_w = fmax(p->rest_w[c], 0) * p->core_ratio;
	r.power_w += r.idle_w;
	return r;
}

void tw_estimates_read(struct tw_estimates *e, struct tw_reading *out)
{
	double rows[2 * TW_FEATURES_MAX];
	const bool known = tw_features_read(&e->features, e->node, rows);

	for (size_t i = 0; i < e->slots; i++) {
		struct tw_predicted p;
		const char *why;
		const bool told = predict(e, &e->slot[i], known, rows, &p, &why);

		for (size_t z = 0; z < e->zones; z++) {
			if (e->of[z].slot != i)
				continue;
			if (told) {
				out[z] = reading_of(e, &p, e->of[z].component);
				continue;
			}
			out[z] = (struct tw_reading){ .there = false };
			snprintf(out[z].why, sizeof(out[z].why), "%s", why);
		}
	}
}
