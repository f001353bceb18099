/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/agent_parse.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/json/jsax.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 16
#define TEXT_MAX 4096
/* Limit of microjoules and of watts: no machine has more. */
#define UJ_MAX UINT64_C(1000000000000000000)
#define WATTS_MAX 1e9
#define SECONDS_MAX 1e11

/* Depths of the keys of the answer, of a workload, and of a zone. */
enum { IN_ANSWER = 1, IN_WORKLOAD = 3, IN_ZONE = 5 };

#define KEY_MAX 24

struct parser {
	const char *data;
	struct tw_agent_rows *out;
	char key[IN_ZONE + 1][KEY_MAX]; /* the last key at each depth */
	struct tw_ask_row row;
	struct tw_ask_energy energy;
	char path[TW_ASK_ID], zone_name[TW_ASK_ID];
	bool has_energy, used, any_answer;
	/* Ids of a workload's level and of those around it. */
	char container_id[TW_ASK_ID], pod_id[TW_ASK_ID], vm_id[TW_ASK_ID];
	char job_id[TW_ASK_ID];
};

static void copy(char *to, size_t size, const struct tw_jsax_event *e)
{
	const size_t len = e->len < size ? e->len : size - 1;

	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)e->text[i];

		to[i] = c >= 0x20 && c <= 0x7e ? (char)c : '?';
	}
	to[len] = '\0';
}

#define COPY(array, e) copy(array, sizeof(array), e)

/* Identities must be whole: two cut ids could be equal. */
static int copy_id(char *to, size_t size, const char *what, const struct tw_jsax_event *e,
		   struct tw_err *err)
{
	if (e->len >= size)
		return tw_fail(err, TW_INVALID, "%s of over %zu bytes", what, size - 1);
	copy(to, size, e);
	return 0;
}

/*
 * Read the number's text as microjoules: exact for up to six decimals, which a double is
 * not from 4.5 GJ on. Any other form is rounded.
 */
static int read_uj(const struct parser *p, const struct tw_jsax_event *e, uint64_t *out,
		   struct tw_err *err)
{
	const char *at = p->data + e->offset;
	unsigned decimals = 0;
	uint64_t uj = 0;

	if (!(e->number >= 0) || e->number * 1e6 > (double)UJ_MAX)
		return tw_fail(err, TW_INVALID, "impossible energy: %.4g J", e->number);
	for (; *at >= '0' && *at <= '9'; at++)
		uj = uj * 10 + (uint64_t)(*at - '0');
	if (*at == '.')
		for (at++; *at >= '0' && *at <= '9' && decimals < 6; at++, decimals++)
			uj = uj * 10 + (uint64_t)(*at - '0');
	for (; decimals < 6; decimals++)
		uj *= 10;
	*out = (*at >= '0' && *at <= '9') || *at == 'e' || *at == 'E' || *at == '-'
		       ? (uint64_t)llround(e->number * 1e6)
		       : uj;
	return 0;
}

static int read_number(const struct tw_jsax_event *e, double max, const char *what,
		       double *out, struct tw_err *err)
{
	if (!(e->number >= 0 && e->number <= max))
		return tw_fail(err, TW_INVALID, "impossible %s: %.4g", what, e->number);
	*out = e->number;
	return 0;
}

static int take_zone_value(struct parser *p, const struct tw_jsax_event *e,
			   struct tw_err *err)
{
	const char *key = p->key[IN_ZONE];
	const bool number = e->type == TW_JSAX_NUMBER, text = e->type == TW_JSAX_TEXT;
	double watts = 0;

	if (strcmp(key, "dynamic_joules") == 0 && number) {
		p->has_energy = true;
		return read_uj(p, e, &p->energy.dynamic_uj, err);
	}
	if (strcmp(key, "idle_joules") == 0 && number)
		return read_uj(p, e, &p->energy.idle_uj, err);
	if ((strcmp(key, "watts") == 0 || strcmp(key, "dynamic_watts") == 0 ||
	     strcmp(key, "idle_watts") == 0) &&
	    number) {
		if (read_number(e, WATTS_MAX, "power in watts", &watts, err) < 0)
			return -1;
		p->energy.watts += watts;
		p->energy.powered = 1;
	} else if (strcmp(key, "zone") == 0 && text) {
		return copy_id(p->energy.zone, sizeof(p->energy.zone), key, e, err);
	} else if (strcmp(key, "source") == 0 && text) {
		return copy_id(p->energy.source, sizeof(p->energy.source), key, e, err);
	} else if (strcmp(key, "path") == 0 && text) {
		COPY(p->path, e);
	} else if (strcmp(key, "name") == 0 && text) {
		COPY(p->zone_name, e);
	} else if (strcmp(key, "used") == 0) {
		p->used = e->type != TW_JSAX_FALSE;
	}
	return 0;
}

static int take_workload_value(struct parser *p, const struct tw_jsax_event *e,
			       struct tw_err *err)
{
	const char *key = p->key[IN_WORKLOAD];
	struct {
		const char *key;
		char *to;
		size_t size;
		bool id;
	} const texts[] = {
		{ "level", p->row.level, sizeof(p->row.level), true },
		{ "container_id", p->container_id, sizeof(p->container_id), true },
		{ "pod_id", p->pod_id, sizeof(p->pod_id), true },
		{ "vm_id", p->vm_id, sizeof(p->vm_id), true },
		{ "job_id", p->job_id, sizeof(p->job_id), true },
		{ "user_id", p->row.name, sizeof(p->row.name), false },
		{ "pod_name", p->row.name, sizeof(p->row.name), false },
		{ "vm_name", p->row.name, sizeof(p->row.name), false },
		{ "namespace", p->row.name_space, sizeof(p->row.name_space), true },
		{ "container_name", p->row.container, sizeof(p->row.container), false },
		{ "runtime", p->row.runtime, sizeof(p->row.runtime), false },
		{ "hypervisor", p->row.runtime, sizeof(p->row.runtime), false },
	};

	if (e->type != TW_JSAX_TEXT)
		return 0;
	for (size_t i = 0; i < TW_COUNT(texts); i++) {
		if (strcmp(texts[i].key, key) != 0)
			continue;
		if (texts[i].id)
			return copy_id(texts[i].to, texts[i].size, key, e, err);
		copy(texts[i].to, texts[i].size, e);
	}
	return 0;
}

static int take_answer_value(struct parser *p, const struct tw_jsax_event *e,
			     struct tw_err *err)
{
	struct tw_ask_answer *a = &p->out->answer;
	const char *key = p->key[IN_ANSWER];
	double seconds = 0;

	if (e->type == TW_JSAX_TEXT) {
		if (strcmp(key, "node_name") == 0)
			COPY(a->node, e);
		else if (strcmp(key, "instance") == 0)
			return copy_id(a->instance, sizeof(a->instance), key, e, err);
		else if (strcmp(key, "vm_id") == 0)
			return copy_id(a->vm_id, sizeof(a->vm_id), key, e, err);
		return 0;
	}
	if (e->type != TW_JSAX_NUMBER ||
	    (strcmp(key, "uptime_seconds") != 0 && strcmp(key, "elapsed_seconds") != 0))
		return 0;
	if (read_number(e, SECONDS_MAX, key, &seconds, err) < 0)
		return -1;
	*(key[0] == 'u' ? &a->uptime_ms : &a->elapsed_ms) = (uint64_t)(seconds * 1e3);
	return 0;
}

static int add_row(struct parser *p, struct tw_err *err)
{
	struct tw_agent_rows *r = p->out;

	if (r->count == TW_AGENT_ROWS_MAX) {
		r->answer.rows_cut++;
		return 0;
	}
	if (!tw_grow(&r->at, &r->size, r->count, sizeof(*r->at)))
		return tw_fail(err, TW_NOMEM, "workloads");
	r->at[r->count++] = p->row;
	return 0;
}

/*
 * Each zone of the node is a row: it may be missing for a while, alone. Then the row has
 * no energy.
 */
static int end_zone(struct parser *p, struct tw_err *err)
{
	const bool node = strcmp(p->row.level, "node") == 0,
		   missing = node && !p->has_energy;

	if ((!missing && !(p->has_energy && p->used)) || p->energy.zone[0] == '\0')
		return 0;
	if (!node) {
		if (p->row.energies == TW_ASK_ENERGIES)
			return tw_fail(err, TW_INVALID, "over %d zones of a workload",
				       TW_ASK_ENERGIES);
		p->row.energy[p->row.energies++] = p->energy;
		return 0;
	}
	p->row.energies = p->has_energy ? 1 : 0;
	p->row.energy[0] = p->energy;
	if (strlen(p->energy.source) + strlen(p->path) + strlen(p->zone_name) + 3 >
	    sizeof(p->row.id))
		p->path[TW_ASK_ID / 2] = p->zone_name[TW_ASK_ID / 4] = '\0';
	stpcpy(stpcpy(stpcpy(stpcpy(stpcpy(p->row.id, p->energy.source), " "), p->path),
		      " "),
	       p->zone_name);
	return add_row(p, err);
}

static int end_workload(struct parser *p, struct tw_err *err)
{
	static const char *const levels[] = { "container", "pod", "vm", "job" };
	const char *const ids[] = { p->container_id, p->pod_id, p->vm_id, p->job_id };

	for (size_t i = 0; i < TW_COUNT(levels); i++) {
		if (strcmp(p->row.level, levels[i]) != 0)
			continue;
		if (ids[i][0] == '\0')
			return tw_fail(err, TW_INVALID, "a %s without an id", levels[i]);
		strcpy(p->row.id, ids[i]);
		p->row.in_pod = ids[i] == p->vm_id && p->pod_id[0] != '\0';
		return add_row(p, err);
	}
	return 0;
}

static int begin_object(struct parser *p, const struct tw_jsax_event *e)
{
	if (e->depth == IN_WORKLOAD - 1) {
		memset(&p->row, 0, sizeof(p->row));
		p->container_id[0] = p->pod_id[0] = p->vm_id[0] = '\0';
		p->job_id[0] = '\0';
	} else if (e->depth == IN_ZONE - 1) {
		memset(&p->energy, 0, sizeof(p->energy));
		p->path[0] = p->zone_name[0] = '\0';
		p->has_energy = false;
		p->used = true;
	}
	return 0;
}

static bool in_workloads(const struct parser *p)
{
	return strcmp(p->key[IN_ANSWER], "workloads") == 0;
}

static bool in_zones(const struct parser *p)
{
	return in_workloads(p) && strcmp(p->key[IN_WORKLOAD], "zones") == 0;
}

static int take_value(struct parser *p, const struct tw_jsax_event *e, struct tw_err *err)
{
	if (e->depth == IN_ANSWER)
		return take_answer_value(p, e, err);
	if (e->depth == IN_WORKLOAD && in_workloads(p))
		return take_workload_value(p, e, err);
	if (e->depth == IN_ZONE && in_zones(p))
		return take_zone_value(p, e, err);
	return 0;
}

static int take(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	struct parser *p = arg;

	switch (e->type) {
	case TW_JSAX_KEY:
		if (e->depth <= IN_ZONE)
			COPY(p->key[e->depth], e);
		return 0;
	case TW_JSAX_OBJECT:
		return begin_object(p, e);
	case TW_JSAX_OBJECT_END:
		if (e->depth == IN_ZONE - 1 && in_zones(p))
			return end_zone(p, err);
		/* Rows of another list have no level. */
		return e->depth == IN_WORKLOAD - 1 ? end_workload(p, err) : 0;
	case TW_JSAX_ARRAY:
		p->any_answer =
			p->any_answer || (e->depth == IN_ANSWER && in_workloads(p));
		return 0;
	case TW_JSAX_ARRAY_END:
		return 0;
	default:
		return take_value(p, e, err);
	}
}

int tw_agent_parse(const char *data, size_t len, struct tw_agent_rows *out,
		   struct tw_err *err)
{
	static const struct tw_jsax_limits limits = { .depth = DEPTH_MAX,
						      .text_bytes = TEXT_MAX };
	struct parser p = { .data = data, .out = out };

	out->count = 0;
	out->answer = (struct tw_ask_answer){ .bytes = len };
	if (tw_jsax_parse(&limits, take, &p, data, len, err) < 0) {
		out->count = 0;
		return -1;
	}
	if (!p.any_answer)
		return tw_fail(err, TW_INVALID, "not the answer of a tw-collector");
	out->answer.rows = (uint32_t)out->count;
	return 0;
}

void tw_agent_rows_release(struct tw_agent_rows *r)
{
	free(r->at);
	*r = (struct tw_agent_rows){ .at = NULL };
}
