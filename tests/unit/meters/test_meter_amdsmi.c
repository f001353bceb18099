/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs by a library that looks like AMD's (tests/fake/amdsmi.c). */
#include "collector/power/tree.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/meters/meter_fixture.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/tw_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char library[1024];

static int setup(void **state)
{
	struct meter_fixture *f;
	char path[1024];

	if (meters_setup(state) != 0)
		return -1;
	f = *state;
	meters_fake(library, sizeof(library), "libamd_smi.so");
	f->amdsmi = library;
	tree_write(f->dir, "module/amdgpu/initstate", "live\n");
	snprintf(path, sizeof(path), "%s/gpus", f->dir);
	return setenv("TW_FAKE_AMDSMI", path, 1);
}

static void tell(const struct meter_fixture *f, const char *text)
{
	tree_write(f->dir, "gpus", text);
}

/* What the meter does not read. */
static const struct tw_zone *left_out(const struct meter_fixture *f, size_t *count)
{
	const struct tw_zone *z;
	const struct tw_meter *of;

	for (size_t n = 0; (z = tw_power_left_out(f->power, n, &of, count)) != NULL; n++)
		if (of == &tw_meter_amdsmi)
			return z;
	fail_msg("nothing is left out");
	return NULL;
}

#define CARD "card\n"
#define UNIT " 15.2587890625\n"
#define MI250 CARD "gpu c100 AMD Instinct MI250X\n"
#define W_COUNT 65536 /* of 1 J */

/* Two dies are two cards; the second one's counter stands still. A card of hwmon, too. */
static void cards_count_by_their_energy_counter(void **state)
{
	static const char text[] = MI250 "energy %llu" UNIT "busy 40\n" CARD
					 "gpu c600 AMD Instinct MI250X\nenergy 0" UNIT;
	struct meter_fixture *f = *state;
	const struct tw_zone *z;
	char now[256];

	tree_write(f->dir, "class/hwmon/hwmon0/name", "amdgpu\n");
	tree_write(f->dir, "class/hwmon/hwmon0/power1_average", "290000000\n");
	snprintf(now, sizeof(now), text, 1000ull * W_COUNT);
	tell(f, now);
	meters_open(f);
	z = meters_zone(f, "gpu-0", -1)->zone;
	assert_int_equal(z->kind, TW_ZONE_GPU);
	assert_false(z->reports_power);
	assert_string_equal(z->path, "amdsmi:0000:c1:00.0");
	assert_string_equal(z->gpu.uuid, "uuid-c100");
	assert_string_equal(z->gpu.model, "AMD Instinct MI250X");
	assert_string_equal(z->gpu.vendor, "amd");
	assert_null(meters_zone(f, "gpu-1", -1));
	meters_tick(f);
	snprintf(now, sizeof(now), text, 1300ull * W_COUNT);
	tell(f, now);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_GPU), WATTS(300));
	assert_string_equal(tw_power_meter(f->power, TW_ZONE_GPU)->name, "amdsmi");
	assert_false(meters_zone(f, "power1", -1)->counts);
}

/* In CPX mode an MI300X is eight processors, each with the card's counter. */
static void partitions_of_a_card_count_once(void **state)
{
	struct meter_fixture *f = *state;
	const struct tw_zone *left;
	char text[2][1024] = { CARD, CARD };
	size_t count;

	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 8; k++)
			snprintf(text[i] + strlen(text[i]),
				 sizeof(text[i]) - strlen(text[i]),
				 "gpu %x AMD Instinct MI300X\nenergy %d" UNIT, 0x8000 + k,
				 (1000 + 500 * i) * W_COUNT);
	tell(f, text[0]);
	meters_open(f);
	assert_int_equal(meters_zones(f), 1);
	left = left_out(f, &count);
	assert_int_equal(count, 7);
	assert_string_equal(left[6].path, "amdsmi:0000:80:00.7");
	assert_string_equal(left[6].note, "a partition of a card that counts");
	meters_tick(f);
	tell(f, text[1]);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_GPU), WATTS(500));
}

/* The place of power in its struct depends on the version. */
static void without_a_counter_it_is_the_power(void **state)
{
	static const struct {
		const char *text;
		unsigned watts;
	} cases[] = {
		{ CARD "gpu 300 Radeon\npower 65535 87\n", 87 },
		{ CARD "gpu 300 MI300X\npower 402 65535\n", 402 },
		{ CARD "gpu 300 MI300X\npower 402 0\n", 402 },
		{ CARD "gpu 300 MI300X\nenergy 18446744073709551615 15.3\npower 402 0\n",
		  402 },
		/* A counter that stands still beside a power. */
		{ CARD "gpu 300 MI100\nenergy 65628" UNIT "power 200 180\n", 200 },
		{ "version 25\n" CARD "gpu 300 Radeon\npower 4294967295 87\n", 87 },
		{ "version 26\n" CARD "gpu 300 MI300X\npower 402 4294967295\n", 402 },
	};
	struct meter_fixture *f = *state;

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		tell(f, cases[i].text);
		meters_open(f);
		assert_true(meters_zone(f, "gpu-0", -1)->zone->reports_power);
		meters_tick(f);
		meters_tick(f);
		assert_int_equal(meters_ticked(f, TW_ZONE_GPU), WATTS(cases[i].watts));
	}
}

/* A card that rests, as the second die of an MI250 shows. */
static void a_counter_that_stands_still_without_power_is_kept(void **state)
{
	struct meter_fixture *f = *state;

	tell(f, CARD "gpu 300 MI250X\nenergy 65628" UNIT "power 0 0\n");
	meters_open(f);
	assert_false(meters_zone(f, "gpu-0", -1)->zone->reports_power);
}

/* The counter of an MI300A is that of its CPU, too; a package contains its GPU. */
static void what_contains_a_processor_or_is_in_one_is_not_added_to_it(void **state)
{
	static const char text[] =
		CARD "gpu 100 AMD Instinct MI300A\nenergy %llu" UNIT CARD
		     "gpu 20500 Radeon Graphics\nenergy 7" UNIT;
	struct meter_fixture *f = *state;
	char now[256];
	size_t count;

	tree_write(f->dir, "bus/pci/devices/0002:05:00.0/hwmon/hwmon3/in1_label",
		   "vddnb\n");
	write_socket(f, 0, WATTS(1));
	snprintf(now, sizeof(now), text, 100ull * W_COUNT);
	tell(f, now);
	meters_open(f);
	assert_int_equal(meters_zone(f, "module-0", -1)->zone->kind, TW_ZONE_PLATFORM);
	assert_int_equal(meters_zone(f, "module-0", -1)->zone->place, TW_PLACE_MODULE);
	assert_non_null(strstr(left_out(f, &count)->note, "inside the processor"));
	assert_int_equal(count, 1);
	meters_tick(f);
	write_socket(f, 0, WATTS(101));
	snprintf(now, sizeof(now), text, 600ull * W_COUNT);
	tell(f, now);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PLATFORM), WATTS(500));
	assert_int_equal(meters_ticked(f, TW_ZONE_GPU), 0);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE) +
				 meters_ticked(f, TW_ZONE_DRAM) +
				 meters_ticked(f, TW_ZONE_OTHER),
			 WATTS(500));
}

static void a_lost_card_is_reported_and_hides_no_other(void **state)
{
	struct meter_fixture *f = *state;

	tell(f, MI250 "energy 65536" UNIT CARD "gpu c200 x\npower 65535 30\n");
	meters_open(f);
	meters_tick(f);
	tell(f, MI250 "energy 65536" UNIT "lost\n" CARD "gpu c200 x\npower 65535 30\n");
	meters_tick(f);
	assert_untold(f, "gpu-0", "gpu-0: AMD SMI: Device not found");
	assert_int_equal(meters_ticked(f, TW_ZONE_GPU), WATTS(30));
}

static void missing_parts_are_reported(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "code 34\n", "amdsmi: initialisation: AMD SMI: Driver not loaded" },
		{ "code 77\n", "amdsmi: initialisation: AMD SMI: failed" },
		{ "version 26\n", "amdsmi: no GPU that reports energy or power" },
		{ CARD "gpu 300 x\n", "amdsmi: no GPU that reports energy or power" },
		{ CARD "gpu 300 x\ntype 2\npower 5 5\n", "amdsmi: no GPU that reports" },
	};
	struct meter_fixture *f = *state;

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		tell(f, cases[i].text);
		meters_open(f);
		if (strstr(f->passed, cases[i].why) == NULL)
			fail_msg("%s: %s", cases[i].text, f->passed);
	}
	f->amdsmi = "/nonexistent/libamd_smi.so";
	meters_open(f);
	assert_non_null(strstr(f->passed, "amdsmi: /nonexistent/libamd_smi.so"));
	f->amdsmi = "libc.so.6";
	meters_open(f);
	assert_non_null(strstr(f->passed, "amdsmi: 'libc.so.6' has no amdsmi_init"));
	tree_remove(f->dir, "module/amdgpu/initstate");
	tree_remove(f->dir, "module/amdgpu");
	meters_open(f);
	assert_non_null(strstr(f->passed, "amdsmi: the driver amdgpu is not loaded"));
}

/* Each look for cards loads and starts ROCm's library. */
static void cards_are_looked_for_ever_more_rarely(void **state)
{
	static const int known_after[] = { [1] = 1, [2] = 2, [3] = 4, [4] = 4, [5] = 8 };
	struct meter_fixture *f = *state;

	for (int late = 1; late <= 5; late++) {
		int search = 0;

		tell(f, "version 26\n");
		meters_open(f);
		meters_tick(f);
		while (search++ < 16 && meters_zone(f, "gpu-0", -1) == NULL) {
			if (search == late)
				tell(f, CARD "gpu 300 Radeon\npower 65535 87\n");
			f->now_ns += TW_POWER_SEARCH_NS;
			meters_tick(f);
		}
		assert_int_equal(search - 1, known_after[late]);
	}
}

static void opening_without_memory_fails(void **state)
{
	struct meter_fixture *f = *state;
	const struct tw_meter_config c = { .roots = &f->roots,
					   .node = &f->node,
					   .amdsmi = library };

	tell(f, MI250 "energy 1" UNIT "gpu c100 x\nenergy 1" UNIT);
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		void *meter = NULL;
		int rc;

		fail_alloc_at(n);
		rc = tw_meter_amdsmi.open(&c, &meter, &err);
		if (!fail_alloc_hit()) {
			assert_int_equal(rc, 0);
			tw_meter_amdsmi.close(meter);
			break;
		}
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, TW_NOMEM);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, meters_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cards_count_by_their_energy_counter),
		TEST(partitions_of_a_card_count_once),
		TEST(without_a_counter_it_is_the_power),
		TEST(a_counter_that_stands_still_without_power_is_kept),
		TEST(what_contains_a_processor_or_is_in_one_is_not_added_to_it),
		TEST(a_lost_card_is_reported_and_hides_no_other),
		TEST(missing_parts_are_reported),
		TEST(cards_are_looked_for_ever_more_rarely),
		TEST(opening_without_memory_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
