/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP metrics (opentelemetry-proto 1.x, ExportMetricsServiceRequest). Names, units and
 * attributes are those of OpenTelemetry's semantic conventions where these have any: for
 * hardware, containers, Kubernetes, processes. All others are those of /metrics.
 */
#include "collector/push/format.h"
#include "collector/push/protobuf.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

/* Numbers of fields. */
enum { REQUEST_RESOURCE_METRICS = 1 };
enum { RM_RESOURCE = 1, RM_SCOPE_METRICS = 2 };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { SM_SCOPE = 1, SM_METRICS = 2 };
enum { SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum {
	METRIC_NAME = 1,
	METRIC_DESCRIPTION = 2,
	METRIC_UNIT = 3,
	METRIC_GAUGE = 5,
	METRIC_SUM = 7
};
enum { SUM_POINTS = 1, SUM_TEMPORALITY = 2, SUM_MONOTONIC = 3 };
enum { POINT_START = 2, POINT_TIME = 3, POINT_DOUBLE = 4, POINT_ATTRIBUTES = 7 };
enum { KV_KEY = 1, KV_VALUE = 2 };
enum { VALUE_STRING = 1, VALUE_INT = 3 };
#define CUMULATIVE 2

#define NAME_MAX_LEN 104

/* A word of ours, and the word of the conventions. */
struct word {
	const char *ours, *theirs;
};

/* Families of metrics. */
static const struct word metrics[] = {
	{ "tallywatt_node_energy_joules", "hw.energy" },
	{ "tallywatt_node_power_watts", "hw.power" },
	{ "tallywatt_process_cpu_seconds", "process.cpu.time" },
	{ "tallywatt_container_cpu_seconds", "container.cpu.time" },
	{ "tallywatt_pod_cpu_seconds", "k8s.pod.cpu.time" },
};

static const struct word attributes[] = {
	{ "pid", "process.pid" },
	{ "container_id", "container.id" },
	{ "container_name", "container.name" },
	{ "runtime", "container.runtime.name" },
	{ "pod_id", "k8s.pod.uid" },
	{ "pod_name", "k8s.pod.name" },
	{ "namespace", "k8s.namespace.name" },
};

/* Units of UCUM. */
static const struct word units[] = {
	{ "joules", "J" }, { "watts", "W" },  { "seconds", "s" },
	{ "bytes", "By" }, { "hertz", "Hz" }, { "grams", "g" },
};

/* hw.type of a zone; of any other kind it is the kind. */
static const struct word parts[] = {
	{ "package", "cpu" }, { "core", "cpu" },           { "uncore", "cpu" },
	{ "dram", "memory" }, { "platform", "enclosure" }, { "psys", "enclosure" },
};

static const char *look_up(const struct word *w, size_t count, const char *ours,
			   const char *otherwise)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(w[i].ours, ours) == 0)
			return w[i].theirs;
	return otherwise;
}

#define LOOK_UP(words, ours, otherwise) look_up(words, TW_COUNT(words), ours, otherwise)

struct request {
	struct tw_buf *b;
	const struct tw_push_head *head;
	char family[96]; /* of the open metric; "": none is open */
	bool counts, hardware;
	size_t metric, data; /* where its messages began */
};

/* ---- attributes ---- */

static void add_attribute(struct tw_buf *b, unsigned field, const char *name,
			  const char *value)
{
	const size_t pair = tw_pb_begin(b, field);
	size_t any;
	uint64_t number;

	tw_pb_add_text(b, KV_KEY, name);
	any = tw_pb_begin(b, KV_VALUE);
	if (strcmp(name, "process.pid") == 0 &&
	    tw_parse_u64(value, strlen(value), &number))
		tw_pb_add_uint(b, VALUE_INT, number);
	else
		tw_pb_add_text(b, VALUE_STRING, value);
	tw_pb_end(b, any);
	tw_pb_end(b, pair);
}

static const char *attribute_of(const struct request *r, const char *label)
{
	if (r->hardware && strcmp(label, "name") == 0)
		return "hw.name";
	return LOOK_UP(attributes, label, label);
}

/* hw.id and hw.type, which the conventions require. */
static void add_hardware(struct tw_buf *b, const struct tw_exposition_sample *s)
{
	static const char *const ids[] = { "uuid", "path", "name", "zone" };
	const char *zone = tw_exposition_value(s, "zone"), *id = "";

	for (size_t i = 0; i < TW_COUNT(ids) && id[0] == '\0'; i++)
		id = tw_exposition_value(s, ids[i]);
	add_attribute(b, POINT_ATTRIBUTES, "hw.id", id);
	add_attribute(b, POINT_ATTRIBUTES, "hw.type", LOOK_UP(parts, zone, zone));
}

/* ---- metrics ---- */

static const char *unit_of(const struct tw_push_family *f)
{
	return LOOK_UP(units, f->unit, "");
}

/* The convention's name, else ours without the unit: a receiver may append that. */
static void name_of(const struct tw_push_family *f, char out[NAME_MAX_LEN])
{
	const size_t len = strlen(f->name), unit = strlen(f->unit);
	const char *known = LOOK_UP(metrics, f->name, NULL);

	if (known != NULL) {
		snprintf(out, NAME_MAX_LEN, "%s", known);
		return;
	}
	snprintf(out, NAME_MAX_LEN, "%s%s", f->name,
		 strcmp(f->type, "info") == 0 ? "_info" : "");
	if (unit_of(f)[0] != '\0' && len > unit &&
	    strcmp(f->name + len - unit, f->unit) == 0 && f->name[len - unit - 1] == '_')
		out[len - unit - 1] = '\0';
}

static void end_metric(struct request *r)
{
	if (r->family[0] == '\0')
		return;
	if (r->counts) {
		tw_pb_add_uint(r->b, SUM_TEMPORALITY, CUMULATIVE);
		tw_pb_add_uint(r->b, SUM_MONOTONIC, 1);
	}
	tw_pb_end(r->b, r->data);
	tw_pb_end(r->b, r->metric);
	r->family[0] = '\0';
}

static void begin_metric(struct request *r, const struct tw_push_family *f)
{
	char name[NAME_MAX_LEN];

	name_of(f, name);
	snprintf(r->family, sizeof(r->family), "%s", f->name);
	r->counts = strcmp(f->type, "counter") == 0;
	r->hardware = strncmp(name, "hw.", 3) == 0;
	r->metric = tw_pb_begin(r->b, SM_METRICS);
	tw_pb_add_text(r->b, METRIC_NAME, name);
	tw_pb_add_text(r->b, METRIC_DESCRIPTION, f->help);
	tw_pb_add_text(r->b, METRIC_UNIT, unit_of(f));
	r->data = tw_pb_begin(r->b, r->counts ? METRIC_SUM : METRIC_GAUGE);
}

static int add_point(void *arg, const struct tw_push_family *f,
		     struct tw_exposition_sample *s, struct tw_err *err)
{
	struct request *r = arg;
	size_t point;

	(void)err;
	if (strcmp(r->family, f->name) != 0) {
		end_metric(r);
		begin_metric(r, f);
	}
	point = tw_pb_begin(r->b, SUM_POINTS);
	if (r->counts)
		tw_pb_add_fixed64(r->b, POINT_START, (uint64_t)r->head->start_ns);
	tw_pb_add_fixed64(r->b, POINT_TIME, (uint64_t)r->head->time_ns);
	tw_pb_add_double(r->b, POINT_DOUBLE, s->value);
	if (r->hardware)
		add_hardware(r->b, s);
	for (size_t i = 0; i < s->labels; i++)
		if (s->label[i].value[0] != '\0')
			add_attribute(r->b, POINT_ATTRIBUTES,
				      attribute_of(r, s->label[i].name),
				      s->label[i].value);
	tw_pb_end(r->b, point);
	return 0;
}

/* ---- the request ---- */

static void add_resource(struct tw_buf *b, const struct tw_strs *resource)
{
	const size_t began = tw_pb_begin(b, RM_RESOURCE);

	for (size_t i = 0; i + 1 < resource->count; i += 2)
		add_attribute(b, RESOURCE_ATTRIBUTES, resource->at[i],
			      resource->at[i + 1]);
	tw_pb_end(b, began);
}

static void add_scope(struct tw_buf *b)
{
	const size_t began = tw_pb_begin(b, SM_SCOPE);

	tw_pb_add_text(b, SCOPE_NAME, "tallywatt");
	tw_pb_add_text(b, SCOPE_VERSION, TW_VERSION);
	tw_pb_end(b, began);
}

/* 16 asks zlib for gzip's header. */
static int add_gzip(struct tw_buf *out, const struct tw_buf *from, struct tw_err *err)
{
	z_stream z = { .next_in = (Bytef *)from->data, .avail_in = (uInt)from->len };
	unsigned char part[4096];
	int rc;

	if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return tw_fail(err, TW_NOMEM, "gzip");
	do {
		z.next_out = part;
		z.avail_out = sizeof(part);
		rc = deflate(&z, Z_FINISH);
		tw_buf_add(out, part, sizeof(part) - z.avail_out);
	} while (rc == Z_OK);
	deflateEnd(&z);
	return rc == Z_STREAM_END && !tw_buf_failed(out) ? 0
							 : tw_fail(err, TW_NOMEM, "gzip");
}

int tw_otlp_write(struct tw_push_body *b, struct tw_err *err)
{
	struct tw_buf message = { 0 };
	struct request r = { .b = &message, .head = b->head };
	const size_t of_resource = tw_pb_begin(&message, REQUEST_RESOURCE_METRICS);
	size_t of_scope;
	int rc = -1;

	add_resource(&message, b->resource);
	of_scope = tw_pb_begin(&message, RM_SCOPE_METRICS);
	add_scope(&message);
	if (tw_push_walk(b, add_point, &r, err) < 0)
		goto out;
	end_metric(&r);
	tw_pb_end(&message, of_scope);
	tw_pb_end(&message, of_resource);
	if (tw_buf_failed(&message))
		tw_fail(err, TW_NOMEM, "request");
	else
		rc = add_gzip(b->out, &message, err);
out:
	tw_buf_clear(&message);
	return rc;
}

/* ExportMetricsServiceResponse: partial_success has a count and a text, perhaps cut. */
uint64_t tw_otlp_rejected(const char *answer, size_t len, char *why, size_t size)
{
	struct tw_pb_field outer, inner;
	size_t at = 0, in = 0;
	uint64_t count = 0;

	if (!tw_pb_next(answer, len, &at, &outer) || outer.number != 1 ||
	    outer.data == NULL)
		return 0;
	while (tw_pb_next(outer.data, outer.len, &in, &inner)) {
		if (inner.number == 1)
			count = inner.value;
		else if (inner.number == 2 && inner.data != NULL)
			snprintf(why, size, "%.*s", (int)inner.len, inner.data);
	}
	return count;
}
