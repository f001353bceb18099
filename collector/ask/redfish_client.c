/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/redfish_client.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOT "/redfish/v1/"
#define SESSIONS "/redfish/v1/SessionService/Sessions"
#define ANSWER_MAX ((size_t)1 << 20)
#define LOGOUT_MS 1500

/* Of a collection. */
#define PAGES_MAX 16

/* A call as this controller wants it: with what is known of who asks. */
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
	/* With a header of our own no redirect is followed: a login is for this one only.
	 */
	access.headers = &headers;
	c->url = url;
	c->access = &access;
	c->accept = "application/json";
	c->answer_max = ANSWER_MAX;
	/* A login that is cut off is a session that nobody ends. */
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

/* ---- who asks ---- */

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

/* What Location says: a path, or a URL of which the path is taken. */
static void keep_session(struct tw_redfish *r, const char *location)
{
	const char *host = strstr(location, "://");
	const char *path = host != NULL ? strchr(host + 3, '/') : location;

	r->session[0] = '\0';
	if (path != NULL && strncmp(path, ROOT, strlen(ROOT)) == 0 &&
	    strlen(path) < sizeof(r->session))
		memcpy(r->session, path, strlen(path) + 1);
}

/* Sessions that are not made at all are no failure where basic will do. */
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

	/* The last thing to do may be after all has been stopped. */
	r->config.stopped = NULL;
	if (r->session[0] != '\0' &&
	    call(r, &end, r->session, false, &answer, &ignored) == 0)
		tw_http_answer_release(&answer);
	r->config.stopped = stopped;
	r->token[0] = '\0';
	r->session[0] = '\0';
}

/* ---- reading ---- */

/* A session that has expired answers 401, as a password does that is wrong. */
int tw_redfish_get(struct tw_redfish *r, const char *path, struct tw_http_answer *out,
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

int tw_redfish_members(struct tw_redfish *r, const char *path, struct tw_strs *out,
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
		if (tw_redfish_get(r, next, &answer, err) < 0)
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

	if (tw_redfish_get(r, ROOT, &answer, err) < 0)
		return -1;
	if (tw_redfish_parse_root(answer.body, answer.len, root, err) < 0)
		tw_err_wrap(err, "%s", ROOT);
	else
		rc = 0;
	tw_http_answer_release(&answer);
	return rc;
}

int tw_redfish_read(struct tw_redfish *r, const struct tw_redfish_source *s,
		    struct tw_redfish_power *out, struct tw_err *err)
{
	struct tw_http_answer answer = { 0 };
	int rc;

	if (s->kind == TW_REDFISH_SUPPLIES)
		return tw_redfish_read_supplies(r, s->path, out, err);
	if (tw_redfish_get(r, s->path, &answer, err) < 0)
		return -1;
	rc = s->kind == TW_REDFISH_METRICS
		     ? tw_redfish_parse_metrics(answer.body, answer.len, out, err)
		     : tw_redfish_parse_power(answer.body, answer.len, out, err);
	tw_http_answer_release(&answer);
	return rc;
}

int tw_redfish_connect(struct tw_redfish *r, struct tw_err *err)
{
	struct tw_redfish_root root;

	/* The root is for everybody, and says where to log in. */
	r->token[0] = '\0';
	r->basic = false;
	if (read_root(r, &root, err) < 0)
		return -1;
	snprintf(r->sessions, sizeof(r->sessions), "%s",
		 root.sessions[0] != '\0' ? root.sessions : SESSIONS);
	if (login(r, err) < 0)
		return -1;
	return tw_redfish_find(r, root.chassis, err);
}
