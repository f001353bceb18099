/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs by a library that looks like NVIDIA's (tests/fake/nvml.c), and by the real one. */
#include "collector/meters/nvml.h"
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
	meters_fake(library, sizeof(library), "libnvidia-ml.so.1");
	f->nvml = library;
	snprintf(path, sizeof(path), "%s/gpus", f->dir);
	return setenv("TW_FAKE_NVML", path, 1);
}

static void tell(const struct meter_fixture *f, const char *text)
{
	tree_write(f->dir, "gpus", text);
}

static uint64_t used_by(const struct meter_fixture *f, uint32_t tgid)
{
	size_t count;
	const struct tw_use *use = tw_power_uses(f->power, &count);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		if (use[i].tgid == tgid)
			sum += use[i].dynamic_uj + use[i].idle_uj;
	return sum;
}

static void gpus_have_energy_or_power_and_their_names(void **state)
{
	struct meter_fixture *f = *state;
	const struct tw_zone *z;

	tell(f, "gpu GPU-a Tesla V100\nenergy 5000\npower 1\n"
		"gpu GPU-b Tesla P4\npower 30000\n");
	meters_open(f);
	assert_int_equal(meters_zones(f), 2);
	z = meters_zone(f, "gpu-0", -1)->zone;
	assert_string_equal(z->gpu.index, "0");
	assert_string_equal(z->gpu.uuid, "GPU-a");
	assert_string_equal(z->gpu.model, "Tesla V100");
	assert_string_equal(z->path, "nvml:GPU-a");
	assert_false(z->reports_power);
	assert_null(z->note);
	assert_true(meters_zone(f, "gpu-1", -1)->zone->reports_power);
	meters_tick(f);
	tell(f, "gpu GPU-a Tesla V100\nenergy 75000\npower 1\n"
		"gpu GPU-b Tesla P4\npower 20000\n");
	meters_tick(f);
	assert_int_equal(zone_energy(meters_zone(f, "gpu-0", -1)), WATTS(70));
	assert_int_equal(meters_ticked(f, TW_ZONE_GPU), WATTS(90));
	assert_string_equal(tw_power_meter(f->power, TW_ZONE_GPU)->name, "nvml");
}

#define GRACE_HOPPER "gpu GPU-a NVIDIA GH200 480GB\nenergy "

/* With a package of 100 W and dram of 10 W the module is not added to them. */
static void the_energy_counter_of_a_gh200_is_its_modules(void **state)
{
	struct meter_fixture *f = *state;
	const struct tw_zone *z;

	write_socket(f, 0, WATTS(1));
	tell(f, GRACE_HOPPER "100000\npower 1\naverage 300000\n");
	meters_open(f);
	z = meters_zone(f, "module-0", -1)->zone;
	assert_int_equal(z->kind, TW_ZONE_PLATFORM);
	assert_int_equal(z->place, TW_PLACE_MODULE);
	assert_false(z->reports_power);
	assert_non_null(z->note);
	assert_int_equal(meters_zone(f, "gpu-0", -1)->zone->kind, TW_ZONE_GPU);
	meters_tick(f);
	write_socket(f, 0, WATTS(101));
	tell(f, GRACE_HOPPER "700000\npower 1\naverage 400000\nuse 7 1 60 0 0\n");
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PLATFORM), WATTS(600));
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), WATTS(100));
	assert_int_equal(meters_ticked(f, TW_ZONE_GPU), WATTS(400));
	assert_int_equal(meters_ticked(f, TW_ZONE_OTHER), WATTS(90));
	assert_int_equal(used_by(f, 7), WATTS(400));
}

/* An older driver does not tell the GPU's part of the module. */
static void a_gh200_without_power_of_its_gpu_is_a_module(void **state)
{
	struct meter_fixture *f = *state;

	tell(f, GRACE_HOPPER "100000\npower 1\n");
	meters_open(f);
	assert_null(meters_zone(f, "gpu-0", -1));
	meters_tick(f);
	tell(f, GRACE_HOPPER "700000\npower 1\n");
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PLATFORM), WATTS(600));
	assert_int_equal(meters_ticked(f, TW_ZONE_GPU), 0);
}

/* Each GPU's energy is its own users', by their use of it; nobody's where none is known.
 */
static void energy_goes_to_the_users_of_that_gpu(void **state)
{
	struct meter_fixture *f = *state;

	tell(f, "gpu GPU-a x\nenergy 1000\ngpu GPU-b y\nenergy 1000\n"
		"gpu GPU-c z\nenergy 1000\n");
	meters_open(f);
	meters_tick(f);
	tell(f, "gpu GPU-a x\nenergy 301000\nuse 7 1 60 0 0\nuse 8 1 20 0 0\n"
		"gpu GPU-b y\nenergy 41000\nuse 8 1 0 3 9\nuse 9 1 0 101 0\n"
		"gpu GPU-c z\nenergy 21000\n");
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_GPU), WATTS(360));
	assert_int_equal(used_by(f, 7), WATTS(225));
	assert_int_equal(used_by(f, 8), WATTS(75 + 40));
	assert_int_equal(used_by(f, 9), 0);
}

/* The driver samples less often than we read. */
static void a_sample_holds_until_the_next_is_due(void **state)
{
	struct meter_fixture *f = *state;
	struct tw_nvml_users u = { .count = 0 };
	struct tw_nvml *n = NULL;
	struct tw_err err = { 0 };
	tw_nvml_device d;

	tell(f, "gpu GPU-a x\nuse 7 100 60 0 0\n");
	assert_int_equal(tw_nvml_open(library, &n, &err), 0);
	assert_int_equal(n->by_index(0, &d), 0);
	assert_int_equal(tw_nvml_users_open(&u, n, d, &err), 0);
	tw_nvml_users_read(&u, n, d);
	assert_int_equal(u.count, 1);
	assert_int_equal(u.at[0].weight, 60);
	tw_nvml_users_read(&u, n, d);
	assert_int_equal(u.count, 1);
	/* Two seconds later there is still none. */
	u.seen_ns -= 2 * S;
	tw_nvml_users_read(&u, n, d);
	assert_int_equal(u.count, 0);
	tell(f, "gpu GPU-a x\nuse 7 100 60 0 0\nuse 7 101 50 0 0\nuse 8 102 50 0 0\n");
	tw_nvml_users_read(&u, n, d);
	assert_int_equal(u.count, 2);
	assert_int_equal(u.seen_us, 102);
	/* And none of a GPU that does not answer. */
	tell(f, "gpu GPU-a x\nlost\n");
	tw_nvml_users_read(&u, n, d);
	assert_int_equal(u.count, 0);
	tw_nvml_users_release(&u);
	tw_nvml_close(n);
}

static void more_samples_than_there_was_room_for_are_taken(void **state)
{
	struct meter_fixture *f = *state;
	char text[16384] = "gpu GPU-a x\nenergy 401000\n";

	tell(f, "gpu GPU-a x\nenergy 1000\n");
	meters_open(f);
	meters_tick(f);
	for (unsigned i = 1; i <= 400; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "use %u 5 10 0 0\n", i);
	tell(f, text);
	meters_tick(f);
	assert_int_equal(used_by(f, 1), WATTS(1));
	assert_int_equal(used_by(f, 400), WATTS(1));
}

static void a_divided_gpu_is_by_memory(void **state)
{
	struct meter_fixture *f = *state;

	tell(f, "gpu GPU-a x\nenergy 1000\nmig\n");
	meters_open(f);
	assert_non_null(strstr(meters_zone(f, "gpu-0", -1)->zone->note, "MIG mode"));
	meters_tick(f);
	tell(f, "gpu GPU-a x\nenergy 101000\nmig\nhold 7 3145728\ndraw 8 1048576\n");
	meters_tick(f);
	assert_int_equal(used_by(f, 7), WATTS(75));
	assert_int_equal(used_by(f, 8), WATTS(25));
	/* A load that is not told teaches no idle power. */
	assert_float_equal(meters_zone(f, "gpu-0", -1)->idle_w, 0, 0);
	/* Memory that is not known: a single process has all, of several none does. */
	tell(f, "gpu GPU-a x\nenergy 201000\nmig\nhold 7 18446744073709551615\n"
		"draw 7 18446744073709551615\n");
	meters_tick(f);
	assert_int_equal(used_by(f, 7), WATTS(100));
	tell(f, "gpu GPU-a x\nenergy 301000\nmig\nhold 7 18446744073709551615\n"
		"hold 8 18446744073709551615\n");
	meters_tick(f);
	assert_int_equal(used_by(f, 7) + used_by(f, 8), 0);
	assert_int_equal(meters_ticked(f, TW_ZONE_GPU), WATTS(100));
}

/*
 * A machine of 50 W, a package with its dram, and a GPU that draws 300 W, of which no
 * idle power is known: all of it is dynamic. The platform's idle power has it. Whatever
 * is idle and what not, all zones together are the platform.
 */
static void a_gpu_without_idle_power_is_counted_once(void **state)
{
	struct meter_fixture *f = *state;
	unsigned long long rapl_uj = WATTS(1000), mj = 1000;
	uint64_t other_uj = 0;

	tree_write(f->dir, "class/hwmon/hwmon0/name", "power_meter\n");
	for (int i = 0; i < 60; i++) {
		const unsigned package_w = i % 2 == 0 ? 20 : 60;
		char text[64];

		rapl_uj += WATTS(package_w);
		mj += 300000;
		write_socket(f, 0, rapl_uj);
		snprintf(text, sizeof(text), "%u\n",
			 (350 + package_w * 11 / 10) * 1000000);
		tree_write(f->dir, "class/hwmon/hwmon0/power1_average", text);
		snprintf(text, sizeof(text), "gpu GPU-a x\nenergy %llu\nmig\n", mj);
		tell(f, text);
		if (i == 0)
			meters_open(f);
		f->now_ns += S;
		tw_power_tick(f->power, f->now_ns, S, i % 2 == 0 ? 0 : 0.5);
		other_uj += meters_ticked(f, TW_ZONE_OTHER);
	}
	assert_true(meters_zone(f, "power1", -2)->idle_w > 300);
	assert_float_equal(meters_zone(f, "gpu-0", -1)->idle_w, 0, 0);
	assert_int_equal(other_uj, 59 * WATTS(50));
	assert_int_equal(zone_energy(meters_zone(f, "other", -2)), 59 * WATTS(50));
	assert_float_equal(meters_zone(f, "other", -2)->power_w, 50, 1e-6);
}

/* Idle power is learned by the GPU's own load, whatever the processors do. */
static void idle_power_is_by_its_own_load(void **state)
{
	struct meter_fixture *f = *state;
	unsigned mj = 1000;
	char text[128];

	for (int i = 0; i < 12; i++, mj += 25000) {
		snprintf(text, sizeof(text), "gpu GPU-a x\nenergy %u\nbusy 0\n", mj);
		tell(f, text);
		if (i == 0)
			meters_open(f);
		meters_tick(f);
	}
	assert_float_equal(meters_zone(f, "gpu-0", -1)->idle_w, 25, 0.01);
	snprintf(text, sizeof(text), "gpu GPU-a x\nenergy %u\nbusy 90\nuse 7 1 90 0 0\n",
		 mj - 25000 + 200000);
	tell(f, text);
	meters_tick(f);
	assert_int_equal(tw_power_ticked(f->power)->idle_uj[TW_ZONE_GPU], WATTS(25));
	assert_int_equal(used_by(f, 7), WATTS(200));
}

static void a_lost_gpu_is_reported_and_comes_back(void **state)
{
	struct meter_fixture *f = *state;

	tell(f, "gpu GPU-a x\nenergy 1000\ngpu GPU-b y\nenergy 1000\n");
	meters_open(f);
	meters_tick(f);
	tell(f, "gpu GPU-a x\nenergy 1000\nlost\ngpu GPU-b y\nenergy 31000\n");
	meters_tick(f);
	assert_untold(f, "gpu-0", "gpu-0: NVML: GPU is lost");
	assert_true(meters_zone(f, "gpu-1", -1)->fresh);
	assert_int_equal(meters_ticked(f, TW_ZONE_GPU), WATTS(30));
	/* Its counter went on. */
	tell(f, "gpu GPU-a x\nenergy 81000\ngpu GPU-b y\nenergy 61000\n");
	meters_tick(f);
	assert_int_equal(zone_energy(meters_zone(f, "gpu-0", -1)), WATTS(80));
	/* After a reset it has another handle, and its counter begins anew. */
	tell(f, "gpu GPU-b y\nenergy 91000\ngpu GPU-a x\nlife 2\nenergy 10\n");
	meters_tick(f);
	assert_untold(f, "gpu-0", "GPU is lost");
	meters_tick(f);
	assert_untold(f, "gpu-0", "set to another value");
	tell(f, "gpu GPU-b y\nenergy 91000\ngpu GPU-a x\nlife 2\nenergy 40010\n");
	meters_tick(f);
	assert_float_equal(meters_zone(f, "gpu-0", -1)->power_w, 40, 1e-9);
	assert_int_equal(zone_energy(meters_zone(f, "gpu-0", -1)), WATTS(120));
}

static void after_the_driver_was_loaded_again_the_library_begins_anew(void **state)
{
	struct meter_fixture *f = *state;

	tell(f, "gpu GPU-a x\nenergy 1000\n");
	meters_open(f);
	meters_tick(f);
	tell(f, "driver 2\ngpu GPU-a x\nenergy 21000\n");
	meters_tick(f);
	assert_untold(f, "gpu-0", "GPU is lost");
	/* Its counter went on: nothing is lost. */
	tell(f, "driver 2\ngpu GPU-a x\nenergy 31000\n");
	meters_tick(f);
	assert_int_equal(zone_energy(meters_zone(f, "gpu-0", -1)), WATTS(30));
}

static void an_impossible_reading_is_no_energy(void **state)
{
	struct meter_fixture *f = *state;

	tell(f, "gpu GPU-a x\npower 50000\ngpu GPU-b y\nenergy 500000\n");
	meters_open(f);
	meters_tick(f);
	tell(f, "gpu GPU-a x\npower 4294967295\ngpu GPU-b y\n"
		"energy 18446744073709551615\n");
	meters_tick(f);
	assert_untold(f, "gpu-0", "more W than there can be");
	assert_untold(f, "gpu-1", "set to another value");
	tell(f, "gpu GPU-a x\npower 0\ngpu GPU-b y\nenergy 10\n");
	meters_tick(f);
	assert_untold(f, "gpu-0", "0 W");
	assert_untold(f, "gpu-1", "set to another value");
	assert_int_equal(zone_energy(meters_zone(f, "gpu-1", -1)), 0);
}

static void missing_parts_are_reported(void **state)
{
	struct meter_fixture *f = *state;

	f->nvml = "/nonexistent/libnvidia-ml.so.1";
	meters_open(f);
	assert_non_null(strstr(f->passed, "nvml: /nonexistent/libnvidia-ml.so.1"));
	f->nvml = "libc.so.6";
	meters_open(f);
	assert_non_null(strstr(f->passed, "nvml: 'libc.so.6' has no nvmlInit_v2"));
	f->nvml = library;
	meters_open(f);
	assert_non_null(strstr(f->passed, "NVML: Driver Not Loaded"));
	tell(f, "");
	meters_open(f);
	assert_non_null(strstr(f->passed, "nvml: no GPU"));
	tell(f, "gpu GPU-a x\nlost\n");
	meters_open(f);
	assert_non_null(strstr(f->passed, "nvml: GPU 0: NVML: GPU is lost"));
	assert_int_equal(meters_zones(f), 0);
	/* One of two. */
	tell(f, "gpu GPU-a x\nlost\ngpu GPU-b y\nenergy 1\n");
	meters_open(f);
	assert_int_equal(meters_zones(f), 1);
	assert_non_null(meters_zone(f, "gpu-1", -1));
}

static void opening_without_memory_fails(void **state)
{
	struct meter_fixture *f = *state;
	const struct tw_meter_config c = { .roots = &f->roots,
					   .node = &f->node,
					   .nvml = library };

	tell(f, "gpu GPU-a x\nenergy 1\ngpu GPU-b y\nenergy 1\n");
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		void *meter = NULL;
		int rc;

		fail_alloc_at(n);
		rc = tw_meter_nvml.open(&c, &meter, &err);
		if (!fail_alloc_hit()) {
			assert_int_equal(rc, 0);
			tw_meter_nvml.close(meter);
			break;
		}
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, TW_NOMEM);
	}
}

static void the_real_library_reports_plausible_power(void **state)
{
	struct meter_fixture *f = *state;
	const char *required = getenv("TW_REQUIRE");
	const struct tw_power_zone *z;

	f->nvml = NULL;
	meters_open(f);
	if (tw_power_meter(f->power, TW_ZONE_GPU) != &tw_meter_nvml) {
		const char *why = strstr(f->passed, "nvml: ");

		if (required != NULL && strstr(required, "nvidia-gpu") != NULL)
			fail_msg("TW_REQUIRE names 'nvidia-gpu': %s", why);
		printf("SKIPPED: no GPU of NVIDIA: %.*s\n", (int)strcspn(why, "\n"), why);
		skip();
	}
	for (int i = 0; i < 3; i++) {
		sleep(1); /* what is measured is time */
		meters_tick(f);
	}
	z = meters_zone(f, "gpu-0", -1);
	print_message("%s %s: %.1f W\n", z->zone->gpu.model, z->zone->gpu.uuid,
		      z->power_w);
	assert_true(z->fresh);
	assert_true(z->power_w > 1 && z->power_w < 2000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, meters_teardown)
	const struct CMUnitTest tests[] = {
		TEST(gpus_have_energy_or_power_and_their_names),
		TEST(the_energy_counter_of_a_gh200_is_its_modules),
		TEST(a_gh200_without_power_of_its_gpu_is_a_module),
		TEST(energy_goes_to_the_users_of_that_gpu),
		TEST(a_sample_holds_until_the_next_is_due),
		TEST(more_samples_than_there_was_room_for_are_taken),
		TEST(a_divided_gpu_is_by_memory),
		TEST(idle_power_is_by_its_own_load),
		TEST(a_gpu_without_idle_power_is_counted_once),
		TEST(a_lost_gpu_is_reported_and_comes_back),
		TEST(after_the_driver_was_loaded_again_the_library_begins_anew),
		TEST(an_impossible_reading_is_no_energy),
		TEST(missing_parts_are_reported),
		TEST(opening_without_memory_fails),
		TEST(the_real_library_reports_plausible_power),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
