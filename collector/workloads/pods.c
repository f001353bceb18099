/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/workloads/pods.h"

#include "collector/ask/ask_options.h"
#include "collector/workloads/workload_state.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/hash.h"
#include "lib/http/client/url.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUCKETS 4096

/* Messages of one drain: it must not delay the tick. */
#define DRAIN_MAX 4096

/* The texts are in the same allocation. */
struct entry {
	struct entry *next;
	uint64_t round; /* the last answer that had the id */
	const char *id;
	struct tw_pod_names names;
};

struct tw_pods {
	struct tw_ask *ask;
	struct entry *bucket[BUCKETS];
	struct tw_pods_stats stats;
};

/* ---- the table ---- */

static struct entry **place_of(const struct tw_pods *p, const char *id)
{
	/* The slots are not const, even if the caller only searches. */
	struct entry **at =
		(struct entry **)(uintptr_t)&p->bucket[tw_hash(id, strlen(id)) % BUCKETS];

	while (*at != NULL && strcmp((*at)->id, id) != 0)
		at = &(*at)->next;
	return at;
}

static char *add_text(char *to, const char **out, const char *text)
{
	const size_t len = strlen(text) + 1;

	*out = memcpy(to, text, len);
	return to + len;
}

static struct entry *make_entry(const struct tw_ask_names *n)
{
	const size_t len = strlen(n->id) + strlen(n->pod) + strlen(n->name_space) +
			   strlen(n->container) + 4;
	struct entry *e = malloc(sizeof(*e) + len);
	char *at;

	if (e == NULL)
		return NULL;
	e->next = NULL;
	at = add_text((char *)(e + 1), &e->id, n->id);
	at = add_text(at, &e->names.pod, n->pod);
	at = add_text(at, &e->names.name_space, n->name_space);
	add_text(at, &e->names.container, n->container);
	return e;
}

static bool is_same(const struct entry *e, const struct tw_ask_names *n)
{
	return strcmp(e->names.pod, n->pod) == 0 &&
	       strcmp(e->names.name_space, n->name_space) == 0 &&
	       strcmp(e->names.container, n->container) == 0;
}

static void remove_at(struct tw_pods *p, struct entry **at)
{
	struct entry *e = *at;

	*at = e->next;
	free(e);
	p->stats.known--;
}

/* The names of an id change only for a static pod whose manifest changed. */
static void take_names(struct tw_pods *p, const struct tw_ask_names *n)
{
	struct entry **at = place_of(p, n->id), *e;

	if (*at != NULL && !is_same(*at, n)) {
		remove_at(p, at);
		at = place_of(p, n->id);
	}
	if (*at == NULL) {
		e = p->stats.known < TW_PODS_MAX ? make_entry(n) : NULL;
		if (e == NULL) {
			p->stats.left_out++;
			return;
		}
		*at = e;
		p->stats.known++;
	}
	(*at)->round = p->stats.rounds;
}

/*
 * Keep an id for one answer longer than it is listed: its workload may be exiting just
 * now.
 */
static void end_round(struct tw_pods *p)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		struct entry **at = &p->bucket[i];

		while (*at != NULL)
			if ((*at)->round + 1 < p->stats.rounds)
				remove_at(p, at);
			else
				at = &(*at)->next;
	}
	p->stats.rounds++;
	p->stats.up = true;
	p->stats.why[0] = '\0';
}

/* ---- requests ---- */

/* Where Kubernetes mounts a pod's service account. */
#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount/"

/* The file that was given, else the service account's if it is readable, else NULL. */
static const char *file_of(const char *given, const char *account)
{
	if (given != NULL)
		return given;
	return access(account, R_OK) == 0 ? account : NULL;
}

int tw_pods_options_check(const struct tw_pods_options *o, struct tw_err *err)
{
	const char *const urls[] = { o->kubelet, o->kube_api };

	if (o->kubelet != NULL && o->kube_api != NULL)
		return tw_fail(err, TW_INVALID,
			       "--kubelet and --kube-api: want one of both");
	for (int i = 0; i < 2; i++)
		if (urls[i] != NULL && strncmp(urls[i], "https://", 8) != 0 &&
		    (!o->insecure || strncmp(urls[i], "http://", 7) != 0))
			return tw_fail(err, TW_INVALID,
				       "%s: want https://ADDR (http:// is for "
				       "--kube-insecure)",
				       i == 0 ? "--kubelet" : "--kube-api");
	return 0;
}

static void add_url(struct tw_buf *url, const struct tw_pods_options *o, const char *node)
{
	const char *base = o->kubelet != NULL ? o->kubelet : o->kube_api;
	size_t len = strlen(base);

	while (len > 0 && base[len - 1] == '/')
		len--;
	tw_buf_add(url, base, len);
	if (o->kubelet != NULL) {
		tw_buf_adds(url, "/pods");
	} else {
		tw_buf_adds(url, "/api/v1/pods?fieldSelector=spec.nodeName%3D");
		tw_url_escape(url, node);
	}
}

/* settings is taken, as by tw_ask_open(). */
static int open_job(const char *job, json_t *settings, const struct tw_ask_config *ask,
		    struct tw_pods **out, struct tw_err *err)
{
	struct tw_pods *p = calloc(1, sizeof(*p));

	if (p == NULL) {
		json_decref(settings);
		return tw_fail(err, TW_NOMEM, "%s", job);
	}
	if (tw_ask_open(ask, job, settings, &p->ask, err) < 0) {
		free(p);
		return -1;
	}
	snprintf(p->stats.why, sizeof(p->stats.why), "not asked yet");
	*out = p;
	return 0;
}

int tw_pods_open(const struct tw_pods_options *o, const char *node,
		 const struct tw_ask_config *ask, struct tw_pods **out,
		 struct tw_err *err)
{
	struct tw_buf url = { 0 };
	int rc = -1;

	add_url(&url, o, node);
	if (tw_buf_failed(&url))
		tw_fail(err, TW_NOMEM, "pods");
	else
		rc = open_job("pods",
			      json_pack("{s:s,s:s*,s:s*,s:b,s:I}", "url", url.data,
					"token", file_of(o->token, ACCOUNT "token"), "ca",
					file_of(o->ca, ACCOUNT "ca.crt"), "insecure",
					o->insecure, "interval_ms",
					(json_int_t)o->interval_ms),
			      ask, out, err);
	tw_buf_clear(&url);
	return rc;
}

/* ---- container engines ---- */

#define ENGINES_INTERVAL_MS 3600000

int tw_pods_open_engines(const char *choice, const struct tw_ask_config *ask,
			 struct tw_pods **out, struct tw_err *err)
{
	static const char *const usual[] = { "/run/docker.sock",
					     "/run/podman/podman.sock" };
	json_t *sockets;

	if (strcmp(choice, "off") == 0)
		return 0;
	sockets = json_array();
	if (strcmp(choice, "auto") != 0)
		json_array_append_new(sockets, json_string(choice));
	for (size_t i = 0; i < TW_COUNT(usual) && strcmp(choice, "auto") == 0; i++)
		if (access(usual[i], W_OK) == 0)
			json_array_append_new(sockets, json_string(usual[i]));
	if (sockets != NULL && json_array_size(sockets) == 0) {
		json_decref(sockets);
		return 0;
	}
	return open_job("containers",
			json_pack("{s:o,s:I}", "sockets", sockets, "interval_ms",
				  (json_int_t)ENGINES_INTERVAL_MS),
			ask, out, err);
}

void tw_pods_close(struct tw_pods *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while (p->bucket[i] != NULL)
			remove_at(p, &p->bucket[i]);
	tw_ask_close(p->ask);
	free(p);
}

int tw_pods_fd(const struct tw_pods *p)
{
	return tw_ask_fd(p->ask);
}

void tw_pods_drain(struct tw_pods *p)
{
	struct tw_ask_message m;

	for (int i = 0; i < DRAIN_MAX && tw_ask_next(p->ask, &m); i++) {
		if (m.kind == TW_ASK_NAMES)
			take_names(p, &m.of.names);
		else if (m.kind == TW_ASK_ALL_NAMES)
			end_round(p);
		if (m.kind != TW_ASK_FAILED)
			continue;
		p->stats.failures += tw_ask_fd(p->ask) >= 0 || p->stats.up;
		p->stats.up = false;
		snprintf(p->stats.why, sizeof(p->stats.why), "%s", m.why);
		if (tw_ask_fd(p->ask) < 0)
			return;
	}
}

bool tw_pods_find(const struct tw_pods *p, const char *id, struct tw_pod_names *out)
{
	const struct entry *e = *place_of(p, id);

	if (e != NULL)
		*out = e->names;
	return e != NULL;
}

void tw_pods_want(struct tw_pods *p)
{
	tw_ask_again(p->ask);
}

const struct tw_pods_stats *tw_pods_stats(const struct tw_pods *p)
{
	return &p->stats;
}

/* ---- the names of workloads ---- */

/* A container that this many answers lack (a sandbox) is not requested again. */
#define WANTED_MAX 3

/* Digits of the ids of Docker and podman. */
#define ENGINE_ID 64

static const char *none_if_empty(const char *text)
{
	return text[0] != '\0' ? text : NULL;
}

/* Without memory the old names stay. */
static void set_names(struct tw_owner *o, const struct tw_pod_names *n)
{
	char *at =
		malloc(strlen(n->pod) + strlen(n->name_space) + strlen(n->container) + 3);

	if (at == NULL)
		return;
	free(o->names);
	o->names = at;
	at = add_text(at, &o->w.pod_name, n->pod);
	at = add_text(at, &o->w.pod_namespace, n->name_space);
	add_text(at, &o->w.container_name, n->container);
	o->w.pod_name = none_if_empty(o->w.pod_name);
	o->w.pod_namespace = none_if_empty(o->w.pod_namespace);
	o->w.container_name = none_if_empty(o->w.container_name);
}

/* Request the names once for each answer that lacks them. */
static void request_names(struct tw_owner *o, struct tw_pods *pods)
{
	const uint64_t answers = tw_pods_stats(pods)->rounds;

	if (o->wanted == WANTED_MAX || (o->wanted > 0 && o->wanted_at == answers))
		return;
	o->wanted++;
	o->wanted_at = answers;
	tw_pods_want(pods);
}

/* Name a container by its id; until that is known, by its pod's uid. */
static void name_owner(struct tw_owner *o, struct tw_pods *pods)
{
	const bool container = o->w.level == TW_LEVEL_CONTAINER;
	struct tw_pod_names names;

	if ((o->names != NULL && !container) || o->w.container_name != NULL)
		return;
	if (container && tw_pods_find(pods, o->who.id, &names)) {
		set_names(o, &names);
		return;
	}
	if (o->names == NULL && tw_pods_find(pods, o->who.pod_uid, &names))
		set_names(o, &names);
	if (container || o->names == NULL)
		request_names(o, pods);
}

/* Whether Docker or podman may have made the container; podman of root, or Docker. */
static bool is_of_engine(const struct tw_identity *who)
{
	return who->namer == TW_NAMER_ROOT && strlen(who->id) == ENGINE_ID &&
	       (who->runtime == NULL || strcmp(who->runtime, "docker") == 0 ||
		strcmp(who->runtime, "podman") == 0);
}

static void name_in_no_pod(struct tw_owner *o, struct tw_pods *engines)
{
	struct tw_pod_names names;

	if (o->names != NULL || !is_of_engine(&o->who))
		return;
	if (tw_pods_find(engines, o->who.id, &names))
		set_names(o, &names);
	else
		request_names(o, engines);
}

void tw_workloads_name(struct tw_workloads *t, struct tw_pods *pods,
		       struct tw_pods *engines)
{
	static const enum tw_level levels[] = { TW_LEVEL_CONTAINER, TW_LEVEL_POD };

	for (size_t i = 0; i < TW_COUNT(levels); i++)
		for (struct tw_workload *w = t->level[levels[i]].first; w != NULL;
		     w = w->next) {
			struct tw_owner *o = (struct tw_owner *)w;

			if (o->who.pod_uid[0] != '\0' && pods != NULL)
				name_owner(o, pods);
			else if (o->who.pod_uid[0] == '\0' && engines != NULL)
				name_in_no_pod(o, engines);
		}
}
