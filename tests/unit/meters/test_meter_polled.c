/* SPDX-License-Identifier: Apache-2.0 */
/* Zones that a helper tells of: the test's own program takes its part. */
#include "tests/unit/tw_test.h"

#include "collector/ask/ask_options.h"
#include "collector/meters/meter_polled.h"
#include "collector/power/node.h"
#include "collector/power/power.h"
#include "collector/system/roots.h"
#include "lib/ask/ask.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "tests/unit/collector/scripted_ask.h"
#include "tests/unit/fail_alloc.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TELLS "\"tells\":\""

static struct tw_ask_config helper(void)
{
	return (struct tw_ask_config){ .program = scripted_ask() };
}

static int open_asked(const char *tells, uint64_t hold_ms, bool needed, void **state,
		      struct tw_err *err)
{
	const struct tw_ask_config ask = helper();
	const struct tw_meter_config c = { .ask = &ask };
	const struct tw_zone zone = { .kind = TW_ZONE_PLATFORM,
				      .reports_power = true,
				      .package = -1,
				      .name = "platform",
				      .path = "https://bmc" };
	const struct tw_polled_config asked = { .job = "test",
						.settings = json_pack("{s:s}", "tells",
								      tells),
						.zone = &zone,
						.hold_ms = hold_ms,
						.patience_ms = 20000,
						.needed = needed };

	return tw_polled_open(&c, &asked, state, err);
}

static void *open_told(const char *tells, uint64_t hold_ms)
{
	struct tw_err err = { 0 };
	void *state = NULL;

	if (open_asked(tells, hold_ms, true, &state, &err) < 0)
		fail_msg("%s", err.text);
	return state;
}

/* Read until it is so. */
static void read_until(void *state, struct tw_reading *r,
		       bool (*so)(const struct tw_reading *r))
{
	const struct timespec wait = { .tv_nsec = 1000000 };

	for (int i = 0; i < 60000; i++) {
		tw_polled_read(state, r);
		if (so(r))
			return;
		nanosleep(&wait, NULL);
	}
	fail_msg("not told: %s", r->why);
}

static bool is_there(const struct tw_reading *r)
{
	return r->readable;
}

static bool is_too_old(const struct tw_reading *r)
{
	return strcmp(r->why, "no answer for too long") == 0;
}

static void the_first_answer_is_waited_for(void **state)
{
	void *asked = open_told("two", 60000);
	struct tw_reading r[2];
	const struct tw_zone *z;
	size_t count;

	(void)state;
	z = tw_polled_zones(asked, &count);
	assert_int_equal(count, 2);
	assert_string_equal(z[0].name, "1U");
	assert_string_equal(z[1].path, "/Chassis/2U");
	assert_int_equal(z[0].kind, TW_ZONE_PLATFORM);
	assert_true(z[0].reports_power);
	assert_int_equal(z[0].package, -1);
	read_until(asked, r, is_there);
	assert_float_equal(r[0].power_w, 100, 0);
	assert_int_equal(z[0].window_ms, 30000);
	assert_float_equal(r[0].input_w, 109, 0);
	assert_float_equal(r[0].output_w, 91, 0);
	assert_false(r[1].readable);
	assert_string_equal(r[1].why, "no sensor");
	/* The same answer, read again, is the same sample. */
	count = r[0].sample;
	tw_polled_read(asked, r);
	assert_int_equal(r[0].sample, count);
	tw_polled_close(asked);
}

static void later_zones_follow_earlier_ones(void **state)
{
	void *asked = open_told("later", 60000);
	struct tw_reading r[3] = { [1] = { .power_w = 7 } };
	const struct tw_zone *z;
	size_t count;

	(void)state;
	z = tw_polled_zones(asked, &count);
	assert_int_equal(count, 1);
	assert_string_equal(z[0].name, "platform");
	assert_string_equal(z[0].path, "https://bmc");
	read_until(asked, r, is_there);
	/* Until it is asked for, the second one is not read. */
	assert_float_equal(r[1].power_w, 7, 0);
	tw_polled_zones(asked, &count);
	assert_int_equal(count, 1);
	while (!tw_polled_grown(asked))
		tw_polled_read(asked, r);
	assert_false(tw_polled_grown(asked));
	assert_ptr_equal(tw_polled_zones(asked, &count), z);
	assert_int_equal(count, 2);
	assert_string_equal(z[0].name, "1U");
	tw_polled_close(asked);
}

static bool has_the_second_again(const struct tw_reading *r)
{
	return r[1].readable && r[1].power_w > 200;
}

/* After its restart a controller has found the second of two only. */
static void a_zone_keeps_its_name_when_zones_are_found_again(void **state)
{
	void *asked = open_told("again", 60000);
	struct tw_reading r[2] = { { .readable = false } };
	const struct tw_zone *z;
	size_t count;

	(void)state;
	read_until(asked, r, has_the_second_again);
	assert_false(tw_polled_grown(asked));
	z = tw_polled_zones(asked, &count);
	assert_int_equal(count, 2);
	assert_string_equal(z[0].name, "1U");
	assert_false(r[0].readable);
	assert_string_equal(r[0].why, "the controller no longer lists it");
	assert_string_equal(z[1].name, "2U");
	assert_float_equal(r[1].power_w, 250, 0);
	tw_polled_close(asked);
}

static void an_answer_holds_only_so_long(void **state)
{
	void *asked = open_told("two", 50);
	struct tw_reading r[2];

	(void)state;
	read_until(asked, r, is_too_old);
	assert_false(r[0].readable);
	tw_polled_close(asked);
}

/* Nor is it too old because it seems to come from later. */
static void an_answer_from_later_holds_as_one_of_now(void **state)
{
	void *asked = open_told("tomorrow", 60000);
	struct tw_reading r[2];

	(void)state;
	tw_polled_read(asked, r);
	assert_true(r[0].readable);
	assert_float_equal(r[0].power_w, 100, 0);
	tw_polled_close(asked);
	asked = open_told("tomorrow", 50);
	read_until(asked, r, is_too_old);
	tw_polled_close(asked);
}

static void a_failure_is_that_of_all_zones(void **state)
{
	void *asked = open_told("failed", 60000);
	struct tw_reading r[2];
	size_t count;

	(void)state;
	tw_polled_zones(asked, &count);
	assert_int_equal(count, 1);
	tw_polled_read(asked, r);
	assert_false(r[0].readable);
	assert_string_equal(r[0].why, "not supported");
	tw_polled_close(asked);
}

static void a_missing_device_is_no_meter_unless_named(void **state)
{
	struct tw_err err = { 0 };
	void *asked = NULL;

	(void)state;
	assert_int_equal(open_asked("failed", 60000, false, &asked, &err), -1);
	assert_int_equal(err.code, TW_UNSUPPORTED);
	assert_string_equal(err.text, "not supported");
	/* One that may be over soon is. */
	err = (struct tw_err){ 0 };
	assert_int_equal(open_asked("busy", 60000, false, &asked, &err), 0);
	tw_polled_close(asked);
}

static void messages_that_cannot_be_are_passed_over(void **state)
{
	void *asked = open_told("rubbish", 60000);
	struct tw_reading r[2];
	size_t count;

	(void)state;
	read_until(asked, r, is_there);
	assert_float_equal(r[0].power_w, 100, 0);
	tw_polled_grown(asked);
	tw_polled_zones(asked, &count);
	assert_int_equal(count, 1);
	tw_polled_close(asked);
}

static bool has_ended(const struct tw_reading *r)
{
	return strcmp(r->why, "the helper tw-ask has exited") == 0;
}

static bool is_another(const struct tw_reading *r)
{
	return strcmp(r->why, "the helper tw-ask is of another version") == 0;
}

static void an_exited_helper_is_reported(void **state)
{
	void *asked = open_told("end", 60000);
	struct tw_reading r[2];

	(void)state;
	read_until(asked, r, has_ended);
	tw_polled_read(asked, r);
	assert_true(has_ended(r));
	tw_polled_close(asked);
	asked = open_told("short", 60000);
	read_until(asked, r, is_another);
	tw_polled_close(asked);
}

static void without_memory_it_fails_and_leaks_nothing(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		void *asked = NULL;
		int rc;

		fail_alloc_at(n);
		rc = open_asked("two", 60000, true, &asked, &err);
		if (!fail_alloc_hit()) {
			tw_polled_close(asked);
			break;
		}
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, TW_NOMEM);
	}
}

/* ---- among other meters ---- */

static void an_answer_read_twice_counts_once(void **state)
{
	const struct tw_zone z = { .kind = TW_ZONE_PLATFORM, .reports_power = true };
	struct tw_reading r = { .readable = true, .power_w = 20, .sample = 1 };
	struct tw_track t = { 0 };

	(void)state;
	assert_true(tw_track_take(&t, &z, &r, 1, 1000).known);
	r = (struct tw_reading){ .readable = true, .power_w = 900, .sample = 2 };
	for (int i = 0; i < 5; i++)
		assert_false(tw_track_take(&t, &z, &r, 1, 1000).known);
	assert_int_equal(t.refused, 1);
	r.sample = 3;
	assert_true(tw_track_take(&t, &z, &r, 1, 1000).known);
}

static void zones_that_come_later_take_their_place_among_the_others(void **state)
{
	const struct tw_ask_config ask = helper();
	const char *names[] = { "redfish", "fake" };
	const struct tw_strs meters = { .at = (char **)(uintptr_t)names, .count = 2 };
	const struct tw_redfish_options o = { .url = (char[]){ "https://later" },
					      .interval_ms = 60000 };
	const struct tw_roots roots = { "/nowhere", "/nowhere", "/nowhere", NULL };
	struct tw_node node = { .fresh = false };
	const struct tw_power_config c = {
		.meter = { .roots = &roots, .node = &node, .ask = &ask, .redfish = &o },
		.meters = &meters
	};
	const struct timespec wait = { .tv_nsec = 1000000 };
	const struct tw_power_zone *z;
	struct tw_power *p = NULL;
	struct tw_err err = { 0 };
	uint64_t now_ns = 1000000000;
	size_t count, before;

	(void)state;
	if (tw_power_open(&c, &p, &err) < 0)
		fail_msg("%s", err.text);
	tw_power_zones(p, &before);
	tw_power_tick(p, now_ns, 0, 0.5, NULL);
	for (int i = 0; i < 60000; i++) {
		tw_power_tick(p, now_ns += 1000000, 1000000, 0.5, NULL);
		z = tw_power_zones(p, &count);
		if (count > before && z[0].fresh && z[1].fresh)
			break;
		nanosleep(&wait, NULL);
	}
	assert_int_equal(count, before + 1);
	assert_string_equal(z[0].zone->name, "1U");
	assert_string_equal(z[1].zone->name, "2U");
	assert_float_equal(z[1].power_w, 200, 0.001);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(z[i].meter->name, i < 2 ? "redfish" : "fake");
	tw_power_close(p);
}

/* ---- the helper's part ---- */

static void tell_zone(int fd, uint32_t place, const char *name)
{
	struct tw_ask_message m = { .kind = TW_ASK_ZONE, .place = place };

	snprintf(m.of.zone.name, sizeof(m.of.zone.name), "%s", name);
	snprintf(m.of.zone.path, sizeof(m.of.zone.path), "/Chassis/%s", name);
	scripted_ask_tell(fd, &m);
}

static void tell_power_at(int fd, uint32_t place, double power_w, uint64_t taken_ns)
{
	const struct tw_ask_message m = { .kind = TW_ASK_POWER,
					  .place = place,
					  .power_w = power_w,
					  .input_w = power_w + 9,
					  .output_w = power_w - 9,
					  .taken_ns = taken_ns,
					  .window_ms = 30000 };

	scripted_ask_tell(fd, &m);
}

static void tell_power(int fd, uint32_t place, double power_w)
{
	tell_power_at(fd, place, power_w, tw_now_ns());
}

static void tell_failed(int fd, const char *why, bool lasting)
{
	struct tw_ask_message m = { .kind = TW_ASK_FAILED, .lasting = lasting };

	snprintf(m.why, sizeof(m.why), "%s", why);
	scripted_ask_tell(fd, &m);
}

static void tell_two(int fd)
{
	struct tw_ask_message none = { .kind = TW_ASK_MISSING, .place = 1 };

	snprintf(none.why, sizeof(none.why), "no sensor");
	tell_zone(fd, 0, "1U");
	tell_zone(fd, 1, "2U");
	scripted_ask_tell(fd, &none);
	tell_power(fd, 0, 100);
}

static void tell_rubbish(int fd)
{
	struct tw_ask_message m = { .kind = 99 };

	scripted_ask_tell(fd, &m);
	tell_zone(fd, 7, "no such place");
	tell_zone(fd, UINT32_MAX, "nor this");
	tell_power(fd, 1, 5);
	m.kind = TW_ASK_MISSING;
	m.place = 1000;
	scripted_ask_tell(fd, &m);
	m = (struct tw_ask_message){ .kind = TW_ASK_FAILED };
	memset(m.why, 'x', sizeof(m.why));
	scripted_ask_tell(fd, &m);
	m = (struct tw_ask_message){ .kind = TW_ASK_ZONE, .of.zone.name = "\x01" };
	scripted_ask_tell(fd, &m);
	tell_zone(fd, 0, "1U");
	tell_power(fd, 0, 100);
}

static void play(int fd, const char *settings)
{
	const bool later = strstr(settings, "later") != NULL;

	if (strstr(settings, TELLS "two") != NULL) {
		tell_two(fd);
	} else if (later) {
		tell_failed(fd, "not yet", false);
		tell_zone(fd, 0, "1U");
		tell_zone(fd, 1, "2U");
		tell_power(fd, 0, 100);
		tell_power(fd, 1, 200);
	} else if (strstr(settings, TELLS "again") != NULL) {
		tell_zone(fd, 0, "1U");
		tell_zone(fd, 1, "2U");
		tell_power(fd, 0, 100);
		tell_power(fd, 1, 200);
		tell_zone(fd, 0, "2U");
		tell_power(fd, 0, 250);
	} else if (strstr(settings, TELLS "failed") != NULL) {
		tell_failed(fd, "not supported", true);
	} else if (strstr(settings, TELLS "busy") != NULL) {
		tell_failed(fd, "busy", false);
	} else if (strstr(settings, TELLS "tomorrow") != NULL) {
		tell_power_at(fd, 0, 100, tw_now_ns() + UINT64_C(86400000000000));
	} else if (strstr(settings, TELLS "rubbish") != NULL) {
		tell_rubbish(fd);
	} else if (strstr(settings, TELLS "short") != NULL) {
		(void)!write(fd, "hello", 5);
	} else {
		return;
	}
	scripted_ask_hear(fd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_answer_is_waited_for),
		cmocka_unit_test(later_zones_follow_earlier_ones),
		cmocka_unit_test(a_zone_keeps_its_name_when_zones_are_found_again),
		cmocka_unit_test(an_answer_holds_only_so_long),
		cmocka_unit_test(an_answer_from_later_holds_as_one_of_now),
		cmocka_unit_test(a_failure_is_that_of_all_zones),
		cmocka_unit_test(a_missing_device_is_no_meter_unless_named),
		cmocka_unit_test(messages_that_cannot_be_are_passed_over),
		cmocka_unit_test(an_exited_helper_is_reported),
		cmocka_unit_test(without_memory_it_fails_and_leaks_nothing),
		cmocka_unit_test(an_answer_read_twice_counts_once),
		cmocka_unit_test(zones_that_come_later_take_their_place_among_the_others),
	};

	(void)argc;
	if (scripted_ask_is_it(argv[0]))
		return scripted_ask_run(play);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
