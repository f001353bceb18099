/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/expose/expose.h"

#include "collector/collector.h"
#include "collector/power/power.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/http/server/httpd_reply.h"
#include "lib/json/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *tw_text(const char *text)
{
	return text != NULL ? text : "";
}

const char *tw_mode_name(bool idle)
{
	return idle ? "idle" : "dynamic";
}

void tw_json_add_watts(struct tw_buf *b, const char *key, double w)
{
	tw_json_add_rounded(b, key, w, 3);
}

void tw_json_add_joules(struct tw_buf *b, const char *key, uint64_t uj)
{
	tw_json_add_key(b, key);
	tw_buf_addf(b, "%" PRIu64 ".%06" PRIu64, uj / 1000000, uj % 1000000);
}

double tw_joules(uint64_t uj)
{
	return (double)uj / 1e6;
}

double tw_seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

void tw_json_add_kinds(struct tw_buf *b, const char *key, unsigned kinds)
{
	tw_json_add_array(b, key);
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++)
		if ((kinds >> kind & 1) != 0)
			tw_json_add_text(b, NULL,
					 tw_zone_kind_name((enum tw_zone_kind)kind));
	tw_json_end_array(b);
}

/* ---- selection ---- */

/* Energy of the sum, and of GPUs, which a platform's energy by CPU time does not show. */
static uint64_t weight(const struct tw_exposure *x, const struct tw_workload *w)
{
	return x->by_energy ? tw_charge_sum(&w->charged, x->sum | 1u << TW_ZONE_GPU)
			    : w->used.cpu_ns;
}

static int compare_down(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

/*
 * Set the threshold of a level to one more than the largest workload beyond the top ones.
 */
static int find_least(struct tw_exposure *x, enum tw_level level, struct tw_err *err)
{
	const size_t count = tw_workloads_count(x->c->workloads, level),
		     top = x->c->show.top;
	const struct tw_workload *w = NULL;
	uint64_t *all;
	size_t n = 0;

	x->least[level] = x->by_energy && x->c->show.min_uj > 0 ? x->c->show.min_uj : 1;
	if (top == 0 || count <= top)
		return 0;
	all = calloc(count, sizeof(*all));
	if (all == NULL)
		return tw_fail(err, TW_NOMEM, "choice of %zu workloads", count);
	while (n < count && (w = tw_workloads_next(x->c->workloads, level, w)) != NULL)
		all[n++] = weight(x, w);
	qsort(all, n, sizeof(*all), compare_down);
	if (n > top && all[top] >= x->least[level])
		x->least[level] = all[top] + 1;
	free(all);
	return 0;
}

bool tw_expose_no_machine(const struct tw_collector *c, struct tw_http_reply *r)
{
	struct tw_err err = { 0 };

	if (c->workloads != NULL)
		return false;
	tw_fail(&err, TW_NOTFOUND,
		"--local=no: this collector only sums agents; see /api/v1/agents");
	tw_http_reply_error(r, &err);
	return true;
}

int tw_exposure_begin(struct tw_exposure *x, const struct tw_collector *c,
		      struct tw_expo *e, struct tw_err *err)
{
	*x = (struct tw_exposure){ .c = c, .e = e, .sum = tw_power_sum_kinds(c->power) };
	/* Most processes have no energy of a GPU. */
	x->by_energy = (x->sum & ~(1u << TW_ZONE_GPU)) != 0;
	return find_least(x, TW_LEVEL_PROCESS, err) < 0 ||
			       find_least(x, TW_LEVEL_CGROUP, err) < 0
		       ? -1
		       : 0;
}

/* Without limits, export what ran before the first energy, too. */
static bool is_among_top(const void *arg, const struct tw_workload *w)
{
	const struct tw_exposure *x = arg;

	return x->least[w->level] > 1 ? weight(x, w) >= x->least[w->level]
				      : !tw_workload_is_unused(w);
}

void tw_exposure_choose(struct tw_exposure *x, struct tw_collector *c)
{
	static const enum tw_level levels[] = { TW_LEVEL_PROCESS, TW_LEVEL_CGROUP };

	for (size_t i = 0; i < TW_COUNT(levels); i++)
		tw_workloads_choose(c->workloads, levels[i], c->show.top, is_among_top,
				    x);
	x->scrape = true;
}

static bool is_exported(const struct tw_exposure *x, const struct tw_workload *w)
{
	if (x->scrape && (w->level == TW_LEVEL_PROCESS || w->level == TW_LEVEL_CGROUP))
		return w->series == TW_SERIES_OWN || w->series == TW_SERIES_LAST;
	return is_among_top(x, w);
}

const struct tw_workload *tw_exposure_next(const struct tw_exposure *x,
					   enum tw_level level,
					   const struct tw_workload *w)
{
	if (!x->c->show.level[level])
		return NULL;
	while ((w = tw_workloads_next(x->c->workloads, level, w)) != NULL)
		if (is_exported(x, w))
			return w;
	return NULL;
}

/* True if another process with w's labels in Kepler is exported instead of it. */
static bool has_exported_namesake(const struct tw_exposure *x,
				  const struct tw_workload *w)
{
	const struct tw_workloads *t = x->c->workloads;
	const bool was_read = tw_workloads_was_last_read(t, w);
	const struct tw_workload *other = NULL;

	while ((other = tw_workloads_namesake(t, w, other)) != NULL) {
		if (other->owner != w->owner || strcmp(other->comm, w->comm) != 0 ||
		    !is_exported(x, other))
			continue;
		if (tw_workloads_was_last_read(t, other)
			    ? was_read && other->serial > w->serial
			    : was_read || other->serial < w->serial)
			return true;
	}
	return false;
}

/*
 * Like tw_exposure_next(), without workloads that Kepler's labels cannot distinguish:
 * processes that were not seen one by one, and all but one process with the same pid and
 * name. That is the oldest whose last values no scrape has read; so a counter that
 * restarts loses nothing.
 */
static const struct tw_workload *
next_seen(const struct tw_exposure *x, enum tw_level level, const struct tw_workload *w)
{
	do
		w = tw_exposure_next(x, level, w);
	while (w != NULL && level == TW_LEVEL_PROCESS &&
	       (w->tgid == 0 || has_exported_namesake(x, w)));
	return w;
}

const char *tw_exposure_source(const struct tw_exposure *x, enum tw_zone_kind kind)
{
	return kind != TW_ZONE_SENSOR && tw_power_use_complete(x->c->power, kind)
		       ? tw_power_source(x->c->power, kind)
		       : NULL;
}

bool tw_exposure_believes(const struct tw_power_zone *z)
{
	return z->fresh && z->counts;
}

/* Kinds of zones that are measured, or estimated as such. */
static bool is_estimated(const struct tw_exposure *x, enum tw_zone_kind kind)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(x->c->power, &count);

	for (size_t i = 0; i < count; i++)
		if (z[i].zone->kind == kind && z[i].counts && z[i].zone->estimated)
			return true;
	return false;
}

bool tw_exposure_estimates(const struct tw_exposure *x, enum tw_zone_kind kind)
{
	if (kind != TW_ZONE_OTHER)
		return is_estimated(x, kind);
	return is_estimated(x, TW_ZONE_PLATFORM) || is_estimated(x, TW_ZONE_PACKAGE) ||
	       is_estimated(x, TW_ZONE_DRAM) || is_estimated(x, TW_ZONE_GPU);
}

/* ---- labels ---- */

const char *tw_owner_id(const struct tw_workload *w, enum tw_level level)
{
	const struct tw_workload *o =
		level == TW_LEVEL_VM && w->vm != NULL ? w->vm : w->owner;

	return o != NULL && o->level == level ? o->who->id : "";
}

/* The labels of "other", which sums workloads without series of their own. */
static void label_other(struct tw_labels *l, const struct tw_workload *w)
{
	if (w->level == TW_LEVEL_PROCESS) {
		tw_labels_add(l, "pid", "0");
		tw_labels_add(l, "serial", "0");
		tw_labels_add(l, "command", "other");
	} else if (w->level == TW_LEVEL_JOB || w->level == TW_LEVEL_STEP) {
		tw_labels_add(l, "job_id", "other");
	} else {
		tw_labels_add(l, "cgroup", "other");
	}
}

static void label_process(struct tw_labels *l, const struct tw_workload *w)
{
	snprintf(l->text[0], sizeof(l->text[0]), "%" PRIu32, w->tgid);
	snprintf(l->text[1], sizeof(l->text[1]), "%" PRIu64, w->serial);
	tw_labels_add(l, "pid", l->text[0]);
	tw_labels_add(l, "serial", l->text[1]);
	tw_labels_add(l, "command", w->comm);
	tw_labels_add(l, "cgroup", w->cgroup->path);
}

static void label_cgroup(struct tw_labels *l, const struct tw_workload *w)
{
	snprintf(l->text[0], sizeof(l->text[0]), "%" PRIu64, w->cgroup_id);
	tw_labels_add(l, "cgroup_id", l->text[0]);
	tw_labels_add(l, "cgroup", w->path);
	tw_labels_add(l, "unit", w->who->unit);
}

static void label_pod(struct tw_labels *l, const struct tw_workload *w)
{
	tw_labels_add(l, "pod_id", w->who->pod_uid);
	tw_labels_add(l, "pod_name", w->pod_name);
	tw_labels_add(l, "namespace", w->pod_namespace);
}

static void label_job(struct tw_labels *l, const struct tw_workload *w)
{
	tw_labels_add(l, "job_id", w->who->job);
	if (w->level == TW_LEVEL_STEP)
		tw_labels_add(l, "step_id", w->who->step + strlen(w->who->job) + 1);
	tw_labels_add(l, "user_id", w->who->user);
}

void tw_labels_of(struct tw_labels *l, const struct tw_workload *w)
{
	l->count = 0;
	if (w->serial == 0) {
		label_other(l, w);
		return;
	}
	switch (w->level) {
	case TW_LEVEL_PROCESS:
	case TW_LEVEL_CGROUP:
		if (w->level == TW_LEVEL_PROCESS)
			label_process(l, w);
		else
			label_cgroup(l, w);
		tw_labels_add(l, "container_id", tw_owner_id(w, TW_LEVEL_CONTAINER));
		tw_labels_add(l, "vm_id", tw_owner_id(w, TW_LEVEL_VM));
		break;
	case TW_LEVEL_CONTAINER:
		tw_labels_add(l, "container_id", w->who->id);
		tw_labels_add(l, "runtime", w->who->runtime);
		tw_labels_add(l, "container_name", w->container_name);
		label_pod(l, w);
		break;
	case TW_LEVEL_POD:
		label_pod(l, w);
		break;
	case TW_LEVEL_JOB:
	case TW_LEVEL_STEP:
		label_job(l, w);
		break;
	default:
		tw_labels_add(l, "vm_id", w->who->id);
		tw_labels_add(l, "vm_name", w->who->name);
		tw_labels_add(l, "hypervisor", w->who->runtime);
		if (w->owner != NULL && w->owner->pod != NULL)
			tw_labels_add(l, "pod_id", w->owner->pod->who->pod_uid);
		break;
	}
}

void tw_shown_add(struct tw_shown *s, const struct tw_exposure *x,
		  const struct tw_workload *w, tw_label_of *label)
{
	const size_t at = s->labels.len;
	struct tw_labels l = { .count = 0 };

	label(&l, w);
	tw_expo_add_labels(&s->labels, l.at, l.count);
	if (!tw_grow(&s->of, &s->size, s->count, sizeof(*s->of)) ||
	    tw_buf_failed(&s->labels)) {
		x->e->out->failed = true;
		return;
	}
	s->of[s->count++] =
		(struct tw_shown_one){ .w = w, .at = at, .len = s->labels.len - at };
}

void tw_shown_add_level(struct tw_shown *s, const struct tw_exposure *x,
			enum tw_level level, bool seen, tw_label_of *label)
{
	const struct tw_workload *w = NULL;

	while ((w = seen ? next_seen(x, level, w) : tw_exposure_next(x, level, w)) !=
		       NULL &&
	       !x->e->out->failed)
		tw_shown_add(s, x, w, label);
}

bool tw_figure_cpu_ns(const struct tw_figure *f, const struct tw_exposure *x,
		      const struct tw_shown_one *one, tw_u128 *out)
{
	(void)f;
	(void)x;
	*out = tw_own_cpu_ns(one->w);
	return true;
}

bool tw_figure_count(const struct tw_figure *f, const struct tw_exposure *x,
		     const struct tw_shown_one *one, tw_u128 *out)
{
	(void)x;
	*out = tw_own_count(one->w, f->counter);
	return true;
}

bool tw_figure_uj(const struct tw_figure *f, const struct tw_exposure *x,
		  const struct tw_shown_one *one, tw_u128 *out)
{
	(void)x;
	*out = tw_own_uj(one->w, f->kind, f->idle);
	return true;
}

void tw_shown_samples(const struct tw_exposure *x, const struct tw_shown *s,
		      const struct tw_labels *more, const struct tw_labels *ended,
		      const struct tw_figure *f)
{
	const struct tw_labels *const of[] = { more, ended };
	struct tw_buf b[2] = { { 0 }, { 0 } };

	for (int i = 0; i < 2; i++) {
		if (of[i] != NULL)
			tw_expo_add_labels(&b[i], of[i]->at, of[i]->count);
		if (tw_buf_failed(&b[i]))
			x->e->out->failed = true;
	}
	for (size_t i = 0; i < s->count && !x->e->out->failed; i++) {
		const struct tw_shown_one *one = &s->of[i];
		const struct tw_buf *last = &b[ended != NULL && one->w->ended];
		const struct tw_expo_text text[] = {
			{ s->labels.data + one->at, one->len },
			{ last->data, last->len },
		};
		tw_u128 value;

		if (f->of(f, x, one, &value))
			tw_expo_fixed(x->e, text, 2, value, f->decimals);
	}
	tw_buf_clear(&b[0]);
	tw_buf_clear(&b[1]);
}

void tw_shown_release(struct tw_shown *s)
{
	free(s->of);
	tw_buf_clear(&s->labels);
}
