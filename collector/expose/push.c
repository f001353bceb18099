/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/expose/push.h"

#include "collector/push/format.h"
#include "collector/settings.h"
#include "collector/system/credentials.h"
#include "lib/ask/ask.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/utf8.h"
#include "lib/http/client/url.h"
#include "lib/program/log.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Messages in one call: a helper that sends garbage must not block the tick. */
#define HEAR_MAX 64
#define MACHINE_ID_MAX 64
#define NAME_MAX_LEN 127

/* A receiver, and the helper that pushes to it. */
struct receiver {
	struct tw_ask *ask; /* NULL: no such receiver */
	const char *name;
	bool wanted; /* the helper has asked for a text */
	uint32_t seq;
	pid_t child; /* the process that writes a text; 0: none */
	bool up;
	char why[TW_ASK_WHY];
	uint64_t pushes, failures, samples, bytes;
};

struct tw_push {
	struct receiver of[TW_PUSH_COUNT];
	int64_t start_ns; /* since 1970 */
};

/* ---- options ---- */

static int check_receiver(const struct tw_push_options *o, int i, struct tw_err *err)
{
	const char *name = tw_push_formats[i].name;

	if (o->url[i] == NULL && o->access[i] != NULL)
		return tw_fail(err, TW_INVALID, "--%s-access needs --%s", name, name);
	if (o->url[i] != NULL && !tw_url_is(o->url[i]))
		return tw_fail(err, TW_INVALID, "--%s: want http://ADDR or https://ADDR",
			       name);
	if (o->access[i] != NULL && tw_secret_check(o->access[i], err) < 0)
		return tw_err_wrap(err, "--%s-access", name);
	return 0;
}

/* Read the name of NAME=VALUE. As a label it has '_' for each '.'. False: invalid. */
static bool read_name(const char *text, bool as_label, char out[NAME_MAX_LEN + 1])
{
	const size_t n =
		strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_."
			     "0123456789");

	if (n == 0 || n > NAME_MAX_LEN || text[n] != '=')
		return false;
	for (size_t i = 0; i < n; i++)
		out[i] = (char)(as_label && text[i] == '.' ? '_' : text[i]);
	out[n] = '\0';
	return true;
}

static int check_label(const struct tw_strs *l, size_t i, struct tw_err *err)
{
	char name[NAME_MAX_LEN + 1], other[NAME_MAX_LEN + 1];

	if (!read_name(l->at[i], true, name) || (name[0] >= '0' && name[0] <= '9') ||
	    strncmp(name, "__", 2) == 0)
		return tw_fail(err, TW_INVALID, "--push-labels: '%.64s': want NAME=VALUE",
			       l->at[i]);
	if (!tw_is_utf8(l->at[i]))
		return tw_fail(err, TW_INVALID, "--push-labels: %s: want UTF-8", name);
	for (size_t k = 0; k < i; k++)
		if (read_name(l->at[k], true, other) && strcmp(name, other) == 0)
			return tw_fail(err, TW_INVALID, "--push-labels: %s twice", name);
	return 0;
}

int tw_push_options_check(const struct tw_push_options *o, struct tw_err *err)
{
	for (int i = 0; i < TW_PUSH_COUNT; i++)
		if (check_receiver(o, i, err) < 0)
			return -1;
	for (size_t i = 0; i < o->labels.count; i++)
		if (check_label(&o->labels, i, err) < 0)
			return -1;
	return 0;
}

/* ---- start and end ---- */

/* Append a name and its value, or replace the value of the same name. */
static void add_pair(json_t *list, const char *name, const char *value)
{
	if (value == NULL || value[0] == '\0' || !tw_is_utf8(value))
		return;
	for (size_t i = 0; i < json_array_size(list); i += 2)
		if (strcmp(json_string_value(json_array_get(list, i)), name) == 0) {
			json_array_set_new(list, i + 1, json_string(value));
			return;
		}
	json_array_append_new(list, json_string(name));
	json_array_append_new(list, json_string(value));
}

/* Read the host.id of OpenTelemetry's conventions; "": not known. */
static void read_machine_id(char out[MACHINE_ID_MAX])
{
	struct tw_err ignored = { 0 };
	char *text = NULL;
	size_t len;

	out[0] = '\0';
	if (tw_file_read("/etc/machine-id", MACHINE_ID_MAX, &text, &len, &ignored) == 0)
		snprintf(out, MACHINE_ID_MAX, "%.*s", (int)strcspn(text, "\n"), text);
	free(text);
}

/* The origin of the samples: resource attributes, or the labels that a scrape adds. */
static json_t *make_resource(const struct tw_collector_settings *s, int to,
			     const char *node_name)
{
	const bool in_cluster = s->pods.kubelet != NULL || s->pods.kube_api != NULL;
	json_t *list = json_array();
	char id[MACHINE_ID_MAX];

	if (to == TW_PUSH_REMOTE_WRITE) {
		add_pair(list, "job", "tw-collector");
		add_pair(list, "instance", node_name);
	} else {
		read_machine_id(id);
		add_pair(list, "service.name", "tw-collector");
		add_pair(list, "service.instance.id", node_name);
		add_pair(list, "service.version", TW_VERSION);
		add_pair(list, "host.name", node_name);
		add_pair(list, "host.id", id);
		add_pair(list, "k8s.node.name", in_cluster ? node_name : NULL);
	}
	for (size_t i = 0; i < s->push.labels.count; i++) {
		const char *text = s->push.labels.at[i];
		char name[NAME_MAX_LEN + 1];

		if (read_name(text, to == TW_PUSH_REMOTE_WRITE, name))
			add_pair(list, name, strchr(text, '=') + 1);
	}
	return list;
}

static char *make_url(const char *url, const char *path)
{
	const char *host = strstr(url, "://") + 3;
	const char *slash = strchr(host, '/');
	struct tw_buf b = { 0 };

	if (path != NULL && (slash == NULL || slash[1] == '\0')) {
		tw_buf_add(&b, url, slash != NULL ? (size_t)(slash - url) : strlen(url));
		tw_buf_adds(&b, path);
	} else {
		tw_buf_adds(&b, url);
	}
	return tw_buf_detach(&b, NULL);
}

static int open_receiver(struct tw_push *p, int i, const struct tw_collector_settings *s,
			 const char *node_name, struct tw_err *err)
{
	const struct tw_ask_config ask = { .user = s->user,
					   .filter = s->filter,
					   .log_format = s->log_format };
	struct receiver *r = &p->of[i];
	char *url = make_url(s->push.url[i], tw_push_formats[i].path);
	int rc;

	r->name = tw_push_formats[i].name;
	snprintf(r->why, sizeof(r->why), "not pushed yet");
	rc = tw_ask_open(&ask, "push",
			 json_pack("{s:s?,s:i,s:s*,s:I,s:I,s:o}", "url", url, "to", i,
				   "access", s->push.access[i], "interval_ms",
				   (json_int_t)s->push.interval_ms, "timeout_ms",
				   (json_int_t)s->push.timeout_ms, "resource",
				   make_resource(s, i, node_name)),
			 &r->ask, err);
	free(url);
	return rc;
}

int tw_push_open(const struct tw_collector_settings *s, const char *node_name,
		 struct tw_push **out, struct tw_err *err)
{
	struct tw_push *p;

	if (s->push.url[TW_PUSH_OTLP] == NULL &&
	    s->push.url[TW_PUSH_REMOTE_WRITE] == NULL)
		return 0;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return tw_fail(err, TW_NOMEM, "push");
	p->start_ns = tw_wall_ms() * 1000000;
	for (int i = 0; i < TW_PUSH_COUNT; i++)
		if (s->push.url[i] != NULL &&
		    open_receiver(p, i, s, node_name, err) < 0) {
			tw_push_close(p);
			return -1;
		}
	*out = p;
	return 0;
}

void tw_push_close(struct tw_push *p)
{
	for (int i = 0; p != NULL && i < TW_PUSH_COUNT; i++)
		tw_ask_close(p->of[i].ask);
	free(p);
}

/* ---- messages ---- */

int tw_push_fd(const struct tw_push *p, int i)
{
	return p != NULL && p->of[i].ask != NULL ? tw_ask_fd(p->of[i].ask) : -1;
}

static void fail(struct receiver *r, const char *why)
{
	if (r->up || strcmp(r->why, why) != 0)
		tw_log_warn("the metrics are not pushed to=%s: %s", r->name, why);
	r->failures++;
	r->up = false;
	snprintf(r->why, sizeof(r->why), "%s", why);
}

static void succeed(struct receiver *r, const struct tw_ask_pushed *pushed)
{
	if (!r->up)
		tw_log_info("the metrics are pushed to=%s samples=%llu bytes=%llu",
			    r->name, (unsigned long long)pushed->samples,
			    (unsigned long long)pushed->bytes);
	r->up = true;
	r->why[0] = '\0';
	r->pushes++;
}

void tw_push_hear(struct tw_push *p, int i)
{
	struct receiver *r = &p->of[i];
	struct tw_ask_message m;

	/* A child's copy keeps a closed socket readable until the child exits. */
	if (tw_ask_fd(r->ask) < 0)
		return;
	for (int n = 0; n < HEAR_MAX && tw_ask_next(r->ask, &m); n++) {
		if (m.kind == TW_ASK_WANT) {
			r->wanted = true;
			r->seq = m.place;
		} else if (m.kind == TW_ASK_PUSHED) {
			r->samples += m.of.pushed.samples;
			r->bytes += m.of.pushed.bytes;
			if (m.why[0] == '\0')
				succeed(r, &m.of.pushed);
			else
				fail(r, m.why);
		} else if (m.kind == TW_ASK_MISSING || m.kind == TW_ASK_FAILED) {
			fail(r, m.why);
		}
		if (tw_ask_fd(r->ask) < 0)
			return;
	}
}

/* ---- texts ---- */

bool tw_push_wanted(struct tw_push *p, int i, int *fd, struct tw_push_head *head)
{
	struct receiver *r = &p->of[i];

	if (r->child > 0 && waitpid(r->child, NULL, WNOHANG) != 0)
		r->child = 0;
	*fd = r->ask != NULL ? tw_ask_fd(r->ask) : -1;
	*head = (struct tw_push_head){ .seq = r->seq, .start_ns = p->start_ns };
	return r->wanted && r->child == 0 && *fd >= 0;
}

void tw_push_began(struct tw_push *p, int i, pid_t child)
{
	p->of[i].child = child;
	p->of[i].wanted = false;
}

/* ---- metrics ---- */

static const struct tw_expo_family up[] = {
	{ "tallywatt_push_up", TW_EXPO_GAUGE, NULL,
	  "1 if the receiver has the metrics of the last push; else `reason` says why "
	  "not." },
};

#define ROW(name, unit, help, member)                                             \
	TW_EXPO_ROW("tallywatt_push_" name "_total", TW_EXPO_COUNTER, unit, help, \
		    struct receiver, member, 1)

static const struct tw_expo_row rows[] = {
	ROW("pushes", NULL, "Pushes that the receiver has taken.", pushes),
	ROW("failures", NULL,
	    "Failed tries, and pushes with samples that the receiver refused.", failures),
	ROW("samples", NULL, "Samples that the receiver has taken.", samples),
	ROW("sent_bytes", "bytes", "Bytes of the requests with these samples.", bytes),
};

const struct tw_expo_table tw_push_families[] = {
	TW_EXPO_TABLE(up),
	TW_EXPO_TABLE(rows),
	{ .first = NULL },
};

void tw_push_expose(const struct tw_push *p, struct tw_expo *e)
{
	for (size_t k = 0; p != NULL && k < 1 + TW_COUNT(rows); k++) {
		tw_expo_family(e, k == 0 ? up : &rows[k - 1].family);
		for (int i = 0; i < TW_PUSH_COUNT; i++) {
			const struct receiver *r = &p->of[i];
			struct tw_labels l = { .count = 0 };

			if (r->ask == NULL)
				continue;
			tw_labels_add(&l, "to", r->name);
			if (k > 0) {
				tw_expo_number(e, &rows[k - 1], &l, r);
				continue;
			}
			tw_labels_add(&l, "reason", r->why);
			tw_expo_count(e, l.at, l.count, r->up);
		}
	}
}
