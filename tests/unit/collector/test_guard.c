/* SPDX-License-Identifier: Apache-2.0 */
/* A machine whose readings contradict physics, in each way that power/guard.h knows. */
#include "collector/power/guard.h"
#include "lib/core/array.h"
#include "tests/unit/meters/meter_fixture.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/tw_test.h"

#include <stdio.h>
#include <string.h>

#define BIT(kind) (1U << TW_ZONE_##kind)
#define TICKS 64

/* Watts of the machine's counters; 0: it is not there. The load varies by tick. */
struct machine {
	double package[2], core, dram, platform;
	double skew; /* of package 1: its power is not in step with package 0's */
	bool has_tdp;
};

static double load_at(int tick)
{
	return 1 + 0.3 * (tick * 7 % 10) / 10;
}

/* The second package has a load of its own. */
static double other_load_at(int tick)
{
	return 1 + 0.3 * (tick * 3 % 10) / 10;
}

static void write_counter(const struct meter_fixture *f, const char *dir,
			  const char *name, double joules)
{
	if (joules > 0)
		tree_rapl(f->dir, dir, name, 1000000 + (unsigned long long)(joules * 1e6),
			  RANGE);
}

static void write_machine(const struct meter_fixture *f, const struct machine *m,
			  double sum, double other_sum)
{
	const double second = m->skew > 0 ? other_sum : sum;
	char text[32];

	write_counter(f, CAP "intel-rapl:0", "package-0", m->package[0] * sum);
	write_counter(f, CAP "intel-rapl:0:0", "core", m->core * sum);
	write_counter(f, CAP "intel-rapl:0:1", "dram", m->dram * sum);
	write_counter(f, CAP "intel-rapl:1", "package-1", m->package[1] * second);
	if (m->has_tdp)
		tree_write(f->dir, CAP "intel-rapl:0/constraint_0_max_power_uw",
			   "150000000\n");
	if (!(m->platform > 0))
		return;
	snprintf(text, sizeof(text), "%.0f\n", m->platform * 1e6);
	tree_write(f->dir, "class/hwmon/hwmon0/name", "power_meter\n");
	tree_write(f->dir, "class/hwmon/hwmon0/power1_average", text);
}

/* Returns what the next tick multiplies the powers with. */
static double run(struct meter_fixture *f, const struct machine *m)
{
	double sum = 1, other_sum = 1;

	for (int i = 0; i < TICKS; i++) {
		write_machine(f, m, sum, other_sum);
		if (i == 0)
			meters_open(f);
		meters_tick(f);
		sum += load_at(i);
		other_sum += other_load_at(i);
	}
	return sum;
}

static const char *doubt_of(const struct meter_fixture *f, const char *name)
{
	return meters_zone(f, name, -2)->doubt;
}

static void assert_doubted(const struct meter_fixture *f, const char *name,
			   const char *text)
{
	if (strstr(doubt_of(f, name), text) == NULL)
		fail_msg("%s: '%s', want '%s'", name, doubt_of(f, name), text);
}

static void a_true_machine_is_not_doubted(void **state)
{
	static const struct machine m = { { 100, 110 }, 60, 20, 400, 1, true };
	struct meter_fixture *f = *state;

	run(f, &m);
	assert_string_equal(doubt_of(f, "package-0"), "");
	assert_string_equal(doubt_of(f, "package-1"), "");
	assert_string_equal(doubt_of(f, "power1"), "");
	assert_int_equal(tw_power_sum_kinds(f->power),
			 BIT(PACKAGE) | BIT(DRAM) | BIT(OTHER));
}

static void cores_may_not_have_more_than_their_package(void **state)
{
	static const struct machine m = { { 100, 0 }, 120, 20, 0, 0, false };
	struct meter_fixture *f = *state;

	run(f, &m);
	assert_doubted(f, "package-0", "core and uncore have 1");
	assert_int_equal(tw_power_sum_kinds(f->power), BIT(PACKAGE) | BIT(DRAM));
}

/* The platform counts alone: what is in it is not known. */
static void parts_may_not_have_more_than_the_platform(void **state)
{
	static const struct machine m = { { 100, 110 }, 60, 20, 150, 1, false };
	struct meter_fixture *f = *state;

	run(f, &m);
	assert_doubted(f, "power1", "package, dram and gpu have 2");
	assert_int_equal(tw_power_sum_kinds(f->power), BIT(PLATFORM));
}

/* A power in mW is not that of the machine. */
static void a_platform_in_a_wrong_unit_does_not_count(void **state)
{
	static const struct machine m = { { 100, 110 }, 60, 20, 0.4, 1, false };
	struct meter_fixture *f = *state;

	run(f, &m);
	assert_doubted(f, "power1", "package, dram and gpu have 2");
	assert_false(meters_zone(f, "power1", -2)->counts);
	assert_int_equal(tw_power_sum_kinds(f->power), BIT(PACKAGE) | BIT(DRAM));
}

/* Its counter is in a wrong unit: it is absent, not wrong. */
static void a_package_is_not_above_five_times_its_design_power(void **state)
{
	static const struct machine m = { { 700, 0 }, 60, 20, 0, 0, true };
	struct meter_fixture *f = *state;

	run(f, &m);
	assert_doubted(f, "package-0", "design power");
	assert_false(meters_zone(f, "package-0", -2)->counts);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), 0);
}

/* Boards let small processors use four times their design power: 680 W of 150 W. */
static void a_board_may_raise_the_limit_of_its_processor(void **state)
{
	static const struct machine m = { { 600, 0 }, 60, 20, 0, 0, true };
	struct meter_fixture *f = *state;

	run(f, &m);
	assert_string_equal(doubt_of(f, "package-0"), "");
	assert_true(meters_zone(f, "package-0", -2)->counts);
}

static void a_package_at_rest_uses_some_power(void **state)
{
	static const struct machine m = { { 0.2, 0 }, 0, 20, 0, 0, true };
	struct meter_fixture *f = *state;

	run(f, &m);
	assert_doubted(f, "package-0", "at rest");
}

/* QEMU's RAPL counts the share of the package that the virtual machine uses. */
static void a_share_of_a_package_may_be_small(void **state)
{
	static const struct machine m = { { 0.2, 0 }, 0, 20, 0, 0, true };
	struct meter_fixture *f = *state;

	tree_write(f->dir, "cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor\n");
	run(f, &m);
	assert_string_equal(doubt_of(f, "package-0"), "");
}

static void two_counters_in_step_are_one(void **state)
{
	static const struct machine m = { { 100, 100 }, 60, 20, 0, 0, false };
	struct meter_fixture *f = *state;
	double sum = run(f, &m);

	assert_doubted(f, "package-1", "its counter is that of package-0");
	assert_true(meters_zone(f, "package-0", -2)->counts);
	assert_false(meters_zone(f, "package-1", -2)->counts);
	write_machine(f, &m, sum, sum);
	meters_tick(f);
	write_machine(f, &m, sum + 1, sum + 1);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), WATTS(100));
}

static void write_meter(const struct meter_fixture *f, int n, const char *chip,
			const char *file, double watts)
{
	char path[96], text[32];

	snprintf(path, sizeof(path), "class/hwmon/hwmon%d/name", n);
	snprintf(text, sizeof(text), "%s\n", chip);
	tree_write(f->dir, path, text);
	snprintf(path, sizeof(path), "class/hwmon/hwmon%d/%s", n, file);
	snprintf(text, sizeof(text), "%.0f\n", watts * 1e6);
	tree_write(f->dir, path, text);
	snprintf(path, sizeof(path), "class/hwmon/hwmon%d/power1_label", n);
	if (strcmp(chip, "corsairpsu") == 0)
		tree_write(f->dir, path, "power total\n");
}

static size_t doubts(const struct meter_fixture *f)
{
	size_t count, doubted = 0;
	const struct tw_power_zone *z = tw_power_zones(f->power, &count);

	for (size_t i = 0; i < count; i++)
		doubted += z[i].doubt[0] != '\0';
	return doubted;
}

/* A board of 400 W beside two supplies: the board counts, one violation is named. */
static void a_board_has_at_most_what_its_supplies_take(void **state)
{
	static const struct {
		double supply_w;
		size_t doubts;
	} cases[] = { { 225, 0 }, { 190, 0 }, { 170, 1 } };
	struct meter_fixture *f = *state;

	for (size_t c = 0; c < TW_COUNT(cases); c++) {
		write_meter(f, 0, "power_meter", "power1_average", 400);
		write_meter(f, 1, "corsairpsu", "power1_input", cases[c].supply_w);
		write_meter(f, 2, "corsairpsu", "power1_input", cases[c].supply_w);
		meters_open(f);
		for (int i = 0; i < TICKS; i++)
			meters_tick(f);
		assert_int_equal(doubts(f), cases[c].doubts);
		assert_int_equal(meters_ticked(f, TW_ZONE_PLATFORM), WATTS(400));
	}
	assert_doubted(f, "power1", "the board has 400.0 W, its supplies take 340.0 W");
}

/* Balanced load: the same power, in other steps. */
static void packages_of_equal_power_are_two(void **state)
{
	static const struct machine m = { { 100, 100 }, 60, 20, 0, 1, false };
	struct meter_fixture *f = *state;

	run(f, &m);
	assert_string_equal(doubt_of(f, "package-1"), "");
	assert_true(meters_zone(f, "package-1", -2)->counts);
}

/* An estimate of a far too large package is no evidence against a small board's meter. */
static void estimated_parts_do_not_reject_a_platform(void **state)
{
	(void)state;
	for (int estimated = 0; estimated < 2; estimated++) {
		const struct tw_zone zone[] = {
			{ .kind = TW_ZONE_PLATFORM, .package = -1 },
			{ .kind = TW_ZONE_PACKAGE, .package = 0, .estimated = estimated },
		};
		struct tw_power_guard g = { .ticks = 0 };
		struct tw_power_zone z[] = {
			{ .zone = &zone[0], .meter = &tw_meter_redfish, .counts = true },
			{ .zone = &zone[1], .meter = &tw_meter_redfish, .counts = true },
		};

		for (int i = 0; i < TICKS; i++) {
			z[0].watch.energy_uj += WATTS(3);
			z[1].watch.energy_uj += WATTS(80);
			z[0].watch.read = z[1].watch.read = true;
			tw_guard_tick(&g, z, 2, S, 0);
		}
		tw_guard_judge(&g, z, 2, 0);
		assert_int_equal(g.doubted, estimated);
		assert_int_equal(z[0].rejected[0] == '\0', estimated);
	}
}

/* ---- rejected zones that count again ---- */

/* Steps that vary by so much of 100 J about it. */
static uint64_t step_at(int tick, double vary)
{
	return (uint64_t)(1e8 * (1 + vary * ((tick * 7 % 10) / 4.5 - 1)));
}

#define SPAN_TICKS ((int)(TW_GUARD_SPAN_NS / S))

/* Ticks of a platform of so many W beside a package of 80 W, until a change. */
static int ticks_until(struct tw_power_guard *g, struct tw_power_zone z[2], double watts,
		       bool rejected)
{
	int ticks = 0;

	while ((z[0].rejected[0] != '\0') != rejected && ticks < 200 * SPAN_TICKS) {
		z[0].watch.energy_uj += (uint64_t)(watts * 1e6);
		z[1].watch.energy_uj += WATTS(80);
		z[0].watch.read = z[1].watch.read = true;
		tw_guard_tick(g, z, 2, S, 0);
		ticks++;
	}
	return ticks;
}

static void a_zone_that_changes_all_the_time_counts_ever_more_rarely(void **state)
{
	static const int spans[] = { 4, 8, 16, 32, 64, 128, 128 };
	const struct tw_zone zone[] = {
		{ .kind = TW_ZONE_PLATFORM, .package = -1 },
		{ .kind = TW_ZONE_PACKAGE, .package = 0 },
	};
	struct tw_power_guard g = { .ticks = 0 };
	struct tw_power_zone z[] = {
		{ .zone = &zone[0], .meter = &tw_meter_redfish, .counts = true },
		{ .zone = &zone[1], .meter = &tw_meter_redfish, .counts = true },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(spans); i++) {
		z[0].counts = true;
		assert_in_range(ticks_until(&g, z, 0.4, true), 2 * SPAN_TICKS,
				2 * SPAN_TICKS + 3);
		z[0].counts = false;
		/* Half of its parts is not plausible. */
		assert_int_equal(ticks_until(&g, z, 40, false), 200 * SPAN_TICKS);
		assert_int_equal(ticks_until(&g, z, 200, false), spans[i] * SPAN_TICKS);
		assert_string_equal(z[0].doubt, "");
	}
}

/* The platform counts at half of its parts, with a doubt; then it does not. */
static void a_doubted_platform_is_rejected_once_its_unit_is_wrong(void **state)
{
	const struct tw_zone zone[] = {
		{ .kind = TW_ZONE_PLATFORM, .package = -1 },
		{ .kind = TW_ZONE_PACKAGE, .package = 0 },
	};
	struct tw_power_guard g = { .ticks = 0 };
	struct tw_power_zone z[] = {
		{ .zone = &zone[0], .meter = &tw_meter_redfish, .counts = true },
		{ .zone = &zone[1], .meter = &tw_meter_redfish, .counts = true },
	};
	int news = 0;

	(void)state;
	for (int i = 0; i < 6 * SPAN_TICKS; i++) {
		z[0].watch.energy_uj += i < 3 * SPAN_TICKS ? WATTS(40) : 400000;
		z[1].watch.energy_uj += WATTS(80);
		z[0].watch.read = z[1].watch.read = true;
		if (!tw_guard_tick(&g, z, 2, S, 0))
			continue;
		assert_int_equal(z[0].rejected[0] != '\0', news > 0);
		z[0].counts = z[0].rejected[0] == '\0';
		news++;
	}
	assert_int_equal(news, 2);
}

/* Constant load is no evidence that a counter is its own. */
static void a_copy_counts_again_once_its_steps_differ(void **state)
{
	const struct tw_zone zone[] = {
		{ .kind = TW_ZONE_PACKAGE, .package = 0, .name = "first" },
		{ .kind = TW_ZONE_PACKAGE, .package = 1, .name = "second" },
	};
	struct tw_power_guard g = { .ticks = 0 };
	struct tw_power_zone z[2] = {
		{ .zone = &zone[0], .meter = &tw_meter_redfish, .counts = true },
		{ .zone = &zone[1], .meter = &tw_meter_redfish, .counts = true },
	};
	enum { ALIKE = 90, STILL = 1000, APART = 1300 };

	(void)state;
	for (int tick = 0; tick < APART; tick++) {
		const bool still = tick >= ALIKE && tick < STILL;
		const uint64_t uj = still ? WATTS(100) : step_at(tick, 0.2);

		z[0].watch.energy_uj += uj;
		z[1].watch.energy_uj += tick < STILL ? uj : step_at(tick + 3, 0.2);
		z[0].watch.read = z[1].watch.read = true;
		tw_guard_tick(&g, z, 2, S, 0);
		z[1].counts = z[1].rejected[0] == '\0';
		if (tick >= ALIKE && tick <= STILL + 4 * SPAN_TICKS)
			assert_false(z[1].counts);
	}
	assert_true(z[1].counts);
}

/* A board, supplies that were never needed, and a module that the board had replaced. */
static void a_zone_that_resumes_and_is_not_read_keeps_its_energy(void **state)
{
	static const struct tw_zone zone[] = {
		{ .kind = TW_ZONE_PLATFORM, .place = TW_PLACE_BOARD },
		{ .kind = TW_ZONE_PLATFORM, .place = TW_PLACE_SUPPLY },
		{ .kind = TW_ZONE_PLATFORM, .place = TW_PLACE_MODULE },
	};
	struct tw_power_zone z[] = {
		{ .zone = &zone[0], .meter = &tw_meter_redfish, .counts = true },
		{ .zone = &zone[1], .meter = &tw_meter_redfish },
		{ .zone = &zone[2], .meter = &tw_meter_redfish, .superseded = true },
	};

	(void)state;
	z[1].fresh = z[1].seen = z[2].seen = true;
	z[1].dynamic_uj = 7;
	z[2].dynamic_uj = 5;
	snprintf(z[0].rejected, sizeof(z[0].rejected), "no unit");
	tw_tree_reject(z, TW_COUNT(z), 0);
	assert_true(z[2].counts);
	assert_true(tw_tree_take_over(z, TW_COUNT(z)));
	assert_true(z[1].counts);
	assert_int_equal(z[1].dynamic_uj, 0);
	assert_true(z[2].superseded);
	assert_int_equal(z[2].dynamic_uj, 5);
}

/* A rejected platform keeps its reason; another that counts has no doubt yet. */
static void the_doubt_of_a_rejected_platform_is_not_that_of_another(void **state)
{
	static const struct tw_zone zone[] = {
		{ .kind = TW_ZONE_PLATFORM, .package = -1 },
		{ .kind = TW_ZONE_PLATFORM, .package = -1 },
		{ .kind = TW_ZONE_PACKAGE, .package = 0 },
	};
	struct tw_power_guard g = { .ticks = 0 };
	struct tw_power_zone z[] = {
		{ .zone = &zone[0], .meter = &tw_meter_redfish },
		{ .zone = &zone[1], .meter = &tw_meter_acpi, .counts = true },
		{ .zone = &zone[2], .meter = &tw_meter_redfish, .counts = true },
	};
	static const char text[] = "it has no unit";
	bool doubted = false;

	(void)state;
	memcpy(z[0].doubt, text, sizeof(text));
	memcpy(z[0].rejected, text, sizeof(text));
	z[0].watch.rejections = 1;
	for (int i = 0; !doubted && i < TICKS; i++) {
		z[1].watch.energy_uj += WATTS(40);
		z[2].watch.energy_uj += WATTS(80);
		z[0].watch.read = z[1].watch.read = z[2].watch.read = true;
		tw_guard_tick(&g, z, TW_COUNT(z), S, 0);
		doubted = z[1].doubt[0] != '\0';
		assert_int_equal(g.doubted, doubted);
	}
	assert_true(doubted);
}

/* ---- copies, by the energy of each tick ---- */

struct pair {
	enum tw_zone_kind kind[2];
	bool estimated, reports_power, absent; /* the second */
	double ratio;                          /* of the second's steps */
	double vary;                           /* share of a step */
	int ticks;                             /* of a second each, of TICKS */
	int unread;                            /* the first of them */
	bool copy;
};

static void check_pair(size_t i, const struct pair *p)
{
	const struct tw_zone zone[] = {
		{ .kind = p->kind[0], .package = 0, .name = "first" },
		{ .kind = p->kind[1],
		  .package = 1,
		  .name = "second",
		  .estimated = p->estimated,
		  .reports_power = p->reports_power },
	};
	struct tw_power_guard g = { .ticks = 0 };
	struct tw_power_zone z[2] = {
		{ .zone = &zone[0], .meter = &tw_meter_redfish, .counts = true },
		{ .zone = &zone[1], .meter = &tw_meter_redfish, .counts = !p->absent },
	};

	for (int tick = 0; tick < p->ticks; tick++) {
		const bool read = tick >= p->unread;
		const uint64_t uj = read ? step_at(tick, p->vary) : 0;

		z[0].watch.energy_uj += uj;
		z[1].watch.energy_uj += (uint64_t)((double)uj * p->ratio);
		z[0].watch.read = z[1].watch.read = read;
		tw_guard_tick(&g, z, 2, S, 0);
	}
	tw_guard_judge(&g, z, 2, 0);
	assert_string_equal(z[0].rejected, "");
	if (strcmp(z[1].rejected, p->copy ? "its counter is that of first" : "") != 0)
		fail_msg("case %zu: '%s'", i, z[1].rejected);
}

static void copies_are_equal_steps_that_vary(void **state)
{
	static const struct pair cases[] = {
#define TWO(kind) { TW_ZONE_##kind, TW_ZONE_##kind }
		{ .kind = TWO(PACKAGE),
		  .ratio = 1,
		  .vary = 0.2,
		  .ticks = 20,
		  .copy = true },
		{ .kind = TWO(DRAM), .ratio = 1, .vary = 0.2, .ticks = 20, .copy = true },
		{ .kind = TWO(GPU), .ratio = 1, .vary = 0.2, .ticks = 20, .copy = true },
		{ .kind = TWO(CORE), .ratio = 1, .vary = 0.2, .ticks = 20 },
		{ .kind = { TW_ZONE_PACKAGE, TW_ZONE_DRAM },
		  .ratio = 1,
		  .vary = 0.2,
		  .ticks = 20 },
		/* A percent of the larger step, and more. */
		{ .kind = TWO(PACKAGE),
		  .ratio = 0.991,
		  .vary = 0.9,
		  .ticks = 20,
		  .copy = true },
		{ .kind = TWO(PACKAGE), .ratio = 0.989, .vary = 0.9, .ticks = 20 },
		{ .kind = TWO(PACKAGE),
		  .ratio = 1.009,
		  .vary = 0.9,
		  .ticks = 20,
		  .copy = true },
		{ .kind = TWO(PACKAGE), .ratio = 1.012, .vary = 0.9, .ticks = 20 },
		/* Idle machines use the same power all the time: that is not a copy. */
		{ .kind = TWO(PACKAGE), .ratio = 1, .vary = 0.06, .ticks = 20 },
		{ .kind = TWO(PACKAGE),
		  .ratio = 1,
		  .vary = 0.1,
		  .ticks = 20,
		  .copy = true },
		/* Few ticks tell nothing. */
		{ .kind = TWO(PACKAGE),
		  .ratio = 1,
		  .vary = 0.2,
		  .ticks = 16,
		  .copy = true },
		{ .kind = TWO(PACKAGE), .ratio = 1, .vary = 0.2, .ticks = 15 },
		{ .kind = TWO(PACKAGE),
		  .ratio = 1,
		  .vary = 0.2,
		  .ticks = 100,
		  .copy = true },
		/* Ticks before the first reading are no steps. */
		{ .kind = TWO(GPU), .ratio = 1, .ticks = 64, .unread = 1 },
		{ .kind = TWO(GPU), .ratio = 1, .ticks = 130, .unread = 100 },
		{ .kind = TWO(GPU),
		  .ratio = 1,
		  .vary = 0.2,
		  .ticks = 116,
		  .unread = 100,
		  .copy = true },
		{ .kind = TWO(GPU),
		  .ratio = 1,
		  .vary = 0.2,
		  .ticks = 115,
		  .unread = 100 },
		/* Only counters of energy have steps of their own. */
		{ .kind = TWO(PACKAGE),
		  .ratio = 1,
		  .vary = 0.2,
		  .ticks = 20,
		  .estimated = true },
		{ .kind = TWO(PACKAGE),
		  .ratio = 1,
		  .vary = 0.2,
		  .ticks = 20,
		  .reports_power = true },
		{ .kind = TWO(PACKAGE),
		  .ratio = 1,
		  .vary = 0.2,
		  .ticks = 20,
		  .absent = true },
#undef TWO
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++)
		check_pair(i, &cases[i]);
}

/* By what a controller tells of them beside its reading. */
static void a_reading_lies_between_what_its_supplies_take_and_give(void **state)
{
	static const struct {
		double input_w, output_w;
		const char *doubt;
	} cases[] = {
		{ 430, 370, "" },
		{ 0, 0, "" },
		{ 370, 0, "" },
		{ 350, 330, "it has 400.0 W, its supplies take 350.0 W" },
		{ 0, 480, "its supplies give 480.0 W, it has 400.0 W" },
	};
	static const struct tw_zone zone = { .kind = TW_ZONE_PLATFORM, .package = -1 };

	(void)state;
	for (size_t c = 0; c < TW_COUNT(cases); c++) {
		struct tw_power_guard g = { .ticks = 0 };
		struct tw_power_zone z = { .zone = &zone,
					   .meter = &tw_meter_redfish,
					   .counts = true,
					   .watch.read = true,
					   .input_w = cases[c].input_w,
					   .output_w = cases[c].output_w };

		for (int i = 0; i < TICKS; i++) {
			z.watch.energy_uj += WATTS(400);
			tw_guard_tick(&g, &z, 1, S, 0);
		}
		assert_string_equal(z.doubt, cases[c].doubt);
		assert_false(g.doubted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		METER_TEST(a_true_machine_is_not_doubted),
		METER_TEST(cores_may_not_have_more_than_their_package),
		METER_TEST(parts_may_not_have_more_than_the_platform),
		METER_TEST(a_platform_in_a_wrong_unit_does_not_count),
		cmocka_unit_test(estimated_parts_do_not_reject_a_platform),
		METER_TEST(a_package_is_not_above_five_times_its_design_power),
		METER_TEST(a_board_may_raise_the_limit_of_its_processor),
		METER_TEST(a_package_at_rest_uses_some_power),
		METER_TEST(a_share_of_a_package_may_be_small),
		METER_TEST(two_counters_in_step_are_one),
		METER_TEST(packages_of_equal_power_are_two),
		cmocka_unit_test(
			a_zone_that_changes_all_the_time_counts_ever_more_rarely),
		cmocka_unit_test(a_doubted_platform_is_rejected_once_its_unit_is_wrong),
		cmocka_unit_test(a_copy_counts_again_once_its_steps_differ),
		cmocka_unit_test(a_zone_that_resumes_and_is_not_read_keeps_its_energy),
		cmocka_unit_test(the_doubt_of_a_rejected_platform_is_not_that_of_another),
		cmocka_unit_test(copies_are_equal_steps_that_vary),
		METER_TEST(a_board_has_at_most_what_its_supplies_take),
		cmocka_unit_test(a_reading_lies_between_what_its_supplies_take_and_give),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
