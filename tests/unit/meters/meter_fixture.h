/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_METER_FIXTURE_H
#define TW_TEST_METER_FIXTURE_H

/* Meters over a tree of a test, through the zones that come of it. */

#include "collector/meters/meter.h"
#include "collector/power/node.h"
#include "collector/power/power.h"
#include "collector/system/roots.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define S UINT64_C(1000000000)
#define RANGE 262143328850ull
#define CAP "class/powercap/"
#define WATTS(w) ((unsigned long long)(w)*1000000)

struct meter_fixture {
	char *dir; /* all roots */
	struct tw_roots roots;
	struct tw_node node;
	const char *nvml, *amdsmi; /* of the machine's, none is used */
	struct tw_power *power;
	char passed[4096]; /* why meters were passed over last, a line each */
	uint64_t now_ns;
};

/* For cmocka: *state is a struct meter_fixture. */
int meters_setup(void **state);
int meters_teardown(void **state);
#define METER_TEST(name) \
	cmocka_unit_test_setup_teardown(name, meters_setup, meters_teardown)

/* All that there are; again: those from before are closed. */
void meters_open(struct meter_fixture *f);

/* The path of a library of tests/fake, which lies beside the tests' programs. */
void meters_fake(char *path, size_t size, const char *name);

/* A second later, at half load. */
void meters_tick(struct meter_fixture *f);

/* By name and package; the first of its name: package -2. NULL: none. */
const struct tw_power_zone *meters_zone(const struct meter_fixture *f, const char *name,
					int package);
size_t meters_zones(const struct meter_fixture *f);

uint64_t zone_energy(const struct tw_power_zone *z);

/* Of all zones of a kind, in uJ. */
uint64_t meters_ticked(const struct meter_fixture *f, enum tw_zone_kind kind);

/* It is not told, and why has that text. */
void assert_untold(const struct meter_fixture *f, const char *name, const char *why);

/* A socket of powercap: package, core (half of uj), dram (a tenth). */
void write_socket(const struct meter_fixture *f, int socket, unsigned long long uj);

/*
 * Whether check, run in a child that is not root, says so. What the tree has is readable
 * for all unless the test has changed that.
 */
bool holds_for_nobody(struct meter_fixture *f, bool (*check)(struct meter_fixture *f));

#endif /* TW_TEST_METER_FIXTURE_H */
