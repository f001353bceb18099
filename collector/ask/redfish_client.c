/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/redfish_client.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOT "/redfish/v1/"
#define SESSIONS "/redfish/v1/SessionService/Sessions"
#define ANSWER_MAX ((size_t)1 << 20)
#define LOGOUT_MS 1500

/* Pages of a collection. */
#define PAGES_MAX 16

/* Make a call with this controller's URL and credentials. */
static int call(const struct tw_redfish *r, struct tw_http_call *c, const char *path,
		bool anonymous, struct tw_http_answer *out, struct tw_err *err)
{
	const struct tw_redfish_config *config = &r->config;
	struct tw_http_access access = { .ca_file = config->ca_file,
					 .insecure = config->insecure };
	char url[1024], version[] = "OData-Version: 4.0", token[TW_HTTP_HEADER_MAX + 16];
	char *headers_at[] = { version, token };
	struct tw_strs headers = { .at = headers_at, .count = 1, .size = 2 };

	if ((size_t)snprintf(url, sizeof(url), "%s%s", config->url, path) >= sizeof(url))
		return tw_fail(err, TW_INVALID, "'%.64s' is too long", config->url);
	if (!anonymous && r->token[0] != '\0') {
		snprintf(token, sizeof(token), "X-Auth-Token: %s", r->token);
		headers.count = 2;
	} else if (!anonymous && r->basic) {
		access.user = config->user;
		access.password = config->password;
	}
	/*
	 * A custom header disables redirects: the credentials are for this server only.
	 */
	access.headers = &headers;
	c->url = url;
	c->access = &access;
	c->accept = "application/json";
	c->answer_max = ANSWER_MAX;
	/* Do not interrupt a login: its session would stay open. */
	c->stopped = anonymous ? NULL : config->stopped;
	c->stopped_arg = config->stopped_arg;
	if (c->timeout_ms == 0)
		c->timeout_ms = config->timeout_ms;
	return config->call(config->call_arg, c, out, err);
}

/* "GET /redfish/v1/Chassis answers 503: busy" */
static int fail_status(const char *path, const struct tw_http_answer *a,
		       struct tw_err *err)
{
	const enum tw_code code = a->status == 401 ? TW_DENIED : TW_INVALID;
	char why[128];

	tw_redfish_parse_error(a->body != NULL ? a->body : "", a->len, why, sizeof(why));
	return tw_fail(err, code, "%.96s answers %u%s%s", path, a->status,
		       why[0] != '\0' ? ": " : "", why);
}

/* ---- login ---- */

static char *make_login(const struct tw_redfish_config *c)
{
	struct tw_buf b = { 0 };

	tw_buf_adds(&b, "{\"UserName\":");
	tw_buf_add_json_text(&b, c->user, strlen(c->user));
	tw_buf_adds(&b, ",\"Password\":");
	tw_buf_add_json_text(&b, c->password, strlen(c->password));
	tw_buf_adds(&b, "}");
	return tw_buf_detach(&b, NULL);
}

/* Keep the path of Location, which may be a path or a URL. */
static void keep_session(struct tw_redfish *r, const char *location)
{
	const char *host = strstr(location, "://");
	const char *path = host != NULL ? strchr(host + 3, '/') : location;

	r->session[0] = '\0';
	if (path != NULL && strncmp(path, ROOT, strlen(ROOT)) == 0 &&
	    strlen(path) < sizeof(r->session))
		memcpy(r->session, path, strlen(path) + 1);
}

/* A missing session service is an error only if basic authentication is not allowed. */
static int make_session(struct tw_redfish *r, struct tw_err *err)
{
	struct tw_http_header wanted[] = { { .name = "X-Auth-Token" },
					   { .name = "Location" } };
	char *body = make_login(&r->config);
	struct tw_http_call post = { .body = body,
				     .body_len = body != NULL ? strlen(body) : 0,
				     .wanted = wanted,
				     .wanted_count = 2 };
	struct tw_http_answer answer = { 0 };
	int rc = -1;

	if (body == NULL) {
		tw_fail(err, TW_NOMEM, "login");
		goto out;
	}
	if (call(r, &post, r->sessions, true, &answer, err) < 0)
		goto out;
	r->basic = r->config.auth == TW_REDFISH_AUTO &&
		   (answer.status == 404 || answer.status == 405 || answer.status == 501);
	if (!r->basic && answer.status != 200 && answer.status != 201) {
		fail_status(r->sessions, &answer, err);
		goto out;
	}
	if (!r->basic && wanted[0].value[0] == '\0') {
		tw_fail(err, TW_PARSE, "%.96s: no X-Auth-Token", r->sessions);
		goto out;
	}
	snprintf(r->token, sizeof(r->token), "%s", wanted[0].value);
	keep_session(r, wanted[1].value);

	rc = 0;
out:
	tw_http_answer_release(&answer);
	free(body);
	return rc;
}

static int login(struct tw_redfish *r, struct tw_err *err)
{
	r->token[0] = '\0';
	r->session[0] = '\0';
	r->basic = r->config.user != NULL && r->config.auth == TW_REDFISH_BASIC;
	return r->config.user == NULL || r->basic ? 0 : make_session(r, err);
}

void tw_redfish_logout(struct tw_redfish *r)
{
	struct tw_http_call end = { .method = "DELETE", .timeout_ms = LOGOUT_MS };
	struct tw_http_answer answer = { 0 };
	struct tw_err ignored = { 0 };
	bool (*const stopped)(void *arg) = r->config.stopped;

	/* Log out even after a stop was requested. */
	r->config.stopped = NULL;
	if (r->session[0] != '\0' &&
	    call(r, &end, r->session, false, &answer, &ignored) == 0)
		tw_http_answer_release(&answer);
	r->config.stopped = stopped;
	r->token[0] = '\0';
	r->session[0] = '\0';
}

/* ---- reading ---- */

/* An expired session answers 401, like a wrong password. */
static int get(struct tw_redfish *r, const char *path, struct tw_http_answer *out,
	       struct tw_err *err)
{
	for (int attempt = 0;; attempt++) {
		struct tw_http_call plain = { .url = NULL };
		struct tw_http_answer answer = { 0 };
		bool again;

		if (call(r, &plain, path, false, &answer, err) < 0)
			return -1;
		if (answer.status == 200) {
			*out = answer;
			return 0;
		}
		again = answer.status == 401 && attempt == 0 && r->token[0] != '\0';
		if (!again)
			fail_status(path, &answer, err);
		tw_http_answer_release(&answer);
		if (!again || login(r, err) < 0)
			return -1;
	}
}

static int read_members(struct tw_redfish *r, const char *path, struct tw_strs *out,
			struct tw_err *err)
{
	char next[TW_REDFISH_PATH];

	snprintf(next, sizeof(next), "%s", path);
	for (int page = 0; next[0] != '\0'; page++) {
		struct tw_http_answer answer = { 0 };
		int rc;

		if (page == PAGES_MAX)
			return tw_fail(err, TW_INVALID, "%.96s: more than %d pages", path,
				       PAGES_MAX);
		if (get(r, next, &answer, err) < 0)
			return -1;
		rc = tw_redfish_parse_members(answer.body, answer.len, out, next, err);
		tw_http_answer_release(&answer);
		if (rc < 0)
			return tw_err_wrap(err, "%.96s", path);
	}
	return 0;
}

static int read_root(struct tw_redfish *r, struct tw_redfish_root *root,
		     struct tw_err *err)
{
	struct tw_http_answer answer = { 0 };
	int rc = -1;

	if (get(r, ROOT, &answer, err) < 0)
		return -1;
	if (tw_redfish_parse_root(answer.body, answer.len, root, err) < 0)
		tw_err_wrap(err, "%s", ROOT);
	else
		rc = 0;
	tw_http_answer_release(&answer);
	return rc;
}

/* ---- power supplies ---- */

/* Read the link to the collection of supplies. */
static int read_subsystem(struct tw_redfish *r, const char *path,
			  char supplies[TW_REDFISH_PATH], struct tw_err *err)
{
	struct tw_http_answer answer = { 0 };
	int rc;

	if (get(r, path, &answer, err) < 0)
		return -1;
	rc = tw_redfish_parse_subsystem(answer.body, answer.len, supplies, err);
	tw_http_answer_release(&answer);
	return rc < 0 ? tw_err_wrap(err, "%.96s", path) : 0;
}

/* Read the link to the metrics of a supply; "": the slot is empty. */
static int read_supply(struct tw_redfish *r, const char *path,
		       char metrics[TW_REDFISH_PATH], struct tw_err *err)
{
	struct tw_http_answer answer = { 0 };
	int rc;

	if (get(r, path, &answer, err) < 0)
		return -1;
	rc = tw_redfish_parse_supply(answer.body, answer.len, metrics, err);
	tw_http_answer_release(&answer);
	return rc < 0 ? tw_err_wrap(err, "%.96s", path) : 0;
}

static int read_metrics(struct tw_redfish *r, const char *path,
			struct tw_redfish_power *out, struct tw_err *err)
{
	struct tw_http_answer answer = { 0 };
	int rc;

	if (get(r, path, &answer, err) < 0)
		return -1;
	rc = tw_redfish_parse_supply_metrics(answer.body, answer.len, out, err);
	tw_http_answer_release(&answer);
	return rc < 0 ? tw_err_wrap(err, "%.96s", path) : 0;
}

/* Sum the supplies that are present. A value that one of them lacks becomes NaN. */
static int add_up(struct tw_redfish *r, const struct tw_strs *supplies, const char *path,
		  struct tw_redfish_power *sum, struct tw_err *err)
{
	bool any = false;

	for (size_t i = 0; i < supplies->count; i++) {
		struct tw_redfish_power one;
		char metrics[TW_REDFISH_PATH];

		if (read_supply(r, supplies->at[i], metrics, err) < 0)
			return -1;
		if (metrics[0] == '\0')
			continue;
		if (read_metrics(r, metrics, &one, err) < 0)
			return -1;
		sum->power_w += one.power_w;
		sum->energy_j += one.energy_j;
		any = true;
	}
	if (!any)
		return tw_fail(err, TW_NOTFOUND, "%.96s: no power supply is present",
			       path);
	if (isnan(sum->power_w) && isnan(sum->energy_j))
		return tw_fail(err, TW_NOTFOUND,
			       "%.96s: the supplies report different quantities", path);
	return 0;
}

static int read_supplies(struct tw_redfish *r, const char *path,
			 struct tw_redfish_power *out, struct tw_err *err)
{
	struct tw_redfish_power sum = { .power_w = 0, .energy_j = 0 };
	struct tw_strs supplies = { 0 };
	char collection[TW_REDFISH_PATH];
	int rc = -1;

	if (read_subsystem(r, path, collection, err) < 0 ||
	    read_members(r, collection, &supplies, err) < 0)
		goto out;
	if (supplies.count > TW_REDFISH_SUPPLIES_MAX) {
		tw_fail(err, TW_INVALID, "%.96s: more than %d supplies", path,
			TW_REDFISH_SUPPLIES_MAX);
		goto out;
	}
	if (add_up(r, &supplies, path, &sum, err) < 0)
		goto out;

	*out = sum;
	rc = 0;
out:
	tw_strs_clear(&supplies);
	return rc;
}

int tw_redfish_read(struct tw_redfish *r, const struct tw_redfish_source *s,
		    struct tw_redfish_power *out, struct tw_err *err)
{
	struct tw_http_answer answer = { 0 };
	int rc;

	if (s->kind == TW_REDFISH_SUPPLIES)
		return read_supplies(r, s->path, out, err);
	if (get(r, s->path, &answer, err) < 0)
		return -1;
	rc = s->kind == TW_REDFISH_METRICS
		     ? tw_redfish_parse_metrics(answer.body, answer.len, out, err)
		     : tw_redfish_parse_power(answer.body, answer.len, out, err);
	tw_http_answer_release(&answer);
	return rc;
}

/* ---- chassis ---- */

static int read_chassis(struct tw_redfish *r, const char *path,
			struct tw_redfish_chassis *out, struct tw_err *err)
{
	struct tw_http_answer answer = { 0 };
	int rc;

	if (get(r, path, &answer, err) < 0)
		return -1;
	rc = tw_redfish_parse_chassis(answer.body, answer.len, out, err);
	tw_http_answer_release(&answer);
	return rc < 0 ? tw_err_wrap(err, "%.96s", path) : 0;
}

/* Machines with many GPUs have a hundred chassis. */
#define FOUND_MAX 256

struct found {
	struct tw_redfish_chassis chassis[FOUND_MAX];
	char path[FOUND_MAX][TW_REDFISH_PATH];
	struct tw_redfish_source source[FOUND_MAX];
	bool reports[FOUND_MAX];
	size_t count;
};

/* Compare paths, ignoring a trailing '/'. */
static bool is_same_path(const char *a, const char *b)
{
	const size_t n = strlen(a) - (a[0] != '\0' && a[strlen(a) - 1] == '/');
	const size_t m = strlen(b) - (b[0] != '\0' && b[strlen(b) - 1] == '/');

	return n == m && memcmp(a, b, n) == 0;
}

/* True if the resource reports power now; fills *s. */
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
 * Try the resources of a chassis, most trusted first. Skip those without power; fail only
 * on errors of the connection.
 */
static int try_source(struct tw_redfish *r, struct found *f, size_t i, struct tw_err *why)
{
	const struct tw_redfish_chassis *c = &f->chassis[i];
	const char *const paths[TW_REDFISH_KINDS] = {
		[TW_REDFISH_METRICS] = c->metrics,
		[TW_REDFISH_POWER] = c->power,
		[TW_REDFISH_SUPPLIES] = c->subsystem,
	};

	for (int k = 0; k < TW_REDFISH_KINDS && !f->reports[i]; k++) {
		struct tw_err err = { 0 };

		if (paths[k][0] == '\0')
			continue;
		f->reports[i] = try_kind(r, c, (enum tw_redfish_kind)k, paths[k],
					 &f->source[i], &err);
		if (!f->reports[i])
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

/* True if an enclosing chassis, at any level, reports power. */
static bool is_inside(const struct found *f, size_t i)
{
	const char *around = f->chassis[i].contained_by;

	for (size_t steps = 0; around[0] != '\0' && steps < f->count; steps++) {
		size_t k = 0;

		while (k < f->count && !is_same_path(f->path[k], around))
			k++;
		if (k == f->count)
			return false;
		if (f->reports[k] && k != i)
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
					    "no chassis reports power: %s", why->text)
				  : tw_fail(err, TW_NOTFOUND, "no chassis reports power");
}

/* Replace the sources only if the search succeeded. */
static int keep_sources(struct tw_redfish *r, const struct found *f,
			const struct tw_err *why, struct tw_err *err)
{
	const bool named = r->config.chassis != NULL && r->config.chassis->count > 0;
	size_t reporting = 0, count = 0, kept[FOUND_MAX];

	for (size_t i = 0; i < f->count; i++) {
		reporting += f->reports[i];
		if (f->reports[i] && (named || !is_inside(f, i)))
			kept[count++] = i;
	}
	if (reporting == 0)
		return fail_none(why, err);
	if (count == 0)
		return tw_fail(err, TW_INVALID,
			       "no chassis is outermost: all of them contain each other");
	if (count > TW_REDFISH_CHASSIS_MAX)
		return tw_fail(err, TW_INVALID,
			       "more than %d chassis report power: choose some by "
			       "--redfish-chassis",
			       TW_REDFISH_CHASSIS_MAX);
	for (size_t i = 0; i < count; i++)
		r->source[i] = f->source[kept[i]];
	r->sources = count;
	return 0;
}

static int find_sources(struct tw_redfish *r, const char *chassis, struct tw_err *err)
{
	struct tw_strs members = { 0 };
	struct found *f = calloc(1, sizeof(*f));
	struct tw_err why = { 0 };
	int rc = -1;

	if (f == NULL) {
		tw_fail(err, TW_NOMEM, "chassis");
		goto out;
	}
	if (read_members(r, chassis, &members, err) < 0 ||
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

/* ---- connecting ---- */

int tw_redfish_connect(struct tw_redfish *r, struct tw_err *err)
{
	struct tw_redfish_root root;

	/* The root needs no login, and names the session service. */
	r->token[0] = '\0';
	r->basic = false;
	if (read_root(r, &root, err) < 0)
		return -1;
	snprintf(r->sessions, sizeof(r->sessions), "%s",
		 root.sessions[0] != '\0' ? root.sessions : SESSIONS);
	if (login(r, err) < 0)
		return -1;
	return find_sources(r, root.chassis, err);
}
