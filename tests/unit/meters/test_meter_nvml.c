/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs by a library that looks like NVIDIA's (tests/fake/nvml.c), and by the real one. */
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/meters/meter_fixture.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/meters/nvml_fixture.h"
#include "tests/unit/tw_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void ticks_that_are_far_apart_lose_no_process(void **state)
{
	struct meter_fixture *f = *state;

	tell(f, "gpu GPU-a x\nenergy 1000\n");
	meters_open(f);
	meters_tick(f);
	tell(f, "gpu GPU-a x\nenergy 51000\nuse 7 1000000 99 0 0\n");
	tw_power_watch(f->power, f->now_ns);
	tell(f, "gpu GPU-a x\nenergy 101000\nuse 8 2000000 99 0 0\n");
	meters_tick(f);
	assert_int_equal(used_by(f, 7), WATTS(50));
	assert_int_equal(used_by(f, 8), WATTS(50));
}

/*
 * An instance counts by its activity and its size, whatever its processes hold; 9 and 10
 * share one. Instance 3 is empty.
 */
static void an_instance_is_by_its_activity(void **state)
{
	struct meter_fixture *f = *state;

	tell(f, "gpu GPU-a x\nenergy 1000\nmig\nslice 1 4 0\nslice 2 2 0\nslice 3 1 0\n"
		"in 1 7\nin 2 9\nin 2 10\n");
	meters_open(f);
	assert_non_null(strstr(meters_zone(f, "gpu-0", -1)->zone->note, "MIG mode"));
	meters_tick(f);
	wait_for_gpm();
	/* 4 x 25 % and 2 x 100 %, each by a power that is not known yet. */
	tell(f, "gpu GPU-a x\nenergy 91000\nmig\nslice 1 4 250\nslice 2 2 1000\n"
		"slice 3 1 0\nin 1 7\nin 2 9\nin 2 10\nnow 1000\n");
	meters_tick(f);
	assert_in_range(used_by(f, 7), WATTS(30) - 9, WATTS(30) + 9);
	assert_in_range(used_by(f, 9), WATTS(30) - 9, WATTS(30) + 9);
	assert_int_equal(used_by(f, 7) + used_by(f, 9) + used_by(f, 10), WATTS(90));
	/* Nobody has used it, but three hold it. */
	wait_for_gpm();
	tell(f, "gpu GPU-a x\nenergy 101000\nmig\nslice 1 4 250\nslice 2 2 1000\n"
		"slice 3 1 0\nin 1 7\nin 2 9\nin 2 10\nnow 2000\n");
	meters_tick(f);
	assert_in_range(used_by(f, 7), WATTS(10) / 3, WATTS(10) / 3 + 1);
	assert_int_equal(used_by(f, 7) + used_by(f, 9) + used_by(f, 10), WATTS(10));
}

static uint64_t dynamic_of(const struct meter_fixture *f, uint32_t tgid)
{
	size_t count;
	const struct tw_use *use = tw_power_uses(f->power, &count);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += use[i].tgid == tgid ? use[i].dynamic_uj : 0;
	return sum;
}

static void assert_near(double is, double should_be, double percent)
{
	if (is < should_be * (1 - percent / 100) || is > should_be * (1 + percent / 100))
		fail_msg("%f J instead of %f J, %.1f %% off", is, should_be,
			 100 * (is / should_be - 1));
}

/*
 * A GPU of 80 W at rest and 120 W awake. Alone, 7 makes it take 300 W more while it works
 * and 8 600 W more. The driver samples 5 times a second who works, at times by chance,
 * and says that all of the GPU worked for it.
 */
struct card {
	double energy_j, truth_j[2], got_j[2];
	unsigned samples;
};

static void tick_card(struct meter_fixture *f, struct card *c, double first,
		      double second)
{
	const double part[2] = { first, second }, takes_w[2] = { 300, 600 };
	const bool held = first + second > 0;
	char text[1024];
	int len;

	c->energy_j += held ? 120 : 80;
	for (int i = 0; i < 2; i++) {
		c->energy_j += part[i] * takes_w[i];
		c->truth_j[i] += part[i] * takes_w[i] + (held ? 20 : 0);
	}
	len = snprintf(text, sizeof(text), "gpu GPU-a x\nenergy %.0f\nbusy %d\n%s",
		       c->energy_j * 1000, (int)(100 * (first + second)),
		       held ? "hold 7 999\nhold 8 1\n" : "");
	for (int i = 0; i < 5 && held; i++) {
		const double at = fmod(++c->samples * 0.6180339887, 1);
		const int who = at * (first + second) < first ? 7 : 8;

		len += snprintf(text + len, sizeof(text) - (size_t)len,
				"use %d %u %d 0 0\n", who, c->samples * 200000,
				(int)(100 * (first + second)));
	}
	tell(f, text);
	if (f->power == NULL)
		meters_open(f);
	meters_tick(f);
	for (int i = 0; i < 2; i++)
		c->got_j[i] += (double)dynamic_of(f, 7 + (unsigned)i) / 1e6;
}

static void two_processes_of_known_activity_are_within_5_percent(void **state)
{
	static const double mixes[][2] = { { 0.6, 0.4 }, { 0.3, 0.3 }, { 0.25, 0.75 } };
	struct meter_fixture *f = *state;
	struct card c = { .energy_j = 1000 };

	for (int i = 0; i < 20; i++)
		tick_card(f, &c, 0, 0);
	for (int i = 0; i < 30; i++)
		tick_card(f, &c, 1e-9, 0);
	for (int i = 0; i < 30; i++)
		tick_card(f, &c, 0.5, 0);
	for (int m = 0; m < 3; m++) {
		c = (struct card){ .energy_j = c.energy_j, .samples = c.samples };
		for (int i = 0; i < 150; i++)
			tick_card(f, &c, mixes[m][0], mixes[m][1]);
		assert_near(c.got_j[0], c.truth_j[0], 5);
		assert_near(c.got_j[1], c.truth_j[1], 5);
	}
}

/*
 * Three instances of 4, 2 and 1 slices, in which work takes 400, 700 and 200 W for the
 * size of the GPU; they are busy in changing parts of the time.
 */
static void instances_of_known_activity_are_within_8_percent(void **state)
{
	static const double size[3] = { 4, 2, 1 }, takes_w[3] = { 400, 700, 200 };
	struct meter_fixture *f = *state;
	double busy_ms[3] = { 0 }, truth_j[3] = { 0 }, got_j[3] = { 0 }, energy_j = 1000;

	for (unsigned i = 0; i < 40; i++) {
		char text[512];

		for (unsigned k = 0; k < 3 && i > 0; k++) {
			const double busy = (double)((i * (7 + 4 * k) + k) % 11) / 10;

			busy_ms[k] += busy * 1000;
			energy_j += busy * takes_w[k] * size[k] / 7;
			truth_j[k] += i >= 20 ? busy * takes_w[k] * size[k] / 7 : 0;
		}
		snprintf(text, sizeof(text),
			 "gpu GPU-a x\nenergy %.0f\nmig\nslice 1 4 %.0f\nslice 2 2 %.0f\n"
			 "slice 5 1 %.0f\nin 1 7\nin 2 8\nin 5 9\nnow %u\n",
			 energy_j * 1000, busy_ms[0], busy_ms[1], busy_ms[2], i * 1000);
		tell(f, text);
		if (i == 0)
			meters_open(f);
		wait_for_gpm();
		meters_tick(f);
		for (unsigned k = 0; k < 3 && i >= 20; k++)
			got_j[k] += (double)dynamic_of(f, 7 + k) / 1e6;
	}
	for (int k = 0; k < 3; k++)
		assert_near(got_j[k], truth_j[k], 8);
}

/* Before Hopper: by size, of instances with processes. */
static void without_gpm_an_instance_is_by_its_size(void **state)
{
	struct meter_fixture *f = *state;

	tell(f, "gpu GPU-a x\nenergy 1000\nmig\nfail gpm 3\nslice 1 4 0\nslice 2 2 0\n"
		"slice 3 1 0\nin 1 7\nin 2 8\n");
	meters_open(f);
	meters_tick(f);
	wait_for_gpm();
	tell(f, "gpu GPU-a x\nenergy 91000\nmig\nfail gpm 3\nslice 1 4 0\nslice 2 2 0\n"
		"slice 3 1 0\nin 1 7\nin 2 8\n");
	meters_tick(f);
	assert_in_range(used_by(f, 7), WATTS(60) - 9, WATTS(60) + 9);
	assert_int_equal(used_by(f, 7) + used_by(f, 8), WATTS(90));
	/* Instances are not told. */
	wait_for_gpm();
	tell(f, "gpu GPU-a x\nenergy 101000\nmig\nfail instances 4\n");
	meters_tick(f);
	assert_int_equal(used_by(f, 7) + used_by(f, 8), 0);
	/* A load that is not told teaches no idle power. */
	assert_float_equal(meters_zone(f, "gpu-0", -1)->idle_w, 0, 0);
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
		snprintf(text, sizeof(text),
			 "gpu GPU-a x\nenergy %llu\nmig\nfail instances 4\n", mj);
		tell(f, text);
		if (i == 0)
			meters_open(f);
		f->now_ns += S;
		tw_power_tick(f->power, f->now_ns, S, i % 2 == 0 ? 0 : 0.5, NULL);
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

	/* Then a process holds it: awake, it takes more. */
	for (int i = 0; i < 40; i++, mj += i < 20 ? 25000 : 68000) {
		snprintf(text, sizeof(text), "gpu GPU-a x\nenergy %u\nbusy 0\n%s", mj,
			 i < 20 ? "" : "hold 7 1\n");
		tell(f, text);
		if (i == 0)
			meters_open(f);
		meters_tick(f);
	}
	assert_float_equal(meters_zone(f, "gpu-0", -1)->idle_w, 25, 0.01);
	assert_int_equal(used_by(f, 7), WATTS(68));
	mj += 25000 - 68000;
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
	const char *library = f->nvml;

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
					   .nvml = f->nvml };

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
	const struct CMUnitTest tests[] = {
		NVML_TEST(gpus_have_energy_or_power_and_their_names),
		NVML_TEST(the_energy_counter_of_a_gh200_is_its_modules),
		NVML_TEST(a_gh200_without_power_of_its_gpu_is_a_module),
		NVML_TEST(energy_goes_to_the_users_of_that_gpu),
		NVML_TEST(more_samples_than_there_was_room_for_are_taken),
		NVML_TEST(ticks_that_are_far_apart_lose_no_process),
		NVML_TEST(an_instance_is_by_its_activity),
		NVML_TEST(without_gpm_an_instance_is_by_its_size),
		NVML_TEST(two_processes_of_known_activity_are_within_5_percent),
		NVML_TEST(instances_of_known_activity_are_within_8_percent),
		NVML_TEST(idle_power_is_by_its_own_load),
		NVML_TEST(a_gpu_without_idle_power_is_counted_once),
		NVML_TEST(a_lost_gpu_is_reported_and_comes_back),
		NVML_TEST(after_the_driver_was_loaded_again_the_library_begins_anew),
		NVML_TEST(an_impossible_reading_is_no_energy),
		NVML_TEST(missing_parts_are_reported),
		NVML_TEST(opening_without_memory_fails),
		NVML_TEST(the_real_library_reports_plausible_power),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
