/* SPDX-License-Identifier: Apache-2.0 */
/* A conversation with a controller: a script takes its part. */
#include "tests/unit/tw_test.h"

#include "collector/ask/redfish_client.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scripted_bmc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void assert_fails(struct tw_redfish *r, enum tw_code code, const char *text)
{
	struct tw_err err = { 0 };

	assert_int_equal(tw_redfish_connect(r, &err), -1);
	assert_string_equal(err.text, text);
	assert_int_equal(err.code, code);
}

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
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
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
	assert_fails(&r, TW_PARSE, SESSIONS ": no X-Auth-Token");
	bmc_set_up(&b, &r);
	b.down = true;
	assert_fails(&r, TW_IO, "no route");
	bmc_set_up(&b, &r);
	bmc_add(&b, V1, 200, "rubbish");
	assert_int_equal(tw_redfish_connect(&r, &(struct tw_err){ 0 }), -1);
	bmc_set_up(&b, &r);
	bmc_add(&b, CHASSIS, 503, "{\"error\":{\"message\":\"starting\"}}");
	assert_fails(&r, TW_INVALID, CHASSIS " answers 503: starting");
	bmc_set_up(&b, &r);
	bmc_add(&b, CHASSIS "/1/Power", 500, "{}");
	assert_fails(&r, TW_NOTFOUND,
		     "no chassis reports power: 1: " CHASSIS "/1/Power answers 500");
	bmc_set_up(&b, &r);
	bmc_add(&b, CHASSIS "/1", 200, "{\"Id\":\"1\"}");
	assert_fails(&r, TW_NOTFOUND, "no chassis reports power");
	bmc_set_up(&b, &r);
	bmc_add(&b, CHASSIS, 200,
		"{\"Members\":[],\"Members@odata.nextLink\":\"" CHASSIS "\"}");
	assert_fails(&r, TW_INVALID, CHASSIS ": more than 16 pages");
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

static void add_chassis(struct bmc *b, const char *path, const char *doc)
{
	bmc_add(b, path, 200, doc);
}

static void the_outermost_chassis_with_a_reading_counts(void **state)
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
	bmc_set_up(&b, &r);
	bmc_add(&b, CHASSIS, 200,
		"{\"Members\":[" LINK(CHASSIS "/in") "," LINK(CHASSIS "/mid") "," LINK(
			CHASSIS "/out") "]}");
	add_chassis(&b, CHASSIS "/in", inner);
	add_chassis(&b, CHASSIS "/mid", middle);
	add_chassis(&b, CHASSIS "/out", outer);
	bmc_add(&b, CHASSIS "/in/Power", 200,
		"{\"PowerControl\":[{\"PowerConsumedWatts\":1}]}");
	/* The outer one tells nothing: the inner one is the outermost that does. */
	assert_int_equal(tw_redfish_connect(&r, &err), 0);
	assert_int_equal(r.sources, 1);
	assert_string_equal(r.source[0].id, "in");
	bmc_add(&b, CHASSIS "/out/Power", 200,
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
	bmc_set_up(&b, &r);
	bmc_add(&b, CHASSIS, 200,
		"{\"Members\":[" LINK(CHASSIS "/1") "," LINK(CHASSIS "/2") "]}");
	bmc_add(&b, CHASSIS "/1", 200,
		"{\"Id\":\"1\",\"Power\":" LINK(
			CHASSIS "/1/Power") ",\"Links\":"
					    "{\"ContainedBy\":" LINK(CHASSIS "/2") "}}");
	bmc_add(&b, CHASSIS "/2", 200,
		"{\"Id\":\"2\",\"Power\":" LINK(
			CHASSIS "/1/Power") ",\"Links\":"
					    "{\"ContainedBy\":" LINK(CHASSIS "/1") "}}");
	assert_fails(&r, TW_INVALID,
		     "no chassis is outermost: all of them contain each other");
}

static void without_memory_it_fails_and_leaks_nothing(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		struct tw_redfish r;
		struct bmc b;
		int rc;

		bmc_set_up(&b, &r);
		fail_alloc_at(n);
		rc = tw_redfish_connect(&r, &err);
		if (!fail_alloc_told(rc, &err))
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_client_logs_in_finds_the_chassis_reads_and_logs_out),
		cmocka_unit_test(a_session_that_has_expired_is_made_anew_once),
		cmocka_unit_test(without_sessions_it_is_basic_only_where_that_may_be),
		cmocka_unit_test(errors_are_reported),
		cmocka_unit_test(sources_stay_where_a_new_search_fails),
		cmocka_unit_test(the_outermost_chassis_with_a_reading_counts),
		cmocka_unit_test(chassis_around_each_other_are_refused),
		cmocka_unit_test(without_memory_it_fails_and_leaks_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
