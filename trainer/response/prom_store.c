/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/response/prom_store.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"

#include <assert.h>
#include <endian.h>
#include <math.h>
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

struct tw_prom_metric tw_prom_metric(const char *name)
{
	return (struct tw_prom_metric){
		.name = name,
		.thirdparty = { .name = name,
				.kind = tw_ends_with(name, "_total") ? TW_METRIC_FEATURE
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

#define KEY "VM_JOB_NAME"

const char *const tw_guest_keys[] = { KEY, NULL };

static bool is_guest(const struct tw_series *s)
{
	const char *job = tw_series_label(s, "job");
	const char *name = getenv(KEY);

	return job != NULL &&
	       strcmp(job, name != NULL && *name != '\0' ? name : "vm") == 0;
}

int tw_prom_add_series(struct tw_prom *p, size_t metric, const struct tw_label *label,
		       size_t labels, const double *time_ms, const double *value,
		       size_t samples, struct tw_err *err)
{
	struct tw_prom_metric *m = &p->metric[metric];
	struct tw_series packed = { .label = label, .labels = (uint32_t)labels };

	if (!tw_grow(&m->series, &m->size, m->count, sizeof(*m->series)))
		return tw_fail(err, TW_NOMEM, "%zu series of '%s'", m->count, m->name);
	packed.guest = is_guest(&packed);
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
					     "comm",         "pid",      "vm_id",
					     "source",       "cpu",      "mode",
					     "package",      "zone",     "index",
					     "path",         "chip",     "sensor" };
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

/* A fall by this share of a counter is not a reset. */
#define DIP_MAX 0.01

/* ---- packed numbers ---- */

/* Doubles represent all integers up to WHOLE_MAX, and all halves up to HALF_MAX. */
#define WHOLE_MAX 9007199254740992.0 /* 2^53 */
#define HALF_MAX 4503599627370496.0  /* 2^52 */

static const double powers[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9 };

#define DIGITS_MAX (TW_COUNT(powers) - 1)

/* Differences are read and written as eight bytes, whatever their width. */
#define SLACK 8

static int64_t round_up(double v)
{
	return (int64_t)(v < HALF_MAX ? v + 0.5 : v);
}

/* v * scale as an integer. False unless dividing it by scale restores v; v is not
 * negative and not -0. */
static bool make_whole(double v, double scale, int64_t *out)
{
	if (signbit(v) || v * scale > WHOLE_MAX)
		return false;
	*out = round_up(v * scale);
	return (double)*out / scale == v;
}

/* Find the first integer and the smallest and largest difference. False unless all
 * numbers are multiples of 1 / scale. */
static bool find_range(const double *v, size_t count, double scale, int64_t *first,
		       int64_t *least, int64_t *most)
{
	int64_t before, whole;

	if (!make_whole(v[0], scale, &before))
		return false;
	*first = before;
	*least = INT64_MAX;
	*most = INT64_MIN;
	for (size_t i = 1; i < count; i++) {
		if (!make_whole(v[i], scale, &whole))
			return false;
		*least = whole - before < *least ? whole - before : *least;
		*most = whole - before > *most ? whole - before : *most;
		before = whole;
	}
	if (count == 1)
		*least = *most = 0;
	return true;
}

static uint8_t count_bytes(uint64_t v)
{
	uint8_t bytes = 0;

	for (; v > 0; v >>= 8)
		bytes++;
	return bytes;
}

static void put_differences(unsigned char *to, const double *v, const struct tw_packed *p)
{
	const double scale = powers[p->digits];
	int64_t before = p->first;

	for (size_t i = 1; i < p->count; i++) {
		const int64_t whole = round_up(v[i] * scale);
		const uint64_t word = htole64((uint64_t)(whole - before - p->least));

		/* The next difference, or the slack, overwrites the excess bytes. */
		memcpy(to, &word, sizeof(word));
		to += p->width;
		before = whole;
	}
}

static void *get_room(struct tw_arena *arena, size_t len, struct tw_err *err)
{
	void *room = tw_arena_get(arena, len);

	if (room == NULL)
		tw_fail(err, TW_NOMEM, "numbers packed in %zu bytes", len);
	return room;
}

static int keep_as_is(const double *v, size_t count, struct tw_arena *arena,
		      struct tw_packed *out, struct tw_err *err)
{
	void *copy = get_room(arena, count * sizeof(*v), err);

	if (copy == NULL)
		return -1;
	memcpy(copy, v, count * sizeof(*v));
	*out = (struct tw_packed){
		.data = copy, .count = (uint32_t)count, .width = sizeof(*v), .as_is = true
	};
	return 0;
}

int tw_pack(const double *v, size_t count, struct tw_arena *arena, struct tw_packed *out,
	    struct tw_err *err)
{
	static const unsigned char nothing[SLACK];
	struct tw_packed p = { .data = nothing, .count = (uint32_t)count };
	unsigned char *room;
	int64_t most = 0;

	assert(count <= TW_PACKED_COUNT_MAX);
	if (count == 0) {
		*out = (struct tw_packed){ 0 };
		return 0;
	}
	while (!find_range(v, count, powers[p.digits], &p.first, &p.least, &most))
		if (++p.digits > DIGITS_MAX)
			return keep_as_is(v, count, arena, out, err);
	p.width = count_bytes((uint64_t)most - (uint64_t)p.least);
	if (p.width > 0) {
		room = get_room(arena, (count - 1) * p.width + SLACK, err);
		if (room == NULL)
			return -1;
		put_differences(room, v, &p);
		p.data = room;
	}
	*out = p;
	return 0;
}

bool tw_packed_rises(const struct tw_packed *p)
{
	struct tw_unpack u;
	double before;

	if (!p->as_is || p->count < 2)
		return p->least >= 0;
	u = tw_unpack_begin(p);
	before = tw_unpack_next(&u);
	while (u.at < p->count) {
		const double v = tw_unpack_next(&u);

		if (v < before)
			return false;
		before = v;
	}
	return true;
}

struct tw_unpack tw_unpack_begin(const struct tw_packed *p)
{
	return (struct tw_unpack){
		.packed = p,
		.whole = p->first,
		.mask = p->width > 0 ? UINT64_MAX >> (64 - 8 * p->width) : 0,
		.scale = powers[p->digits],
	};
}

double tw_unpack_next(struct tw_unpack *u)
{
	const struct tw_packed *p = u->packed;
	uint64_t word;
	double v;

	assert(u->at < p->count);
	if (p->as_is) {
		memcpy(&v, p->data + u->at++ * sizeof(v), sizeof(v));
		return v;
	}
	if (u->at > 0) {
		memcpy(&word, p->data + (u->at - 1) * p->width, sizeof(word));
		u->whole += p->least + (int64_t)(le64toh(word) & u->mask);
	}
	u->at++;
	return (double)u->whole / u->scale;
}

bool tw_counter_dips(double before, double value)
{
	return value < before && value >= (1 - DIP_MAX) * before;
}

double tw_packed_first(const struct tw_packed *p)
{
	struct tw_unpack u = tw_unpack_begin(p);

	return tw_unpack_next(&u);
}

double tw_packed_last(const struct tw_packed *p)
{
	struct tw_unpack u = tw_unpack_begin(p);

	while (u.at + 1 < p->count)
		tw_unpack_next(&u);
	return tw_unpack_next(&u);
}

/* ---- text ---- */

static void add_text(struct tw_buf *out, const char *text)
{
	tw_buf_add_json_text(out, text, strlen(text));
}

static void add_labels(struct tw_buf *out, const struct tw_series *s)
{
	tw_buf_adds(out, "{\"metric\":{");
	for (size_t i = 0; i < s->labels; i++) {
		tw_buf_adds(out, i > 0 ? "," : "");
		add_text(out, s->label[i].name);
		tw_buf_adds(out, ":");
		add_text(out, s->label[i].value);
	}
	tw_buf_adds(out, "},\"values\":[");
}

static void add_series(struct tw_buf *out, const struct tw_series *s)
{
	struct tw_unpack time = tw_unpack_begin(&s->time_ms);
	struct tw_unpack value = tw_unpack_begin(&s->value);

	add_labels(out, s);
	for (size_t i = 0; i < s->value.count; i++) {
		const int64_t ms = (int64_t)tw_unpack_next(&time);

		tw_buf_addf(out, "%s[%lld.%03lld,\"", i > 0 ? "," : "",
			    (long long)(ms / 1000), (long long)(ms % 1000));
		tw_buf_add_double(out, tw_unpack_next(&value));
		tw_buf_adds(out, "\"]");
	}
	tw_buf_adds(out, "]}");
}

void tw_prom_text(const struct tw_prom *p, struct tw_buf *out)
{
	tw_buf_adds(out, "{");
	for (size_t i = 0; i < p->count; i++) {
		const struct tw_prom_metric *m = &p->metric[i];

		tw_buf_adds(out, i > 0 ? "," : "");
		add_text(out, m->name);
		tw_buf_adds(out, ":[");
		for (size_t k = 0; k < m->count; k++) {
			tw_buf_adds(out, k > 0 ? "," : "");
			add_series(out, &m->series[k]);
		}
		tw_buf_adds(out, "]");
	}
	tw_buf_adds(out, "}");
}
