/* SPDX-License-Identifier: Apache-2.0 */
/* Kepler's one series of a kind, while meters and zones of the kind come and go. */
#include "collector/expose/kepler_sum.h"

#include "collector/power/tree.h"
#include "tests/unit/tw_test.h"

#include <string.h>

#define ZONES 5
#define RAPL "/sys/class/powercap/intel-rapl:"

static const struct tw_zone package[] = {
	{ .kind = TW_ZONE_PACKAGE, .path = RAPL "0/energy_uj" },
	{ .kind = TW_ZONE_PACKAGE, .path = RAPL "1/energy_uj" },
	{ .kind = TW_ZONE_PACKAGE, .path = RAPL "2/energy_uj" },
};
static const struct tw_zone dram = { .kind = TW_ZONE_DRAM, .path = RAPL "0:0/energy_uj" };

/* Three packages of 3, 4 and 5 J, at 30 W, and a DRAM of 9 J. */
static void make_zones(struct tw_power_zone z[ZONES])
{
	memset(z, 0, ZONES * sizeof(*z));
	for (size_t i = 0; i < 4; i++) {
		z[i].zone = i < 3 ? &package[i] : &dram;
		z[i].source = "rapl-sysfs";
		z[i].counts = z[i].fresh = z[i].seen = true;
		z[i].power_w = 30;
		z[i].idle_w = 10;
		z[i].dynamic_uj = i < 3 ? 2000000 : 9000000;
		z[i].idle_uj = i < 3 ? 1000000 * (i + 1) : 0;
	}
	z[4] = z[2];
	z[4].dynamic_uj = z[4].idle_uj = 0;
}

static void stop(struct tw_power_zone *z)
{
	z->superseded = true;
	z->counts = z->fresh = false;
}

static void zones_of_a_kind_add_up(void **state)
{
	struct tw_power_zone z[ZONES];
	char path[TW_KEPLER_PATH];
	struct tw_kepler_sum s;

	(void)state;
	make_zones(z);
	s = tw_kepler_sum_of(z, 4, TW_ZONE_PACKAGE);
	assert_int_equal(s.zones, 3);
	assert_string_equal(tw_kepler_path(&s, path), "aggregated-package");
	assert_float_equal(s.split.joules, 12, 1e-9);
	assert_float_equal(s.split.active_joules, 6, 1e-9);
	assert_float_equal(s.split.idle_joules, 6, 1e-9);
	assert_float_equal(s.split.watts, 90, 1e-9);
	assert_float_equal(s.split.active_watts, 60, 1e-9);
	assert_float_equal(s.split.idle_watts, 30, 1e-9);
	s = tw_kepler_sum_of(z, 4, TW_ZONE_DRAM);
	assert_string_equal(tw_kepler_path(&s, path), RAPL "0:0");
	assert_float_equal(s.split.joules, 9, 1e-9);
	assert_int_equal(tw_kepler_sum_of(z, 4, TW_ZONE_PSYS).zones, 0);
	/* Idle power that was learned is not above all power. */
	z[3].idle_w = 50;
	s = tw_kepler_sum_of(z, 4, TW_ZONE_DRAM);
	assert_float_equal(s.split.active_watts, 0, 1e-9);
	assert_float_equal(s.split.idle_watts, 30, 1e-9);
}

static void without_a_reading_of_one_there_is_no_sum(void **state)
{
	struct tw_power_zone z[ZONES];

	(void)state;
	make_zones(z);
	z[1].fresh = false;
	assert_int_equal(tw_kepler_sum_of(z, 4, TW_ZONE_PACKAGE).zones, 0);
	/* Nobody waits for it. */
	z[1].silent = true;
	assert_int_equal(tw_kepler_sum_of(z, 4, TW_ZONE_PACKAGE).zones, 2);
	/* Nor for what another zone reads, too. */
	z[1].silent = z[1].counts = false;
	assert_int_equal(tw_kepler_sum_of(z, 4, TW_ZONE_PACKAGE).zones, 2);
}

/* The guard rejects a zone; another meter takes over the others. */
static void a_sum_never_falls(void **state)
{
	struct tw_power_zone z[ZONES];
	char path[TW_KEPLER_PATH];
	struct tw_kepler_sum s;

	(void)state;
	make_zones(z);
	stop(&z[0]);
	s = tw_kepler_sum_of(z, 4, TW_ZONE_PACKAGE);
	assert_string_equal(tw_kepler_path(&s, path), "aggregated-package");
	assert_float_equal(s.split.joules, 12, 1e-9);
	assert_float_equal(s.split.active_joules, 6, 1e-9);
	assert_float_equal(s.split.watts, 60, 1e-9);
	/* The series of one zone is its own. */
	stop(&z[1]);
	s = tw_kepler_sum_of(z, 4, TW_ZONE_PACKAGE);
	assert_string_equal(tw_kepler_path(&s, path), RAPL "2");
	assert_float_equal(s.split.joules, 5, 1e-9);
	/* Two again: the same series as in the beginning. */
	s = tw_kepler_sum_of(z, ZONES, TW_ZONE_PACKAGE);
	assert_string_equal(tw_kepler_path(&s, path), "aggregated-package");
	assert_float_equal(s.split.joules, 12, 1e-9);
	assert_float_equal(s.split.watts, 60, 1e-9);
}

static void an_estimate_is_another_series_than_a_measurement(void **state)
{
	struct tw_power_zone z[ZONES];
	char path[TW_KEPLER_PATH];
	struct tw_kepler_sum s;

	(void)state;
	make_zones(z);
	z[0].source = z[1].source = "model";
	s = tw_kepler_sum_of(z, 2, TW_ZONE_PACKAGE);
	assert_string_equal(tw_kepler_path(&s, path), "model:aggregated-package");
	assert_float_equal(s.split.joules, 7, 1e-9);
	stop(&z[0]);
	stop(&z[1]);
	s = tw_kepler_sum_of(z, ZONES, TW_ZONE_PACKAGE);
	assert_string_equal(tw_kepler_path(&s, path), "aggregated-package");
	assert_float_equal(s.split.joules, 5, 1e-9);
	z[2].source = "model";
	s = tw_kepler_sum_of(z, 4, TW_ZONE_PACKAGE);
	assert_string_equal(tw_kepler_path(&s, path), "model:" RAPL "2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zones_of_a_kind_add_up),
		cmocka_unit_test(without_a_reading_of_one_there_is_no_sum),
		cmocka_unit_test(a_sum_never_falls),
		cmocka_unit_test(an_estimate_is_another_series_than_a_measurement),
	};

	return cmocka_run_group_tests_name("kepler_sum", tests, NULL, NULL);
}
