/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/redfish_session.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ROOT "/redfish/v1/"
#define SESSIONS "/redfish/v1/SessionService/Sessions"
#define ANSWER_MAX ((size_t)1 << 20)
#define LOGOUT_MS 1500

/* Pages of a collection. */
#define PAGES_MAX 16

#define REDIRECTS_MAX 3

/* Where a redirect to this controller leads; NULL if it leads elsewhere. */
static const char *find_redirect(const struct tw_redfish *r, const struct tw_http_call *c)
{
	const char *to = c->wanted[c->wanted_count - 1].value;
	const size_t n = strlen(r->config.url);

	if (strncasecmp(to, r->config.url, n) == 0)
		to += n;
	return to[0] == '/' && to[1] != '/' ? to : NULL;
}

static bool is_redirect(unsigned status)
{
	return status == 301 || status == 302 || status == 307 || status == 308;
}

/* Make a call with this controller's URL and credentials. */
static int call(const struct tw_redfish *r, struct tw_http_call *c, const char *path,
		bool anonymous, struct tw_http_answer *out, struct tw_err *err)
{
	const struct tw_redfish_config *config = &r->config;
	struct tw_http_access access = *config->access;
	struct tw_http_header location = { .name = "Location" };
	char url[1024], version[] = "OData-Version: 4.0", token[TW_HTTP_HEADER_MAX + 16];
	char *headers_at[] = { version, token };
	struct tw_strs headers = { .at = headers_at, .count = 1, .size = 2 };

	if (!anonymous && r->token[0] != '\0') {
		snprintf(token, sizeof(token), "X-Auth-Token: %s", r->token);
		headers.count = 2;
	}
	if (anonymous || r->token[0] != '\0' || !r->basic)
		access.user = access.password = NULL;
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
	/* The last of the wanted headers is the location. */
	if (c->wanted == NULL) {
		c->wanted = &location;
		c->wanted_count = 1;
	}
	for (int n = 0; path != NULL; n++) {
		if ((size_t)snprintf(url, sizeof(url), "%s%s", config->url, path) >=
		    sizeof(url))
			return tw_fail(err, TW_INVALID, "'%.64s' is too long",
				       config->url);
		for (size_t i = 0; i < c->wanted_count; i++)
			c->wanted[i].value[0] = '\0';
		if (config->call(config->call_arg, c, out, err) < 0)
			return -1;
		path = is_redirect(out->status) && n < REDIRECTS_MAX ? find_redirect(r, c)
								     : NULL;
		if (path != NULL)
			tw_http_answer_release(out);
	}
	return 0;
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

static char *make_login(const struct tw_http_access *a)
{
	struct tw_buf b = { 0 };

	tw_json_add_object(&b, NULL);
	tw_json_add_text(&b, "UserName", a->user);
	tw_json_add_text(&b, "Password", a->password);
	tw_json_end_object(&b);
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
	char *body = make_login(r->config.access);
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
	r->good[0] = '\0';
	r->session[0] = '\0';
	r->basic = r->config.access->user != NULL && r->config.auth == TW_REDFISH_BASIC;
	return r->config.access->user == NULL || r->basic ? 0 : make_session(r, err);
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

static int get_once(struct tw_redfish *r, const char *path, struct tw_http_answer *out,
		    struct tw_err *err)
{
	struct tw_http_call plain = { .url = NULL };

	*out = (struct tw_http_answer){ .status = 0 };
	return call(r, &plain, path, false, out, err);
}

/* Whether the login still reads what it has read before. */
static bool is_logged_in(struct tw_redfish *r)
{
	struct tw_http_answer answer;
	struct tw_err ignored = { 0 };
	bool fine;

	if (r->good[0] == '\0' || get_once(r, r->good, &answer, &ignored) < 0)
		return false;
	fine = answer.status == 200;
	tw_http_answer_release(&answer);
	return fine;
}

/*
 * An expired session answers 401, like a wrong password. Some controllers answer so for a
 * single resource that the user may not read: that is not a failure of the login.
 */
static int get(struct tw_redfish *r, const char *path, struct tw_http_answer *out,
	       struct tw_err *err)
{
	for (int attempt = 0;; attempt++) {
		struct tw_http_answer answer;
		struct tw_err why = { 0 };

		if (get_once(r, path, &answer, err) < 0)
			return -1;
		if (answer.status == 200) {
			if (strcmp(path, ROOT) != 0)
				snprintf(r->good, sizeof(r->good), "%s", path);
			*out = answer;
			return 0;
		}
		fail_status(path, &answer, &why);
		tw_http_answer_release(&answer);
		if (why.code != TW_DENIED)
			return tw_fail(err, why.code, "%s", why.text);
		if (attempt == 0 && is_logged_in(r))
			return tw_fail(err, TW_INVALID, "%s", why.text);
		if (attempt > 0 || r->token[0] == '\0')
			return tw_fail(err, TW_DENIED, "%s", why.text);
		if (login(r, err) < 0)
			return -1;
	}
}

int tw_redfish_read_doc(struct tw_redfish *r, const char *path, enum tw_redfish_type type,
			union tw_redfish_doc *out, struct tw_err *err)
{
	struct tw_http_answer answer = { 0 };
	int rc;

	if (get(r, path, &answer, err) < 0)
		return -1;
	rc = tw_redfish_parse(type, answer.body, answer.len, out, err);
	tw_http_answer_release(&answer);
	/* A source has its chassis for its name. */
	return rc < 0 && (type >= TW_REDFISH_POWER_TYPES || type == TW_REDFISH_SUBSYSTEM)
		       ? tw_err_wrap(err, "%.96s", path)
		       : rc;
}

int tw_redfish_read_members(struct tw_redfish *r, const char *path, struct tw_strs *out,
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

int tw_redfish_log_in(struct tw_redfish *r, struct tw_redfish_root *root,
		      struct tw_err *err)
{
	union tw_redfish_doc doc;
	struct tw_err why = { 0 };
	bool read;

	r->token[0] = '\0';
	r->basic = false;
	snprintf(r->sessions, sizeof(r->sessions), SESSIONS);
	/* The root needs no login, and names the session service; some want a login. */
	read = tw_redfish_read_doc(r, ROOT, TW_REDFISH_ROOT, &doc, &why) == 0;
	if (!read && (why.code != TW_DENIED || r->config.access->user == NULL))
		return tw_fail(err, why.code, "%s", why.text);
	if (read && doc.root.sessions[0] != '\0')
		snprintf(r->sessions, sizeof(r->sessions), "%s", doc.root.sessions);
	if (login(r, err) < 0 ||
	    (!read && tw_redfish_read_doc(r, ROOT, TW_REDFISH_ROOT, &doc, err) < 0))
		return -1;
	*root = doc.root;
	return 0;
}
