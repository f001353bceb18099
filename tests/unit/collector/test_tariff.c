/* SPDX-License-Identifier: Apache-2.0 */
/* Tariffs of a scripted machine: energy of the test, and messages of its helper. */
#include "tests/unit/tw_test.h"

#include "collector/power/attribute.h"
#include "collector/power/power.h"
#include "collector/power/tariff.h"
#include "lib/ask/ask.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/field/rate.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define S UINT64_C(1000000000)
#define KINDS (1u << TW_ZONE_PACKAGE | 1u << TW_ZONE_DRAM)
/* A price of 3.6 a kilowatt-hour is a picounit a microjoule. */
#define ONE "3.6"
#define URL "http://grid:9100/metrics"
#define EXPORTER ((struct tw_ask *)&machine)

static struct {
	struct tw_charge ticked;
	double pico_per_uj[TW_TARIFF_COUNT]; /* that the attribution has */
	unsigned kinds;
	struct tw_ask_message said[80]; /* by the helper */
	size_t first, count;
	bool exited, closed;
	char *asked; /* its settings */
} machine;

const struct tw_charge *tw_power_ticked(const struct tw_power *p)
{
	(void)p;
	return &machine.ticked;
}

unsigned tw_power_ticked_kinds(const struct tw_power *p)
{
	(void)p;
	return KINDS;
}

void tw_attribution_set_tariff(struct tw_attribution *a, unsigned kinds,
			       const double pico_per_uj[TW_TARIFF_COUNT])
{
	(void)a;
	machine.kinds = kinds;
	memcpy(machine.pico_per_uj, pico_per_uj, sizeof(machine.pico_per_uj));
}

int tw_ask_open(const struct tw_ask_config *c, const char *job, json_t *settings,
		struct tw_ask **out, struct tw_err *err)
{
	(void)c;
	assert_string_equal(job, "series");
	if (settings == NULL)
		return tw_fail(err, TW_NOMEM, "settings");
	free(machine.asked);
	machine.asked = json_dumps(settings, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(settings);
	if (machine.asked == NULL)
		return tw_fail(err, TW_NOMEM, "settings");
	*out = EXPORTER;
	return 0;
}

bool tw_ask_next(struct tw_ask *a, struct tw_ask_message *out)
{
	assert_ptr_equal(a, EXPORTER);
	if (machine.first == machine.count)
		return false;
	*out = machine.said[machine.first++];
	return true;
}

int tw_ask_fd(const struct tw_ask *a)
{
	(void)a;
	return machine.exited ? -1 : 7;
}

void tw_ask_close(struct tw_ask *a)
{
	machine.closed |= a != NULL;
}

static void say(enum tw_ask_kind kind, double value, const char *why)
{
	struct tw_ask_message *m = &machine.said[machine.count++];

	assert_true(machine.count <= TW_COUNT(machine.said));
	*m = (struct tw_ask_message){ .kind = kind, .power_w = value };
	snprintf(m->why, sizeof(m->why), "%s", why);
}

/* ---- the fixture ---- */

struct fixture {
	char *dir, *path;
	struct tw_tariff_options o;
	struct tw_tariffs *t;
	uint64_t now_ns;
	int64_t wall_ms;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	memset(&machine, 0, sizeof(machine));
	f->dir = scratch_new();
	f->path = scratch_path(f->dir, "price.csv");
	f->o.interval_ms = 60000;
	f->now_ns = 1000 * S;
	machine.ticked.dynamic_uj[TW_ZONE_PACKAGE] = 700;
	machine.ticked.idle_uj[TW_ZONE_PACKAGE] = 200;
	machine.ticked.idle_uj[TW_ZONE_DRAM] = 100;
	machine.ticked.dynamic_uj[TW_ZONE_PLATFORM] = 5000; /* no part of the sum */
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	tw_tariffs_close(f->t);
	free(machine.asked);
	free(f->path);
	scratch_free(f->dir);
	free(f);
	return 0;
}

static void write_rates(const struct fixture *f, const char *text)
{
	struct tw_err err = { 0 };

	assert_int_equal(tw_file_replace(f->path, text, strlen(text), &err), 0);
}

static void open_tariffs(struct fixture *f, char *carbon, char *price)
{
	struct tw_err err = { 0 };

	f->o.of[TW_TARIFF_CO2E] = carbon;
	f->o.of[TW_TARIFF_PRICE] = price;
	if (tw_tariffs_open(&f->o, NULL, &f->t, &err) < 0)
		fail_msg("%s", err.text);
}

static void tick(struct fixture *f, uint64_t after_s)
{
	f->now_ns += after_s * S;
	f->wall_ms += (int64_t)after_s * 1000;
	tw_tariffs_tick(f->t, f->wall_ms, f->now_ns, NULL, NULL);
}

static const struct tw_tariff_state *price(const struct fixture *f)
{
	return tw_tariff_of(f->t, TW_TARIFF_PRICE);
}

/* ---- options ---- */

static void options_are_checked(void **state)
{
	static char number[] = "0.3", bad[] = "-1", url[] = URL, series[] = "s";
	static const struct {
		char *of, *series;
		const char *why; /* NULL: good */
	} cases[] = {
		{ NULL, NULL, NULL },
		{ number, NULL, NULL },
		{ url, series, NULL },
		{ url, NULL, "--price of an exporter needs --price-series" },
		{ number, series, "--price-series needs --price http://ADDR/metrics" },
		{ NULL, series, "--price-series needs --price http://ADDR/metrics" },
		{ bad, NULL, "--price: " },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct tw_tariff_options o = { .of[TW_TARIFF_PRICE] = cases[i].of,
						     .series[TW_TARIFF_PRICE] =
							     cases[i].series };
		struct tw_err err = { 0 };
		const int rc = tw_tariff_options_check(&o, &err);

		assert_int_equal(rc, cases[i].why != NULL ? -1 : 0);
		if (rc < 0 && strncmp(err.text, cases[i].why, strlen(cases[i].why)) != 0)
			fail_msg("%s", err.text);
	}
}

static void without_an_option_there_is_no_tariff(void **state)
{
	struct fixture *f = *state;

	open_tariffs(f, NULL, NULL);
	assert_null(f->t);
	assert_null(price(f));
	machine.pico_per_uj[0] = machine.pico_per_uj[1] = 1;
	tick(f, 1);
	assert_int_equal(machine.kinds, KINDS);
	assert_true(machine.pico_per_uj[0] == 0 && machine.pico_per_uj[1] == 0);
}

static void without_memory_there_are_no_tariffs(void **state)
{
	static char one[] = ONE, url[] = URL, series[] = "s";
	struct fixture *f = *state;

	f->o.of[TW_TARIFF_CO2E] = one;
	f->o.of[TW_TARIFF_PRICE] = url;
	f->o.series[TW_TARIFF_PRICE] = series;
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_tariffs_open(&f->o, NULL, &f->t, &err);
		if (!fail_alloc_told(rc, &err))
			break;
		assert_null(f->t);
	}
}

/* ---- numbers and files ---- */

/* Energy of each tick by the tariffs; the one that is not given stays 0. */
static void a_number_counts_each_tick(void **state)
{
	static char one[] = ONE, ten[] = "36";
	struct fixture *f = *state;

	open_tariffs(f, NULL, one);
	assert_null(tw_tariff_of(f->t, TW_TARIFF_CO2E));
	assert_true(isnan(price(f)->per_kwh));
	assert_string_equal(price(f)->why, "not read yet");
	tick(f, 1);
	assert_true(price(f)->per_kwh == 3.6 && price(f)->pico == 1000);
	assert_string_equal(price(f)->why, "");
	assert_true(machine.pico_per_uj[TW_TARIFF_CO2E] == 0);
	assert_true(machine.pico_per_uj[TW_TARIFF_PRICE] == 1);
	machine.ticked.dynamic_uj[TW_ZONE_DRAM] = 50;
	tick(f, 1);
	assert_true(price(f)->pico == 2050 && price(f)->unknown_uj == 0);
	tw_tariffs_close(f->t);
	f->t = NULL;
	open_tariffs(f, ten, one);
	tick(f, 1);
	assert_true(tw_tariff_of(f->t, TW_TARIFF_CO2E)->pico == 10500);
	assert_true(price(f)->pico == 1050);
	assert_false(machine.closed);
}

static void a_file_has_rates_of_its_times(void **state)
{
	struct fixture *f = *state;

	write_rates(f, "1970-01-01T00:01:00Z,3.6\n1970-01-01T00:02:00Z,7.2\n");
	open_tariffs(f, NULL, f->path);
	tick(f, 59);
	assert_true(isnan(price(f)->per_kwh) && price(f)->pico == 0);
	assert_int_equal(price(f)->unknown_uj, 1000);
	assert_string_equal(price(f)->why, "the file has no line of this time");
	assert_true(machine.pico_per_uj[TW_TARIFF_PRICE] == 0);
	tick(f, 1);
	assert_true(price(f)->pico == 1000 && price(f)->why[0] == '\0');
	tick(f, 60);
	assert_true(price(f)->pico == 3000);
	assert_int_equal(price(f)->unknown_uj, 1000);
	/* The last line is valid for as long as the line before it. */
	tick(f, 60);
	assert_true(isnan(price(f)->per_kwh));
	assert_int_equal(price(f)->unknown_uj, 2000);
}

/* A file is read again after an interval; its last good content stays. */
static void a_file_may_change(void **state)
{
	struct fixture *f = *state;

	write_rates(f, "1970-01-01T00:00:00Z,3.6\n1970-01-01T00:10:00Z,7.2\n");
	open_tariffs(f, NULL, f->path);
	tick(f, 60);
	write_rates(f, "1970-01-01T00:00:00Z,36\n1970-01-01T00:10:00Z,72\n");
	tick(f, 59);
	assert_true(price(f)->per_kwh == 3.6);
	tick(f, 1);
	assert_true(price(f)->per_kwh == 36);
	write_rates(f, "x,y,z\n");
	tick(f, 60);
	assert_true(price(f)->per_kwh == 36 && price(f)->why[0] == '\0');
	assert_int_equal(unlink(f->path), 0);
	tick(f, 3600);
	assert_true(isnan(price(f)->per_kwh));
	assert_non_null(strstr(price(f)->why, f->path));
}

/* ---- exporters ---- */

static void open_exporter(struct fixture *f)
{
	static char url[] = URL, series[] = "price{zone=\"a\"}";

	f->o.series[TW_TARIFF_PRICE] = series;
	open_tariffs(f, NULL, url);
}

static void an_exporter_is_asked_for_its_series(void **state)
{
	struct fixture *f = *state;

	open_exporter(f);
	assert_string_equal(machine.asked,
			    "{\"interval_ms\":60000,\"series\":\"price{zone=\\\"a\\\"}\","
			    "\"unit\":0,\"url\":\"" URL "\",\"window_ms\":0}");
	tick(f, 1);
	assert_true(isnan(price(f)->per_kwh));
	assert_string_equal(price(f)->why, "not read yet");
	tw_tariffs_close(f->t);
	f->t = NULL;
	assert_true(machine.closed);
}

/* A value is valid for three intervals and ten seconds. */
static void an_answer_is_valid_for_a_while(void **state)
{
	struct fixture *f = *state;

	open_exporter(f);
	say(TW_ASK_POWER, 7.2, "");
	say(TW_ASK_POWER, 3.6, "");
	tick(f, 1);
	assert_true(price(f)->per_kwh == 3.6 && price(f)->pico == 1000);
	say(TW_ASK_MISSING, 0, "no such series");
	tick(f, 190);
	assert_true(price(f)->per_kwh == 3.6 && price(f)->pico == 2000);
	assert_string_equal(price(f)->why, "");
	f->now_ns++;
	tick(f, 0);
	assert_true(isnan(price(f)->per_kwh));
	assert_string_equal(price(f)->why, "no answer in time");
	assert_int_equal(price(f)->unknown_uj, 1000);
	say(TW_ASK_FAILED, 0, "refused");
	tick(f, 1);
	assert_string_equal(price(f)->why, "refused");
	say(TW_ASK_MISSING, 0, "no such series");
	tick(f, 1);
	assert_string_equal(price(f)->why, "no such series");
	say(TW_ASK_POWER, 0, "");
	tick(f, 1);
	assert_true(price(f)->per_kwh == 0 && price(f)->why[0] == '\0');
	assert_int_equal(price(f)->unknown_uj, 3000);
}

/* A helper may be compromised: neither its numbers nor its number of messages count. */
static void absurd_answers_are_ignored(void **state)
{
	static const double absurd[] = { -0.001, TW_RATE_MAX * 1.001, NAN, INFINITY };
	struct fixture *f = *state;

	open_exporter(f);
	say(TW_ASK_POWER, TW_RATE_MAX, "");
	tick(f, 1);
	for (size_t i = 0; i < TW_COUNT(absurd); i++) {
		say(TW_ASK_POWER, absurd[i], "");
		tick(f, 1);
		assert_true(price(f)->per_kwh == TW_RATE_MAX);
	}
	machine.first = machine.count = 0;
	for (int i = 1; i <= 66; i++)
		say(TW_ASK_POWER, i, "");
	tick(f, 1);
	assert_true(price(f)->per_kwh == 64);
	/* What a helper that has exited has said is taken once. */
	machine.exited = true;
	tick(f, 1);
	assert_true(price(f)->per_kwh == 65);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(options_are_checked),
		TEST(without_an_option_there_is_no_tariff),
		TEST(without_memory_there_are_no_tariffs),
		TEST(a_number_counts_each_tick),
		TEST(a_file_has_rates_of_its_times),
		TEST(a_file_may_change),
		TEST(an_exporter_is_asked_for_its_series),
		TEST(an_answer_is_valid_for_a_while),
		TEST(absurd_answers_are_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
