/* SPDX-License-Identifier: Apache-2.0 */
/* Meters that appear after the start. */
#include "tests/unit/meters/meter_fixture.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/tw_test.h"

#include "collector/power/attribute.h"
#include "collector/power/tariff.h"
#include "lib/core/err.h"

#include <string.h>

#define SEARCH_S ((int)(TW_POWER_SEARCH_NS / S))

static void write_hwmon(const struct meter_fixture *f)
{
	tree_write(f->dir, "class/hwmon/hwmon0/name", "fam15h_power\n");
	tree_write(f->dir, "class/hwmon/hwmon0/power1_input", "50000000\n");
}

/* Energy of all exported zones of packages: of the meter that counts, and superseded. */
static uint64_t exported_uj(const struct meter_fixture *f)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(f->power, &count);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		if (z[i].zone->kind == TW_ZONE_PACKAGE &&
		    (z[i].superseded ||
		     tw_power_meter(f->power, TW_ZONE_PACKAGE) == z[i].meter))
			sum += zone_energy(&z[i]);
	return sum;
}

static void a_more_trusted_meter_takes_over_between_two_ticks(void **state)
{
	struct meter_fixture *f = *state;
	unsigned long long rapl_uj = WATTS(1000);
	const struct tw_power_zone *z;
	size_t count;
	uint64_t sum;
	int first = 0;

	write_hwmon(f);
	meters_open(f);
	meters_tick(f);
	sum = meters_ticked(f, TW_ZONE_PACKAGE);
	for (int i = 1; i <= SEARCH_S + 10; i++) {
		uint64_t uj;

		rapl_uj += WATTS(30);
		if (i >= 5)
			write_socket(f, 0, rapl_uj);
		meters_tick(f);
		uj = meters_ticked(f, TW_ZONE_PACKAGE);
		sum += uj;
		/* Each tick has the energy of one meter, none of both or of neither. */
		assert_true(uj == (first == 0 ? WATTS(50) : WATTS(30)));
		assert_true(tw_power_complete(f->power, TW_ZONE_PACKAGE));
		assert_int_equal(exported_uj(f), sum);
		if (first == 0 && strcmp(tw_power_meter(f->power, TW_ZONE_PACKAGE)->name,
					 "rapl-sysfs") == 0)
			first = i;
	}
	/* Found by the search, not before; then it was read twice. */
	assert_in_range(first, SEARCH_S, SEARCH_S + 2);
	z = tw_power_zones(f->power, &count);
	assert_string_equal(z->meter->name, "hwmon");
	assert_false(z->fresh);
	assert_string_equal(z->why, "rapl-sysfs has taken over");
	assert_true(meters_zone(f, "package-0", 0)->fresh);
}

static void a_kind_without_a_meter_gets_the_first_that_appears(void **state)
{
	struct meter_fixture *f = *state;

	meters_open(f);
	assert_int_equal(meters_zones(f), 0);
	meters_tick(f);
	write_hwmon(f);
	f->now_ns += TW_POWER_SEARCH_NS;
	meters_tick(f);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), WATTS(50));
	/* A less trusted meter of another kind, and then the zone "other". */
	tree_write(f->dir, "class/hwmon/hwmon1/name", "power_meter\n");
	tree_write(f->dir, "class/hwmon/hwmon1/power1_average", "80000000\n");
	f->now_ns += TW_POWER_SEARCH_NS;
	meters_tick(f);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PLATFORM), WATTS(80));
	assert_int_equal(meters_ticked(f, TW_ZONE_OTHER), WATTS(30));
}

/* It has a counter that never moves: the other meter goes on. */
static void a_meter_that_cannot_be_read_takes_nothing_over(void **state)
{
	struct meter_fixture *f = *state;

	write_hwmon(f);
	meters_open(f);
	meters_tick(f);
	write_socket(f, 0, WATTS(7));
	f->now_ns += TW_POWER_SEARCH_NS;
	for (int i = 0; i < 40; i++) {
		meters_tick(f);
		assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), WATTS(50));
	}
	assert_non_null(meters_zone(f, "package-0", 0));
	assert_string_equal(tw_power_meter(f->power, TW_ZONE_PACKAGE)->name, "hwmon");
}

/* Energy of the zone "other" of that source, in uJ. */
static uint64_t other_of(const struct meter_fixture *f, const char *source)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(f->power, &count);

	for (size_t i = 0; i < count; i++)
		if (z[i].zone->kind == TW_ZONE_OTHER && strcmp(z[i].source, source) == 0)
			return zone_energy(&z[i]);
	return 0;
}

/*
 * The source of "other" is that of the least trusted meter: first of the package's, then
 * of the platform's. Nobody may take the energy of the first source for the second's.
 */
static void other_of_another_source_begins_at_0(void **state)
{
	struct meter_fixture *f = *state;
	unsigned long long rapl_uj = WATTS(1000);
	uint64_t before_uj = 0, after_uj = 0;

	write_hwmon(f);
	tree_write(f->dir, "class/hwmon/hwmon1/name", "power_meter\n");
	tree_write(f->dir, "class/hwmon/hwmon1/power1_average", "80000000\n");
	meters_open(f);
	for (int i = 0; i < SEARCH_S + 20; i++) {
		rapl_uj += WATTS(50);
		write_socket(f, 0, rapl_uj);
		meters_tick(f);
		if (strcmp(tw_power_source(f->power, TW_ZONE_OTHER), "hwmon") == 0) {
			assert_int_equal(after_uj, 0);
			before_uj += meters_ticked(f, TW_ZONE_OTHER);
		} else if (before_uj > 0 && after_uj == 0 && other_of(f, "acpi") == 0) {
			/* The tick of the takeover is still of the meters before it. */
			before_uj += meters_ticked(f, TW_ZONE_OTHER);
		} else {
			after_uj += meters_ticked(f, TW_ZONE_OTHER);
		}
		assert_int_equal(other_of(f, "hwmon"), before_uj);
		assert_int_equal(other_of(f, "acpi"), after_uj);
	}
	assert_true(before_uj > 0 && after_uj > 0);
}

/* ---- what it costs ---- */

struct costs {
	struct tw_tariffs *tariffs;
	struct tw_attribution *attribution;
};

static void open_costs(struct costs *c)
{
	char per_kwh[] = "3.6"; /* so a microjoule costs 10^-12 */
	const struct tw_tariff_options o = { .of[TW_TARIFF_PRICE] = per_kwh,
					     .interval_ms = 1000 };
	struct tw_err err = { 0 };

	if (tw_attribution_open(TW_IDLE_BY_USE, &c->attribution, &err) < 0 ||
	    tw_tariffs_open(&o, NULL, &c->tariffs, &err) < 0)
		fail_msg("%s", err.text);
}

/* The energy of one more tick that costs something. */
static uint64_t paid_uj(struct meter_fixture *f, struct costs *c)
{
	const struct tw_tariff_state *s = tw_tariff_of(c->tariffs, TW_TARIFF_PRICE);
	const tw_u128 before = s->pico;

	meters_tick(f);
	tw_tariffs_tick(c->tariffs, 0, f->now_ns, f->power, c->attribution);
	return (uint64_t)(s->pico - before);
}

static void close_costs(struct costs *c)
{
	tw_tariffs_close(c->tariffs);
	tw_attribution_close(c->attribution);
}

static void write_inlet(const struct meter_fixture *f, const char *uw)
{
	tree_write(f->dir, "class/hwmon/hwmon1/name", "power_meter\n");
	tree_write(f->dir, "class/hwmon/hwmon1/power1_average", uw);
}

/* The inlet has no reading until 5 ticks after it is found. */
static void psys_is_paid_until_the_platform_is_read(void **state)
{
	struct meter_fixture *f = *state;
	unsigned long long psys_uj = WATTS(1000);
	struct costs c = { 0 };

	tree_rapl(f->dir, CAP "intel-rapl:1", "psys", psys_uj, RANGE);
	meters_open(f);
	open_costs(&c);
	meters_tick(f);
	write_inlet(f, "0");
	for (int i = 1; i <= SEARCH_S + 10; i++) {
		const bool read = i >= SEARCH_S + 5;

		psys_uj += WATTS(70);
		tree_rapl(f->dir, CAP "intel-rapl:1", "psys", psys_uj, RANGE);
		if (read)
			write_inlet(f, "80000000");
		assert_int_equal(paid_uj(f, &c), read ? WATTS(80) : WATTS(70));
	}
	close_costs(&c);
}

/* A counter that is found late is read twice before it has energy. */
static void the_platform_is_paid_whole_until_a_package_is_read(void **state)
{
	struct meter_fixture *f = *state;
	unsigned long long package_uj = WATTS(1000);
	struct costs c = { 0 };

	write_inlet(f, "80000000");
	meters_open(f);
	open_costs(&c);
	for (int i = 0; i < SEARCH_S + 10; i++) {
		package_uj += WATTS(30);
		if (i >= 5)
			write_socket(f, 0, package_uj);
		assert_int_equal(paid_uj(f, &c), WATTS(80));
	}
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), WATTS(30));
	close_costs(&c);
}

/* The package's counter stands still; a late meter takes over between two ticks. */
static void the_platform_is_paid_once_where_a_package_takes_over(void **state)
{
	struct meter_fixture *f = *state;
	struct costs c = { 0 };

	write_inlet(f, "80000000");
	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", 0, RANGE);
	meters_open(f);
	open_costs(&c);
	for (int i = 0; i < SEARCH_S + 10; i++) {
		if (i == 5)
			write_hwmon(f);
		assert_int_equal(paid_uj(f, &c), WATTS(80));
	}
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), WATTS(50));
	close_costs(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		METER_TEST(other_of_another_source_begins_at_0),
		METER_TEST(psys_is_paid_until_the_platform_is_read),
		METER_TEST(the_platform_is_paid_whole_until_a_package_is_read),
		METER_TEST(the_platform_is_paid_once_where_a_package_takes_over),
		METER_TEST(a_more_trusted_meter_takes_over_between_two_ticks),
		METER_TEST(a_kind_without_a_meter_gets_the_first_that_appears),
		METER_TEST(a_meter_that_cannot_be_read_takes_nothing_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
