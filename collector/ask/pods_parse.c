/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/pods_parse.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/json/jsax.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Annotations of a pod have 256 KiB together; managed fields are separate strings. */
static const struct tw_jsax_limits limits = { .depth = 64,
					      .text_bytes = (size_t)1 << 20 };

enum key {
	KEY_OTHER,
	KEY_ANNOTATIONS,
	KEY_CONTAINER_ID,
	KEY_HASH,
	KEY_ITEMS,
	KEY_METADATA,
	KEY_MIRROR,
	KEY_NAME,
	KEY_NAMESPACE,
	KEY_STATUS,
	KEY_STATUSES,
	KEY_UID,
};

static const struct {
	const char *text;
	enum key key;
} keys[] = {
	{ "annotations", KEY_ANNOTATIONS },
	{ "containerID", KEY_CONTAINER_ID },
	{ "containerStatuses", KEY_STATUSES },
	{ "ephemeralContainerStatuses", KEY_STATUSES },
	{ "initContainerStatuses", KEY_STATUSES },
	{ "items", KEY_ITEMS },
	{ "kubernetes.io/config.hash", KEY_HASH },
	{ "kubernetes.io/config.mirror", KEY_MIRROR },
	{ "metadata", KEY_METADATA },
	{ "name", KEY_NAME },
	{ "namespace", KEY_NAMESPACE },
	{ "status", KEY_STATUS },
	{ "uid", KEY_UID },
};

/*
 * JSON nesting depth of the values we read:
 * {"items":[{"metadata":{"name":..,"annotations":{..}},
 * "status":{"containerStatuses":[{"name":..,"containerID":..}]}}]}
 */
enum depth {
	DEPTH_LIST = 1,
	DEPTH_POD = 2,
	DEPTH_POD_KEY = 3,
	DEPTH_META_KEY = 4,
	DEPTH_NOTE_KEY = 5,
	DEPTH_STATUS = 5,
	DEPTH_STATUS_KEY = 6,
	DEPTH_LAST_KEY = 8, /* lastState.terminated.containerID */
	DEPTH_COUNT
};

struct container {
	char id[TW_ASK_ID];
	char name[TW_ASK_LABEL];
};

struct tw_pods_parser {
	struct tw_jsax *jsax;
	tw_pods_fn *fn;
	void *arg;
	bool list; /* items was seen */
	enum key key[DEPTH_COUNT];

	/* The current pod. */
	char uid[TW_ASK_ID], mirror[TW_ASK_ID], hash[TW_ASK_ID];
	struct tw_ask_names names;
	struct container *container;
	size_t count, room, first; /* first: first container of the current status */
	char container_name[TW_ASK_LABEL];
};

static enum key find_key(const struct tw_jsax_event *e)
{
	for (size_t i = 0; i < TW_COUNT(keys); i++)
		if (strlen(keys[i].text) == e->len &&
		    memcmp(keys[i].text, e->text, e->len) == 0)
			return keys[i].key;
	return KEY_OTHER;
}

/* Copy a text; out becomes "" if it is too long or no Kubernetes name. */
static void copy(const struct tw_jsax_event *e, char *out, size_t size)
{
	out[0] = '\0';
	if (e->len >= size)
		return;
	for (size_t i = 0; i < e->len; i++)
		if ((unsigned char)e->text[i] <= 0x20 || (unsigned char)e->text[i] > 0x7e)
			return;
	memcpy(out, e->text, e->len);
	out[e->len] = '\0';
}

/* "containerd://0123.."; a container that has not started has "". */
static int add_container(struct tw_pods_parser *p, const struct tw_jsax_event *e,
			 struct tw_err *err)
{
	const char *scheme = memmem(e->text, e->len, "://", 3);
	struct tw_jsax_event id = *e;
	struct container *c;

	if (scheme == NULL)
		return 0;
	/* One pod must not hide the names of the others. */
	if (p->count == TW_POD_CONTAINERS_MAX)
		return 0;
	if (p->count == p->room) {
		const size_t room = p->room == 0 ? 64 : p->room * 2;

		c = realloc(p->container, room * sizeof(*c));
		if (c == NULL)
			return tw_fail(err, TW_NOMEM, "pods");
		p->container = c;
		p->room = room;
	}
	id.text = scheme + 3;
	id.len = e->len - (size_t)(id.text - e->text);
	c = &p->container[p->count];
	*c = (struct container){ .id = "" };
	copy(&id, c->id, sizeof(c->id));
	p->count += c->id[0] != '\0';
	return 0;
}

static bool in_status(const struct tw_pods_parser *p)
{
	return p->key[DEPTH_POD_KEY] == KEY_STATUS &&
	       p->key[DEPTH_META_KEY] == KEY_STATUSES;
}

static void take_meta(struct tw_pods_parser *p, const struct tw_jsax_event *e)
{
	if (p->key[DEPTH_META_KEY] == KEY_NAME)
		copy(e, p->names.pod, sizeof(p->names.pod));
	else if (p->key[DEPTH_META_KEY] == KEY_NAMESPACE)
		copy(e, p->names.name_space, sizeof(p->names.name_space));
	else if (p->key[DEPTH_META_KEY] == KEY_UID)
		copy(e, p->uid, sizeof(p->uid));
}

static void take_annotation(struct tw_pods_parser *p, const struct tw_jsax_event *e)
{
	if (p->key[DEPTH_NOTE_KEY] == KEY_MIRROR)
		copy(e, p->mirror, sizeof(p->mirror));
	else if (p->key[DEPTH_NOTE_KEY] == KEY_HASH)
		copy(e, p->hash, sizeof(p->hash));
}

static int take_text(struct tw_pods_parser *p, const struct tw_jsax_event *e,
		     struct tw_err *err)
{
	const bool meta = p->key[DEPTH_POD_KEY] == KEY_METADATA;

	if (meta && e->depth == DEPTH_META_KEY)
		take_meta(p, e);
	else if (meta && e->depth == DEPTH_NOTE_KEY &&
		 p->key[DEPTH_META_KEY] == KEY_ANNOTATIONS)
		take_annotation(p, e);
	else if (in_status(p) && e->depth == DEPTH_STATUS_KEY &&
		 p->key[DEPTH_STATUS_KEY] == KEY_NAME)
		copy(e, p->container_name, sizeof(p->container_name));
	else if (in_status(p) &&
		 (e->depth == DEPTH_STATUS_KEY || e->depth == DEPTH_LAST_KEY) &&
		 p->key[e->depth] == KEY_CONTAINER_ID)
		return add_container(p, e, err);
	return 0;
}

/* The name may come after the ids. */
static void end_status(struct tw_pods_parser *p)
{
	for (; p->first < p->count; p->first++)
		memcpy(p->container[p->first].name, p->container_name,
		       sizeof(p->container_name));
	p->container_name[0] = '\0';
}

static void begin_pod(struct tw_pods_parser *p)
{
	memset(&p->names, 0, sizeof(p->names));
	p->uid[0] = p->mirror[0] = p->hash[0] = p->container_name[0] = '\0';
	p->count = p->first = 0;
}

static int report(struct tw_pods_parser *p, const char *id, const char *container,
		  struct tw_err *err)
{
	if (id[0] == '\0')
		return 0;
	memcpy(p->names.id, id, strlen(id) + 1);
	memset(p->names.container, 0, sizeof(p->names.container));
	memcpy(p->names.container, container, strlen(container) + 1);
	return p->fn(p->arg, &p->names, err);
}

static int end_pod(struct tw_pods_parser *p, struct tw_err *err)
{
	if (p->names.pod[0] == '\0' || p->names.name_space[0] == '\0')
		return 0;
	if (report(p, p->uid, "", err) < 0)
		return -1;
	if (strcmp(p->mirror, p->uid) != 0 && report(p, p->mirror, "", err) < 0)
		return -1;
	if (strcmp(p->hash, p->uid) != 0 && strcmp(p->hash, p->mirror) != 0 &&
	    report(p, p->hash, "", err) < 0)
		return -1;
	for (size_t i = 0; i < p->count; i++)
		if (report(p, p->container[i].id, p->container[i].name, err) < 0)
			return -1;
	return 0;
}

static int begin(struct tw_pods_parser *p, const struct tw_jsax_event *e,
		 struct tw_err *err)
{
	const bool items = p->key[DEPTH_LIST] == KEY_ITEMS;

	if (e->depth == 0 && e->type != TW_JSAX_OBJECT)
		return tw_fail(err, TW_PARSE, "want a list of pods, got %s",
			       tw_jsax_type_name(e->type));
	if (e->depth == DEPTH_LIST && items) {
		if (e->type != TW_JSAX_ARRAY)
			return tw_fail(err, TW_PARSE, "items: expected a list, got %s",
				       tw_jsax_type_name(e->type));
		p->list = true;
	}
	if (e->depth == DEPTH_POD && items)
		begin_pod(p);
	if (e->depth + 1 < DEPTH_COUNT)
		p->key[e->depth + 1] = KEY_OTHER;
	return 0;
}

static int take(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	struct tw_pods_parser *p = arg;
	const bool items = p->key[DEPTH_LIST] == KEY_ITEMS;

	switch (e->type) {
	case TW_JSAX_OBJECT:
	case TW_JSAX_ARRAY:
		return begin(p, e, err);
	case TW_JSAX_KEY:
		if (e->depth < DEPTH_COUNT)
			p->key[e->depth] = find_key(e);
		return 0;
	case TW_JSAX_TEXT:
		return items ? take_text(p, e, err) : 0;
	case TW_JSAX_NULL:
		/* "items":null is an empty list. */
		p->list = p->list || (items && e->depth == DEPTH_LIST);
		return 0;
	case TW_JSAX_OBJECT_END:
		if (items && e->depth == DEPTH_STATUS && in_status(p))
			end_status(p);
		return items && e->depth == DEPTH_POD ? end_pod(p, err) : 0;
	default:
		return 0;
	}
}

int tw_pods_parser_new(tw_pods_fn *fn, void *arg, struct tw_pods_parser **out,
		       struct tw_err *err)
{
	struct tw_pods_parser *p = calloc(1, sizeof(*p));
	int rc = -1;

	if (p == NULL)
		return tw_fail(err, TW_NOMEM, "pods");
	p->fn = fn;
	p->arg = arg;
	if (tw_jsax_new(&limits, take, p, &p->jsax, err) < 0)
		goto out;

	*out = p;
	p = NULL;
	rc = 0;
out:
	tw_pods_parser_free(p);
	return rc;
}

int tw_pods_parser_feed(void *parser, const char *data, size_t len, struct tw_err *err)
{
	struct tw_pods_parser *p = parser;
	size_t used;

	/* Ignore white space after the document. */
	return tw_jsax_done(p->jsax) ? 0 : tw_jsax_feed(p->jsax, data, len, &used, err);
}

int tw_pods_parser_end(struct tw_pods_parser *p, struct tw_err *err)
{
	if (tw_jsax_end(p->jsax, err) < 0)
		return -1;
	if (!p->list)
		return tw_fail(err, TW_PARSE, "no items: want a list of pods");
	return 0;
}

void tw_pods_parser_free(struct tw_pods_parser *p)
{
	if (p == NULL)
		return;
	tw_jsax_free(p->jsax);
	free(p->container);
	free(p);
}
