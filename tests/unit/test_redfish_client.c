/* SPDX-License-Identifier: Apache-2.0 */
/* A conversation with a controller: a script takes its part. */
#include "tests/unit/tw_test.h"

#include "collector/redfish_client.h"
#include "lib/err.h"
#include "lib/strs.h"
#include "tests/unit/fail_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define URL "https://bmc"
#define V1 "/redfish/v1/"
#define SESSIONS V1 "SessionService/Sessions"

struct page {
	const char *path;
	unsigned status;
	const char *body;
};

/* Pages are found from the end on, so that a test adds what is different. */
struct bmc {
	struct page page[16];
	size_t count;
	unsigned login_status;
	const char *token; /* that it gives, and takes; NULL: none is needed */
	bool expired;      /* what it gave last */
	unsigned logins, logouts, calls;
	bool wants_basic;
	bool down;
};

static void add(struct bmc *b, const char *path, unsigned status, const char *body)
{
	b->page[b->count++] = (struct page){ path, status, body };
}

static int answer(struct tw_http_answer *out, unsigned status, const char *body,
		  struct tw_err *err)
{
	*out = (struct tw_http_answer){ .status = status };
	out->len = strlen(body);
	out->body = malloc(out->len + 1);
	if (out->body == NULL)
		return tw_fail(err, TW_NOMEM, "answer");
	memcpy(out->body, body, out->len + 1);
	return 0;
}

static int log_in(struct bmc *b, const struct tw_http_call *c, struct tw_http_answer *out,
		  struct tw_err *err)
{
	b->logins++;
	b->expired = false;
	assert_string_equal(c->body, "{\"UserName\":\"me\",\"Password\":\"a\\\"b\"}");
	/* Never without: redirects are for who has no secret. */
	assert_int_equal(c->access->headers->count, 1);
	assert_null(c->access->user);
	if (b->login_status == 201 && b->token != NULL)
		snprintf(c->wanted[0].value, sizeof(c->wanted[0].value), "%s", b->token);
	snprintf(c->wanted[1].value, sizeof(c->wanted[1].value), "%s/7", SESSIONS);
	return answer(out, b->login_status, "{}", err);
}

static bool is_known(const struct bmc *b, const struct tw_http_access *a)
{
	char header[64];

	if (b->wants_basic)
		return a->user != NULL && strcmp(a->user, "me") == 0 &&
		       strcmp(a->password, "a\"b") == 0;
	if (b->token == NULL)
		return true;
	snprintf(header, sizeof(header), "X-Auth-Token: %s", b->token);
	return !b->expired && a->headers->count == 2 &&
	       strcmp(a->headers->at[1], header) == 0;
}

static int call(void *arg, const struct tw_http_call *c, struct tw_http_answer *out,
		struct tw_err *err)
{
	struct bmc *b = arg;
	const char *path = c->url + strlen(URL);

	b->calls++;
	assert_memory_equal(c->url, URL, strlen(URL));
	if (b->down)
		return tw_fail(err, TW_IO, "no route");
	if (c->method != NULL) {
		assert_string_equal(c->method, "DELETE");
		assert_string_equal(path, SESSIONS "/7");
		b->logouts++;
		return answer(out, 204, "", err);
	}
	if (c->body != NULL)
		return log_in(b, c, out, err);
	if (strcmp(path, V1) != 0 && !is_known(b, c->access))
		return answer(out, 401, "{\"error\":{\"message\":\"who?\"}}", err);
	for (size_t i = b->count; i > 0; i--)
		if (strcmp(b->page[i - 1].path, path) == 0)
			return answer(out, b->page[i - 1].status, b->page[i - 1].body,
				      err);
	return answer(out, 404, "{}", err);
}

#define LINK(path) "{\"@odata.id\":\"" path "\"}"
#define CHASSIS V1 "Chassis"

/* A rack server with one chassis. */
static void set_up(struct bmc *b, struct tw_redfish *r)
{
	*b = (struct bmc){ .login_status = 201, .token = "t" };
	add(b, V1, 200, "{\"Chassis\":" LINK(CHASSIS) "}");
	add(b, CHASSIS, 200, "{\"Members\":[" LINK(CHASSIS "/1") "]}");
	add(b, CHASSIS "/1", 200,
	    "{\"Id\":\"1\",\"ChassisType\":\"RackMount\",\"Power\":" LINK(
		    CHASSIS "/1/Power") "}");
	add(b, CHASSIS "/1/Power", 200,
	    "{\"PowerControl\":[{\"PowerConsumedWatts\":100}]}");
	*r = (struct tw_redfish){ .config = { .url = URL,
					      .user = "me",
					      .password = "a\"b",
					      .call = call,
					      .call_arg = b } };
}

static void assert_fails(struct tw_redfish *r, enum tw_code code, const char *text)
{
	struct tw_err err = { 0 };

	assert_int_equal(tw_redfish_connect(r, &err), -1);
	assert_string_equal(err.text, text);
	assert_int_equal(err.code, code);
}

static void it_logs_in_finds_the_chassis_reads_and_logs_out(void **state)
{
	struct tw_redfish_power power;
	struct tw_err err = { 0 };
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	set_up(&b, &r);
	assert_int_equal(tw_redfish_connect(&r, &err), 0);
	assert_int_equal(r.sources, 1);
	assert_string_equal(r.source[0].id, "1");
	assert_string_equal(r.source[0].path, CHASSIS "/1/Power");
	assert_int_equal(tw_redfish_read(&r, &r.source[0], &power, &err), 0);
	assert_float_equal(power.power_w, 100, 0);
	tw_redfish_logout(&r);
	tw_redfish_logout(&r);
	assert_int_equal(b.logins, 1);
	assert_int_equal(b.logouts, 1);
}

static void a_session_that_has_expired_is_made_anew_once(void **state)
{
	struct tw_redfish_power power;
	struct tw_err err = { 0 };
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	set_up(&b, &r);
	assert_int_equal(tw_redfish_connect(&r, &err), 0);
	b.expired = true;
	assert_int_equal(tw_redfish_read(&r, &r.source[0], &power, &err), 0);
	assert_int_equal(b.logins, 2);
	/* One whose new session is not taken, either, is not asked for a third. */
	b.wants_basic = true;
	assert_int_equal(tw_redfish_read(&r, &r.source[0], &power, &err), -1);
	assert_int_equal(err.code, TW_DENIED);
	assert_string_equal(err.text, CHASSIS "/1/Power answers 401: who?");
	assert_int_equal(b.logins, 3);
}

static void without_sessions_it_is_basic_only_where_that_may_be(void **state)
{
	static const struct {
		enum tw_redfish_auth auth;
		unsigned status;
		bool fine;
		unsigned logins;
	} cases[] = {
		{ TW_REDFISH_AUTO, 404, true, 1 },     { TW_REDFISH_AUTO, 405, true, 1 },
		{ TW_REDFISH_AUTO, 501, true, 1 },     { TW_REDFISH_AUTO, 401, false, 1 },
		{ TW_REDFISH_SESSION, 405, false, 1 }, { TW_REDFISH_BASIC, 405, true, 0 }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tw_err err = { 0 };
		struct tw_redfish r;
		struct bmc b;

		set_up(&b, &r);
		b.wants_basic = true;
		b.login_status = cases[i].status;
		r.config.auth = cases[i].auth;
		assert_int_equal(tw_redfish_connect(&r, &err), cases[i].fine ? 0 : -1);
		assert_int_equal(b.logins, cases[i].logins);
		if (cases[i].status == 401)
			assert_int_equal(err.code, TW_DENIED);
	}
}

static void what_goes_wrong_is_said(void **state)
{
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	set_up(&b, &r);
	b.token = NULL;
	assert_fails(&r, TW_PARSE, SESSIONS ": no X-Auth-Token");
	set_up(&b, &r);
	b.down = true;
	assert_fails(&r, TW_IO, "no route");
	set_up(&b, &r);
	add(&b, V1, 200, "rubbish");
	assert_int_equal(tw_redfish_connect(&r, &(struct tw_err){ 0 }), -1);
	set_up(&b, &r);
	add(&b, CHASSIS, 503, "{\"error\":{\"message\":\"starting\"}}");
	assert_fails(&r, TW_INVALID, CHASSIS " answers 503: starting");
	set_up(&b, &r);
	add(&b, CHASSIS "/1/Power", 500, "{}");
	assert_fails(&r, TW_NOTFOUND,
		     "no chassis tells power: 1: " CHASSIS "/1/Power answers 500");
	set_up(&b, &r);
	add(&b, CHASSIS "/1", 200, "{\"Id\":\"1\"}");
	assert_fails(&r, TW_NOTFOUND, "no chassis tells power");
	set_up(&b, &r);
	add(&b, CHASSIS, 200,
	    "{\"Members\":[],\"Members@odata.nextLink\":\"" CHASSIS "\"}");
	assert_fails(&r, TW_INVALID, CHASSIS ": more than 16 pages");
}

static void sources_stay_where_a_new_search_fails(void **state)
{
	struct tw_err err = { 0 };
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	set_up(&b, &r);
	assert_int_equal(tw_redfish_connect(&r, &err), 0);
	add(&b, CHASSIS "/1/Power", 500, "{}");
	assert_int_equal(tw_redfish_connect(&r, &err), -1);
	assert_int_equal(r.sources, 1);
}

static void add_chassis(struct bmc *b, const char *path, const char *doc)
{
	add(b, path, 200, doc);
}

static void of_chassis_in_each_other_the_outermost_that_tells_counts(void **state)
{
	static const char inner[] = "{\"Id\":\"in\",\"Power\":" LINK(
		CHASSIS "/in/Power") ",\"Links\":"
				     "{\"ContainedBy\":" LINK(CHASSIS "/mid/") "}}";
	static const char middle[] =
		"{\"Id\":\"mid\",\"Links\":{\"ContainedBy\":" LINK(CHASSIS "/out") "}}";
	static const char outer[] = "{\"Id\":\"out\",\"Power\":" LINK(
		CHASSIS "/out/Power") ",\"Links\":"
				      "{\"ContainedBy\":" LINK(CHASSIS "/out") "}}";
	const char *only[] = { "in" };
	const struct tw_strs in = { .at = (char **)(uintptr_t)only, .count = 1 };
	struct tw_err err = { 0 };
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	set_up(&b, &r);
	add(&b, CHASSIS, 200,
	    "{\"Members\":[" LINK(CHASSIS "/in") "," LINK(CHASSIS "/mid") "," LINK(
		    CHASSIS "/out") "]}");
	add_chassis(&b, CHASSIS "/in", inner);
	add_chassis(&b, CHASSIS "/mid", middle);
	add_chassis(&b, CHASSIS "/out", outer);
	add(&b, CHASSIS "/in/Power", 200,
	    "{\"PowerControl\":[{\"PowerConsumedWatts\":1}]}");
	/* The outer one tells nothing: the inner one is the outermost that does. */
	assert_int_equal(tw_redfish_connect(&r, &err), 0);
	assert_int_equal(r.sources, 1);
	assert_string_equal(r.source[0].id, "in");
	add(&b, CHASSIS "/out/Power", 200,
	    "{\"PowerControl\":[{\"PowerConsumedWatts\":2}]}");
	/* It contains itself, which nobody can. */
	assert_int_equal(tw_redfish_connect(&r, &err), 0);
	assert_int_equal(r.sources, 1);
	assert_string_equal(r.source[0].id, "out");
	r.config.chassis = &in;
	assert_int_equal(tw_redfish_connect(&r, &err), 0);
	assert_int_equal(r.sources, 1);
	assert_string_equal(r.source[0].id, "in");
}

static void chassis_around_each_other_are_refused(void **state)
{
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	set_up(&b, &r);
	add(&b, CHASSIS, 200,
	    "{\"Members\":[" LINK(CHASSIS "/1") "," LINK(CHASSIS "/2") "]}");
	add(&b, CHASSIS "/1", 200,
	    "{\"Id\":\"1\",\"Power\":" LINK(
		    CHASSIS "/1/Power") ",\"Links\":"
					"{\"ContainedBy\":" LINK(CHASSIS "/2") "}}");
	add(&b, CHASSIS "/2", 200,
	    "{\"Id\":\"2\",\"Power\":" LINK(
		    CHASSIS "/1/Power") ",\"Links\":"
					"{\"ContainedBy\":" LINK(CHASSIS "/1") "}}");
	assert_fails(&r, TW_INVALID, "no chassis tells power: all are within each other");
}

static void without_memory_it_fails_and_leaks_nothing(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		struct tw_redfish r;
		struct bmc b;
		int rc;

		set_up(&b, &r);
		fail_alloc_at(n);
		rc = tw_redfish_connect(&r, &err);
		if (!fail_alloc_hit())
			break;
		/* The text of an error is not worth a failure. */
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, TW_NOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_logs_in_finds_the_chassis_reads_and_logs_out),
		cmocka_unit_test(a_session_that_has_expired_is_made_anew_once),
		cmocka_unit_test(without_sessions_it_is_basic_only_where_that_may_be),
		cmocka_unit_test(what_goes_wrong_is_said),
		cmocka_unit_test(sources_stay_where_a_new_search_fails),
		cmocka_unit_test(
			of_chassis_in_each_other_the_outermost_that_tells_counts),
		cmocka_unit_test(chassis_around_each_other_are_refused),
		cmocka_unit_test(without_memory_it_fails_and_leaks_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
