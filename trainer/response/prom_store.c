/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/response/prom_store.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tw_prom *tw_prom_new(struct tw_err *err)
{
	struct tw_prom *p = calloc(1, sizeof(*p));

	if (p == NULL)
		tw_fail(err, TW_NOMEM, "Prometheus response");
	return p;
}

static bool ends_with(const char *text, const char *end)
{
	const size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

struct tw_prom_metric tw_prom_metric(const char *name)
{
	return (struct tw_prom_metric){
		.name = name,
		.thirdparty = { .name = name,
				.kind = ends_with(name, "_total") ? TW_METRIC_FEATURE
								  : TW_METRIC_LEVEL,
				.feature = name,
				.factor = 1.0 },
	};
}

int tw_prom_add_metric(struct tw_prom *p, const char *name, size_t len, size_t *out,
		       struct tw_err *err)
{
	const char *text = tw_intern(&p->shared, name, len, err);

	if (text == NULL)
		return -1;
	for (size_t i = 0; i < p->count; i++) {
		if (p->metric[i].name == text) {
			*out = i;
			return 0;
		}
	}
	if (!tw_resize(&p->metric, p->count + 1, sizeof(*p->metric)))
		return tw_fail(err, TW_NOMEM, "metric '%s'", text);
	p->metric[p->count] = tw_prom_metric(text);
	*out = p->count++;
	return 0;
}

int tw_prom_add_series(struct tw_prom *p, size_t metric, const struct tw_label *label,
		       size_t labels, const double *time_ms, const double *value,
		       size_t samples, struct tw_err *err)
{
	struct tw_prom_metric *m = &p->metric[metric];
	struct tw_series packed = { .labels = labels };

	if (!tw_grow(&m->series, &m->size, m->count, sizeof(*m->series)))
		return tw_fail(err, TW_NOMEM, "%zu series of '%s'", m->count, m->name);
	/* All metrics of a workload share one list of labels. */
	packed.label = tw_intern(&p->shared, label, labels * sizeof(*label), err);
	if (packed.label == NULL)
		return -1;
	if (tw_pack(time_ms, samples, &p->arena, &packed.time_ms, err) < 0 ||
	    tw_pack(value, samples, &p->arena, &packed.value, err) < 0)
		return -1;
	m->series[m->count++] = packed;
	return 0;
}

void tw_prom_free(struct tw_prom *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->count; i++)
		free(p->metric[i].series);
	free(p->metric);
	tw_arena_release(&p->arena);
	tw_intern_release(&p->shared);
	free(p);
}

static const struct tw_prom_metric *find_metric(const struct tw_prom *p, const char *name)
{
	for (size_t i = 0; i < p->count; i++)
		if (strcmp(p->metric[i].name, name) == 0 && p->metric[i].count > 0)
			return &p->metric[i];
	return NULL;
}

const struct tw_series *tw_prom_series(const struct tw_prom *p, const char *metric,
				       size_t *count)
{
	const struct tw_prom_metric *m = find_metric(p, metric);

	*count = m != NULL ? m->count : 0;
	return m != NULL ? m->series : NULL;
}

void tw_prom_declare_gauges(struct tw_prom *p, const struct tw_strs *names)
{
	for (size_t i = 0; i < p->count; i++) {
		struct tw_schema_metric *m = &p->metric[i].thirdparty;

		if (!tw_strs_has(names, m->name))
			continue;
		m->kind = TW_METRIC_LEVEL;
		m->averaged = true;
	}
}

const struct tw_schema_metric *tw_prom_thirdparty_metric(const struct tw_prom *p,
							 const char *metric)
{
	const struct tw_prom_metric *m = find_metric(p, metric);

	return m != NULL ? &m->thirdparty : NULL;
}

size_t tw_prom_longest(const struct tw_prom *p)
{
	size_t most = 0;

	for (size_t i = 0; i < p->count; i++)
		for (size_t k = 0; k < p->metric[i].count; k++)
			if (p->metric[i].series[k].value.count > most)
				most = p->metric[i].series[k].value.count;
	return most;
}

const char *tw_series_label(const struct tw_series *s, const char *name)
{
	for (size_t i = 0; i < s->labels; i++)
		if (strcmp(s->label[i].name, name) == 0)
			return s->label[i].value;
	return NULL;
}

void tw_series_describe(const struct tw_series *s, char *out, size_t size)
{
	static const char *const names[] = { "container_id", "pod_name", "command",
					     "source",       "mode",     "package" };
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < TW_COUNT(names); i++) {
		const char *value = tw_series_label(s, names[i]);
		int n;

		if (value == NULL)
			continue;
		n = snprintf(out + used, size - used, "%s%s=%.*s", used > 0 ? " " : "",
			     names[i], i == 0 ? 12 : 24, value);
		if (n < 0 || (size_t)n >= size - used)
			return;
		used += (size_t)n;
	}
}
