/* SPDX-License-Identifier: Apache-2.0 */
/* A conversation with a controller: a script takes its part. */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "collector/ask/redfish_client.h"
#include "lib/core/err.h"
#include "tests/unit/meters/scripted_bmc.h"

#include <string.h>

static void the_client_logs_in_finds_the_chassis_reads_and_logs_out(void **state)
{
	struct tw_redfish_power power;
	struct tw_err err = { 0 };
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	bmc_set_up(&b, &r);
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
	bmc_set_up(&b, &r);
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
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };
		struct tw_redfish r;
		struct bmc b;

		bmc_set_up(&b, &r);
		b.wants_basic = true;
		b.login_status = cases[i].status;
		r.config.auth = cases[i].auth;
		assert_int_equal(tw_redfish_connect(&r, &err), cases[i].fine ? 0 : -1);
		assert_int_equal(b.logins, cases[i].logins);
		if (cases[i].status == 401)
			assert_int_equal(err.code, TW_DENIED);
	}
}

static void errors_are_reported(void **state)
{
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	bmc_set_up(&b, &r);
	b.token = NULL;
	bmc_assert_fails(&r, TW_PARSE, SESSIONS ": no X-Auth-Token");
	bmc_set_up(&b, &r);
	b.down = true;
	bmc_assert_fails(&r, TW_IO, "no route");
	bmc_set_up(&b, &r);
	bmc_add(&b, V1, 200, "rubbish");
	assert_int_equal(tw_redfish_connect(&r, &(struct tw_err){ 0 }), -1);
	bmc_set_up(&b, &r);
	bmc_add(&b, CHASSIS, 503, "{\"error\":{\"message\":\"starting\"}}");
	bmc_assert_fails(&r, TW_INVALID, CHASSIS " answers 503: starting");
	bmc_set_up(&b, &r);
	bmc_add(&b, CHASSIS "/1/Power", 500, "{}");
	bmc_assert_fails(&r, TW_NOTFOUND, NONE ": 1: " CHASSIS "/1/Power answers 500");
	bmc_set_up(&b, &r);
	bmc_add(&b, CHASSIS "/1", 200, "{\"Id\":\"1\"}");
	bmc_assert_fails(&r, TW_NOTFOUND, NONE);
	bmc_set_up(&b, &r);
	bmc_add(&b, CHASSIS, 200,
		"{\"Members\":[],\"Members@odata.nextLink\":\"" CHASSIS "\"}");
	bmc_assert_fails(&r, TW_INVALID, CHASSIS ": more than 16 pages");
}

static void sources_stay_where_a_new_search_fails(void **state)
{
	struct tw_err err = { 0 };
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	bmc_set_up(&b, &r);
	assert_int_equal(tw_redfish_connect(&r, &err), 0);
	bmc_add(&b, CHASSIS "/1/Power", 500, "{}");
	assert_int_equal(tw_redfish_connect(&r, &err), -1);
	assert_int_equal(r.sources, 1);
}

static void a_chassis_that_cannot_be_read_hides_no_other_one(void **state)
{
	static const struct {
		unsigned status;
		const char *body;
	} cases[] = { { 404, "{}" },
		      { 403, "{}" },
		      { 500, "{\"error\":{\"message\":\"broken\"}}" },
		      { 200, "<html>" },
		      { 200, "7" } };
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err why = { 0 };

		bmc_set_up(&b, &r);
		bmc_add(&b, CHASSIS, 200,
			"{\"Members\":[" LINK(CHASSIS "/2") "," LINK(CHASSIS "/1") "]}");
		bmc_add(&b, CHASSIS "/2", cases[i].status, cases[i].body);
		bmc_assert_one(&r, "1", 100);
		assert_int_equal(r.skipped, 1);
		/* Without another one, it is the reason. */
		bmc_add(&b, CHASSIS "/1", 404, "{}");
		assert_int_equal(tw_redfish_connect(&r, &why), -1);
		if (strstr(why.text, NONE ": " CHASSIS "/2") == NULL)
			fail_msg("%s", why.text);
	}
	/* Some controllers answer so for what a user may not read. */
	bmc_set_up(&b, &r);
	bmc_add(&b, CHASSIS "/1", 401, "{}");
	bmc_assert_fails(&r, TW_NOTFOUND, NONE ": " CHASSIS "/1 answers 401");
	assert_int_equal(b.logins, 1);
	bmc_set_up(&b, &r);
	bmc_add(&b, CHASSIS, 200,
		"{\"Members\":[" LINK(CHASSIS "/2") "," LINK(CHASSIS "/1") "]}");
	bmc_add(&b, CHASSIS "/2", 401, "{}");
	bmc_assert_one(&r, "1", 100);
	assert_int_equal(b.logins, 1);
	bmc_set_up(&b, &r);
	b.wants_basic = true;
	r.config.auth = TW_REDFISH_BASIC;
	bmc_add(&b, CHASSIS, 200,
		"{\"Members\":[" LINK(CHASSIS "/2") "," LINK(CHASSIS "/1") "]}");
	bmc_add(&b, CHASSIS "/2", 401, "{}");
	bmc_assert_one(&r, "1", 100);
	/* A wrong password is not one chassis' trouble. */
	bmc_set_up(&b, &r);
	bmc_add(&b, CHASSIS, 401, "{}");
	bmc_assert_fails(&r, TW_DENIED, CHASSIS " answers 401");
	/* No answer, twice. */
	bmc_set_up(&b, &r);
	bmc_add(&b, CHASSIS, 200,
		"{\"Members\":[" LINK(CHASSIS "/2") "," LINK(CHASSIS "/3") "," LINK(
			CHASSIS "/1") "]}");
	bmc_add(&b, CHASSIS "/2", 0, "it hangs");
	bmc_add(&b, CHASSIS "/3", 0, "it hangs");
	bmc_assert_one(&r, "1", 100);
	assert_int_equal(r.skipped, 2);
	bmc_add(&b, CHASSIS "/1/Power", 0, "it hangs");
	bmc_assert_fails(&r, TW_IO, "1: it hangs");
}

static void a_root_may_want_the_login(void **state)
{
	static const enum tw_redfish_auth auths[] = { TW_REDFISH_AUTO, TW_REDFISH_SESSION,
						      TW_REDFISH_BASIC };
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	for (size_t i = 0; i < TW_COUNT(auths); i++) {
		bmc_set_up(&b, &r);
		b.root_wants_login = true;
		b.wants_basic = auths[i] == TW_REDFISH_BASIC;
		r.config.auth = auths[i];
		bmc_assert_one(&r, "1", 100);
		assert_int_equal(b.logins, auths[i] != TW_REDFISH_BASIC);
	}
	b.access.user = NULL;
	bmc_assert_fails(&r, TW_DENIED, V1 " answers 401: who?");
}

static void a_redirect_is_followed_on_the_same_server(void **state)
{
	static const struct {
		const char *to;
		bool fine;
	} cases[] = { { CHASSIS "/1/", true },      { URL CHASSIS "/1/", true },
		      { "https://evil/1/", false }, { URL ".evil" CHASSIS "/1/", false },
		      { "//evil/1/", false },       { "", false },
		      { CHASSIS "/1", false } };
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };

		bmc_set_up(&b, &r);
		bmc_add(&b, CHASSIS "/1/", 200,
			"{\"Id\":\"1\",\"Power\":" LINK(CHASSIS "/1/Power") "}");
		bmc_add(&b, CHASSIS "/1", 308, cases[i].to);
		assert_int_equal(tw_redfish_connect(&r, &err), cases[i].fine ? 0 : -1);
	}
	/* The login, too. */
	bmc_set_up(&b, &r);
	b.login_status = 307;
	b.sessions = SESSIONS "/";
	bmc_assert_one(&r, "1", 100);
	assert_int_equal(b.logins, 2);
	bmc_set_up(&b, &r);
	b.login_status = 307;
	b.sessions = "https://evil/";
	bmc_assert_fails(&r, TW_INVALID, SESSIONS " answers 307");
	assert_int_equal(b.logins, 1);
}

static void an_id_that_is_no_text_is_that_of_the_path(void **state)
{
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	bmc_set_up(&b, &r);
	bmc_add(&b, CHASSIS "/1", 200,
		"{\"Id\":1,\"Power\":" LINK(CHASSIS "/1/Power") "}");
	bmc_assert_one(&r, "1", 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_client_logs_in_finds_the_chassis_reads_and_logs_out),
		cmocka_unit_test(a_session_that_has_expired_is_made_anew_once),
		cmocka_unit_test(without_sessions_it_is_basic_only_where_that_may_be),
		cmocka_unit_test(errors_are_reported),
		cmocka_unit_test(sources_stay_where_a_new_search_fails),
		cmocka_unit_test(a_chassis_that_cannot_be_read_hides_no_other_one),
		cmocka_unit_test(a_root_may_want_the_login),
		cmocka_unit_test(a_redirect_is_followed_on_the_same_server),
		cmocka_unit_test(an_id_that_is_no_text_is_that_of_the_path),
	};

	return cmocka_run_group_tests_name("redfish_client", tests, NULL, NULL);
}
