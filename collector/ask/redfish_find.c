/* SPDX-License-Identifier: Apache-2.0 */
/* Which chassis of a controller tell power. */
#include "collector/ask/redfish_client.h"
#include "lib/core/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_chassis(struct tw_redfish *r, const char *path,
			struct tw_redfish_chassis *out, struct tw_err *err)
{
	struct tw_http_answer answer = { 0 };
	int rc;

	if (tw_redfish_get(r, path, &answer, err) < 0)
		return -1;
	rc = tw_redfish_parse_chassis(answer.body, answer.len, out, err);
	tw_http_answer_release(&answer);
	return rc < 0 ? tw_err_wrap(err, "%.96s", path) : 0;
}

/* Machines of many GPUs have a hundred. */
#define FOUND_MAX 256

struct found {
	struct tw_redfish_chassis chassis[FOUND_MAX];
	char path[FOUND_MAX][TW_REDFISH_PATH];
	struct tw_redfish_source source[FOUND_MAX];
	bool tells[FOUND_MAX];
	size_t count;
};

/* A link may end with '/' or not. */
static bool is_same_path(const char *a, const char *b)
{
	const size_t n = strlen(a) - (a[0] != '\0' && a[strlen(a) - 1] == '/');
	const size_t m = strlen(b) - (b[0] != '\0' && b[strlen(b) - 1] == '/');

	return n == m && memcmp(a, b, n) == 0;
}

/* Whether a resource tells power now; it is *s then. */
static bool try_kind(struct tw_redfish *r, const struct tw_redfish_chassis *c,
		     enum tw_redfish_kind kind, const char *path,
		     struct tw_redfish_source *s, struct tw_err *err)
{
	struct tw_redfish_power power;

	*s = (struct tw_redfish_source){ .kind = kind };
	snprintf(s->id, sizeof(s->id), "%s", c->id);
	snprintf(s->path, sizeof(s->path), "%s", path);
	return tw_redfish_read(r, s, &power, err) == 0;
}

/*
 * The resources of a chassis, by trust. What cannot be read or does not tell power is
 * passed over, but for what ends the conversation.
 */
static int try_source(struct tw_redfish *r, struct found *f, size_t i, struct tw_err *why)
{
	const struct tw_redfish_chassis *c = &f->chassis[i];
	const char *const paths[TW_REDFISH_KINDS] = {
		[TW_REDFISH_METRICS] = c->metrics,
		[TW_REDFISH_POWER] = c->power,
		[TW_REDFISH_SUPPLIES] = c->subsystem,
	};

	for (int k = 0; k < TW_REDFISH_KINDS && !f->tells[i]; k++) {
		struct tw_err err = { 0 };

		if (paths[k][0] == '\0')
			continue;
		f->tells[i] = try_kind(r, c, (enum tw_redfish_kind)k, paths[k],
				       &f->source[i], &err);
		if (!f->tells[i])
			tw_fail(why, err.code, "%s: %s", c->id, err.text);
		if (err.code == TW_IO || err.code == TW_NOMEM || err.code == TW_DENIED)
			return -1;
	}
	return 0;
}

static bool is_wanted(const struct tw_redfish *r, const struct tw_redfish_chassis *c)
{
	const struct tw_strs *only = r->config.chassis;

	return only != NULL && only->count > 0 ? tw_strs_has(only, c->id) : !c->part;
}

/* Whether one around it, however far out, tells power, too. */
static bool is_inside(const struct found *f, size_t i)
{
	const char *around = f->chassis[i].contained_by;

	for (size_t steps = 0; around[0] != '\0' && steps < f->count; steps++) {
		size_t k = 0;

		while (k < f->count && !is_same_path(f->path[k], around))
			k++;
		if (k == f->count)
			return false;
		if (f->tells[k] && k != i)
			return true;
		around = f->chassis[k].contained_by;
	}
	return false;
}

static int find_chassis(struct tw_redfish *r, const struct tw_strs *members,
			struct found *f, struct tw_err *err)
{
	for (size_t i = 0; i < members->count; i++) {
		if (f->count == FOUND_MAX)
			return tw_fail(err, TW_INVALID, "more than %d chassis",
				       FOUND_MAX);
		if (read_chassis(r, members->at[i], &f->chassis[f->count], err) < 0)
			return -1;
		snprintf(f->path[f->count++], TW_REDFISH_PATH, "%s", members->at[i]);
	}
	return 0;
}

static int fail_none(const struct tw_err *why, struct tw_err *err)
{
	return why->code != TW_OK ? tw_fail(err, TW_NOTFOUND,
					    "no chassis tells power: %s", why->text)
				  : tw_fail(err, TW_NOTFOUND, "no chassis tells power");
}

/* The sources change only where all is found. */
static int keep_sources(struct tw_redfish *r, const struct found *f,
			const struct tw_err *why, struct tw_err *err)
{
	const bool named = r->config.chassis != NULL && r->config.chassis->count > 0;
	size_t tell = 0, count = 0, kept[FOUND_MAX];

	for (size_t i = 0; i < f->count; i++) {
		tell += f->tells[i];
		if (f->tells[i] && (named || !is_inside(f, i)))
			kept[count++] = i;
	}
	if (tell == 0)
		return fail_none(why, err);
	if (count == 0)
		return tw_fail(err, TW_INVALID,
			       "no chassis tells power: all are within each other");
	if (count > TW_REDFISH_CHASSIS_MAX)
		return tw_fail(err, TW_INVALID,
			       "more than %d chassis tell power: name those that count",
			       TW_REDFISH_CHASSIS_MAX);
	for (size_t i = 0; i < count; i++)
		r->source[i] = f->source[kept[i]];
	r->sources = count;
	return 0;
}

int tw_redfish_find(struct tw_redfish *r, const char *chassis, struct tw_err *err)
{
	struct tw_strs members = { 0 };
	struct found *f = calloc(1, sizeof(*f));
	struct tw_err why = { 0 };
	int rc = -1;

	if (f == NULL) {
		tw_fail(err, TW_NOMEM, "chassis");
		goto out;
	}
	if (tw_redfish_members(r, chassis, &members, err) < 0 ||
	    find_chassis(r, &members, f, err) < 0)
		goto out;
	for (size_t i = 0; i < f->count; i++)
		if (is_wanted(r, &f->chassis[i]) && try_source(r, f, i, &why) < 0) {
			tw_fail(err, why.code, "%s", why.text);
			goto out;
		}
	if (keep_sources(r, f, &why, err) < 0)
		goto out;

	rc = 0;
out:
	free(f);
	tw_strs_clear(&members);
	return rc;
}
