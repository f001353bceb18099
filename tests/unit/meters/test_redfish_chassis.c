/* SPDX-License-Identifier: Apache-2.0 */
/* Which chassis and sensors are the machine. */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "collector/ask/redfish_client.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/meters/scripted_bmc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	bmc_assert_fails(&r, TW_INVALID,
			 "no chassis is outermost: all of them contain each other");
}

static void a_placeholder_of_0_w_hides_no_other_source(void **state)
{
	static const char *const zeros[] = { "0", "-1", "4294967295" };
	char zero[64];
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	for (size_t i = 0; i < TW_COUNT(zeros); i++) {
		bmc_set_up(&b, &r);
		snprintf(zero, sizeof(zero), READS("%s"), zeros[i]);
		bmc_add(&b, CHASSIS "/1", 200,
			OF("1", "RackMount") ",\"Power\":" LINK(
				CHASSIS
				"/1/Power") ",\"EnvironmentMetrics\":" LINK(CHASSIS
									    "/1/E") "}");
		bmc_add(&b, CHASSIS "/1/E", 200, zero);
		bmc_assert_one(&r, "1", 100);
		assert_int_equal(r.source[0].type, TW_REDFISH_POWER);
		/* Where all are, the most trusted one is read. */
		bmc_add(&b, CHASSIS "/1/Power", 200, WATTS("0"));
		bmc_assert_one(&r, "1", strtod(zeros[i], NULL));
		assert_int_equal(r.source[0].type, TW_REDFISH_METRICS);
	}
}

#define OUTER(type) OF("out", type) ",\"EnvironmentMetrics\":" LINK(CHASSIS "/out/E") "}"

/* The outer one of two chassis. */
static void add_outer(struct bmc *b, const char *outer)
{
	bmc_add(b, CHASSIS, 200,
		"{\"Members\":[" LINK(CHASSIS "/out") "," LINK(CHASSIS "/in") "]}");
	bmc_add(b, CHASSIS "/out", 200, outer);
}

static void a_chassis_of_0_w_around_another_one_hides_it_not(void **state)
{
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	bmc_set_up(&b, &r);
	add_outer(&b, OUTER("RackMount"));
	bmc_add(&b, CHASSIS "/in", 200,
		OF("in", "Sled") ",\"EnvironmentMetrics\":" LINK(
			CHASSIS
			"/in/E") ",\"Links\":{\"ContainedBy\":" LINK(CHASSIS "/out") "}"
										     "}");
	bmc_add(&b, CHASSIS "/out/E", 200, READS("0"));
	bmc_add(&b, CHASSIS "/in/E", 200, READS("300"));
	bmc_assert_one(&r, "in", 300);
	assert_int_equal(r.skipped, 1);
	bmc_add(&b, CHASSIS "/out/E", 200, READS("900"));
	bmc_assert_one(&r, "out", 900);
	assert_int_equal(r.skipped, 0);
}

/* By their types: "a single-system chassis", "plugged into a multi-system chassis". */
static void an_enclosure_of_a_machine_s_chassis_is_not_the_machine(void **state)
{
	static const struct {
		const char *outer, *inner, *wanted;
		double watts;
	} cases[] = {
		{ OUTER("Enclosure"), "Blade", "in", 300 },
		{ OUTER("Enclosure"), "RackMount", "in", 300 },
		{ OUTER("Enclosure"), "StorageEnclosure", "out", 900 },
		{ OUTER("Enclosure"), "Module", "out", 900 },
		{ OUTER("RackMount"), "Sled", "out", 900 },
		{ OUTER("RackMount"), "RackMount", "out", 900 },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		char inner[512], outer[512];
		struct tw_redfish r;
		struct bmc b;

		/* Only the outer one says so. */
		bmc_set_up(&b, &r);
		snprintf(inner, sizeof(inner),
			 "{\"Id\":\"in\",\"ChassisType\":\"%s\","
			 "\"EnvironmentMetrics\":" LINK(CHASSIS "/in/E") "}",
			 cases[i].inner);
		snprintf(outer, sizeof(outer),
			 "%.*s,\"Links\":{\"Contains\":[" LINK(CHASSIS "/in/") "]}}",
			 (int)strlen(cases[i].outer) - 1, cases[i].outer);
		add_outer(&b, outer);
		bmc_add(&b, CHASSIS "/in", 200, inner);
		bmc_add(&b, CHASSIS "/out/E", 200, READS("900"));
		bmc_add(&b, CHASSIS "/in/E", 200, READS("300"));
		bmc_assert_one(&r, cases[i].wanted, cases[i].watts);
	}
}

/* Of a tower of chassis, each around the one behind it. */
static void enclosures_of_any_depth_are_not_the_machine(void **state)
{
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	bmc_set_up(&b, &r);
	bmc_add(&b, CHASSIS, 200,
		"{\"Members\":[" LINK(CHASSIS "/out") "," LINK(CHASSIS "/mid") "," LINK(
			CHASSIS "/in") "]}");
	bmc_add(&b, CHASSIS "/out", 200, OUTER("Enclosure"));
	bmc_add(&b, CHASSIS "/mid", 200,
		OF("mid",
		   "Enclosure") ",\"Links\":{\"ContainedBy\":" LINK(CHASSIS "/out") "}}");
	bmc_add(&b, CHASSIS "/in", 200,
		OF("in", "Blade") ",\"EnvironmentMetrics\":" LINK(
			CHASSIS
			"/in/E") ",\"Links\":{\"ContainedBy\":" LINK(CHASSIS
								     "/mid") "}}");
	bmc_add(&b, CHASSIS "/out/E", 200, READS("900"));
	bmc_add(&b, CHASSIS "/in/E", 200, READS("300"));
	bmc_assert_one(&r, "in", 300);
}

/* Two chassis that nothing relates: a chassis of one machine has all of it. */
static void a_chassis_of_one_machine_counts_without_those_beside_it(void **state)
{
	static const char *const types[] = { "Sled", "Enclosure", "StorageEnclosure",
					     "Other" };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(types); i++) {
		char beside[256];
		struct tw_redfish r;
		struct bmc b;

		bmc_set_up(&b, &r);
		add_outer(&b, OUTER("RackMount"));
		snprintf(beside, sizeof(beside),
			 "{\"Id\":\"in\",\"ChassisType\":\"%s\","
			 "\"EnvironmentMetrics\":" LINK(CHASSIS "/in/E") "}",
			 types[i]);
		bmc_add(&b, CHASSIS "/in", 200, beside);
		bmc_add(&b, CHASSIS "/out/E", 200, READS("900"));
		bmc_add(&b, CHASSIS "/in/E", 200, READS("300"));
		bmc_assert_one(&r, "out", 900);
	}
}

static void a_sensor_of_a_part_is_read_where_nothing_else_reports(void **state)
{
	static const char cpu[] = "{\"PowerWatts\":{\"Reading\":86,\"DataSourceUri\":"
				  "\"/redfish/v1/Chassis/1/Sensors/CPU0_Power\"}}";
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	bmc_set_up(&b, &r);
	bmc_add(&b, CHASSIS "/1", 200,
		OF("1", "RackMount") ",\"Power\":" LINK(
			CHASSIS
			"/1/Power") ",\"EnvironmentMetrics\":" LINK(CHASSIS "/1/E") "}");
	bmc_add(&b, CHASSIS "/1/E", 200, cpu);
	bmc_assert_one(&r, "1", 100);
	bmc_add(&b, CHASSIS "/1/Power", 404, "{}");
	bmc_assert_one(&r, "1", 86);
}

/* A controller that starts has no power yet, but its boards may. */
static void a_board_is_read_until_its_chassis_reports(void **state)
{
	static const char board[] =
		"{\"Id\":\"in\",\"ChassisType\":\"Card\","
		"\"Power\":\"" CHASSIS "/in/P\","
		"\"Links\":{\"ComputerSystems\":[\"/redfish/v1/Systems/1\"]}}";
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	bmc_set_up(&b, &r);
	add_outer(&b, OUTER("RackMount"));
	bmc_add(&b, CHASSIS "/in", 200, board);
	bmc_add(&b, CHASSIS "/in/P", 200,
		"{\"PowerControl\":[{\"PowerConsumedWatts\":124}]}");
	bmc_add(&b, CHASSIS "/out/E", 503, "{}");
	bmc_assert_one(&r, "in", 124);
	assert_int_equal(r.skipped, 1);
	bmc_add(&b, CHASSIS "/out/E", 200, READS("300"));
	bmc_assert_one(&r, "out", 300);
	assert_int_equal(r.skipped, 0);
}

/* The host's chassis, and the tray of its GPUs, as on a DGX H100. */
static void add_dgx(struct bmc *b)
{
	bmc_add(b, CHASSIS, 200,
		"{\"Members\":[" LINK(CHASSIS "/HGX_Chassis_0") "," LINK(CHASSIS
									 "/D") "]}");
	bmc_add(b, CHASSIS "/D", 200,
		OF("D", "Other") ",\"Power\":" LINK(
			CHASSIS "/1/Power") ",\"Sensors\":" LINK(CHASSIS "/D/S") "}");
	bmc_add(b, CHASSIS "/1/Power", 200,
		"{\"PowerControl\":[{\"PowerMetrics\":{\"AverageConsumedWatts\":0,"
		"\"IntervalInMin\":0}}]}");
	bmc_add(b, CHASSIS "/D/S", 200,
		"{\"Members\":[" LINK(CHASSIS "/D/S/PWR_PSU0") "," LINK(
			CHASSIS
			"/D/S/PWR_SYSTEM") "," LINK(CHASSIS "/D/S/TEMP_SYSTEM") "]"
										"}");
	bmc_add(b, CHASSIS "/D/S/PWR_PSU0", 200,
		"{\"ReadingType\":\"Power\",\"Reading\":351}");
	bmc_add(b, CHASSIS "/D/S/PWR_SYSTEM", 200,
		"{\"ReadingType\":\"Power\",\"Reading\":1950}");
	bmc_add(b, CHASSIS "/HGX_Chassis_0", 200,
		OF("HGX_Chassis_0",
		   "Zone") ",\"EnvironmentMetrics\":" LINK(CHASSIS "/H/E") "}");
	bmc_add(b, CHASSIS "/H/E", 200, READS("825.38"));
}

static void a_tray_of_gpus_is_not_the_machine(void **state)
{
	char *tray[] = { (char[]){ "HGX_Chassis_0" } };
	const struct tw_strs named = { .at = tray, .count = 1 };
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	bmc_set_up(&b, &r);
	add_dgx(&b);
	bmc_assert_one(&r, "D", 1950);
	assert_string_equal(r.source[0].path, CHASSIS "/D/S/PWR_SYSTEM");
	/* Whatever its type is. */
	bmc_add(&b, CHASSIS "/HGX_Chassis_0", 200,
		OF("HGX_Chassis_0",
		   "RackMount") ",\"EnvironmentMetrics\":" LINK(CHASSIS "/H/E") "}");
	bmc_assert_one(&r, "D", 1950);
	/* Two sensors of the whole: neither is known to be the machine. */
	bmc_add(&b, CHASSIS "/D/S", 200,
		"{\"Members\":[" LINK(CHASSIS "/D/S/PWR_SYSTEM") "," LINK(
			CHASSIS "/D/S/total_power") "]}");
	bmc_add(&b, CHASSIS "/D/S/total_power", 200,
		"{\"ReadingType\":\"Power\",\"Reading\":1900}");
	bmc_assert_one(&r, "D", 0);
	r.config.chassis = &named;
	bmc_assert_one(&r, "HGX_Chassis_0", 825.38);
}

/* Two chassis that report, 1 (100 W) and 2 (900 W), and the systems A and B. */
static void add_systems(struct bmc *b, const char *links_of_2, const char *a,
			const char *system_b)
{
	bmc_add(b, V1, 200,
		"{\"Chassis\":" LINK(CHASSIS) ",\"Systems\":" LINK(V1 "Systems") "}");
	bmc_add(b, V1 "Systems", 200,
		"{\"Members\":[" LINK(V1 "Systems/A") "," LINK(V1 "Systems/B") "]}");
	bmc_add(b, V1 "Systems/A", 200, a);
	bmc_add(b, V1 "Systems/B", system_b[0] != '\0' ? 200 : 500, system_b);
	bmc_add(b, CHASSIS, 200,
		"{\"Members\":[" LINK(CHASSIS "/2") "," LINK(CHASSIS "/1") "]}");
	bmc_add(b, CHASSIS "/2", 200, links_of_2);
	bmc_add(b, CHASSIS "/2/E", 200, READS("900"));
}

#define HAS(chassis) "{\"Links\":{\"Chassis\":[" LINK(CHASSIS chassis) "]}}"
#define TWO(links)           \
	OF("2", "RackMount") \
	",\"EnvironmentMetrics\":" LINK(CHASSIS "/2/E") ",\"Links\":{" links "}}"
#define RACK            \
	OF("2", "Rack") \
	",\"EnvironmentMetrics\":" LINK(CHASSIS "/2/E") ",\"Links\":{" OF_B "}}"
#define OF_B "\"ComputerSystems\":[" LINK(V1 "Systems/B") "]"

static void the_chassis_of_the_system_is_the_machine(void **state)
{
	static const char silent[] = "{}", rack[] = OF("2", "Rack") "}";
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	/* Linked from the system: the other is an enclosure around, or beside it. */
	bmc_set_up(&b, &r);
	add_systems(&b, TWO(""), HAS("/1/"), silent);
	bmc_assert_one(&r, "1", 100);
	/* An enclosure that contains it. */
	bmc_add(&b, CHASSIS "/1", 200,
		OF("1", "Blade") ",\"Power\":" LINK(
			CHASSIS
			"/1/Power") ",\"Links\":{\"ContainedBy\":" LINK(CHASSIS
									"/2") "}}");
	bmc_assert_one(&r, "1", 100);
	/* Where it reports nothing, the others do. */
	bmc_add(&b, CHASSIS "/1/Power", 200, "{}");
	bmc_assert_one(&r, "2", 900);
	/* A tray of another system that is not a machine. */
	bmc_set_up(&b, &r);
	add_systems(&b, TWO(OF_B), HAS("/1"), "{\"SystemType\":\"DPU\"}");
	bmc_assert_one(&r, "1", 100);
	bmc_add(&b, CHASSIS "/1/Power", 200, "{}");
	assert_int_equal(tw_redfish_connect(&r, &(struct tw_err){ 0 }), -1);
	/* Two machines behind one controller: which of them this is, nobody knows. */
	bmc_set_up(&b, &r);
	add_systems(&b, TWO(OF_B), HAS("/1"), "");
	bmc_assert_fails(
		&r, TW_INVALID,
		"the controller has several machines: choose by --redfish-chassis");
	/* A rack is not a machine, nor is one around a chassis. */
	bmc_set_up(&b, &r);
	add_systems(&b, rack, silent, silent);
	bmc_assert_one(&r, "1", 100);
	bmc_set_up(&b, &r);
	add_systems(&b, RACK, silent, silent);
	bmc_add(&b, CHASSIS "/1", 200,
		OF("1", "Sled") ",\"Power\":" LINK(
			CHASSIS
			"/1/Power") ",\"Links\":{\"ContainedBy\":" LINK(CHASSIS
									"/2/") "}}");
	bmc_assert_one(&r, "1", 100);
	/* Cisco's servers have this type. */
	bmc_set_up(&b, &r);
	add_systems(&b, RACK, silent, silent);
	bmc_assert_one(&r, "2", 900);
	bmc_add(&b, CHASSIS "/1", 200,
		OF("1",
		   "Component") ",\"Links\":{\"ContainedBy\":" LINK(CHASSIS "/2") "}}");
	bmc_assert_one(&r, "2", 900);
}

/* The chassis 1 and 2, with these members and powers. */
static void the_chassis_of_a_machine_count_once(void **state)
{
	static const struct {
		const char *one, *two, *power_one, *power_two;
		size_t sources; /* 0: refused */
	} cases[] = {
		{ ",\"SerialNumber\":\"A\"", ",\"SerialNumber\":\"A\"", "400", "419", 1 },
		{ ",\"SerialNumber\":\"A\"", ",\"SerialNumber\":\"B\"", "400", "400", 0 },
		{ ",\"SerialNumber\":\"A\"", ",\"SerialNumber\":\"B\"", "400", "900", 2 },
		{ ",\"SerialNumber\":\"A\"", ",\"SerialNumber\":\"A\"", "400", "900", 0 },
		{ ",\"SerialNumber\":\"A\"", "", "400", "400", 0 },
		{ "", ",\"SerialNumber\":\"A\"", "400", "400", 0 },
		{ "", "", "400", "381", 0 },
		{ "", "", "400", "379", 2 },
		{ "", "", "0", "0", 2 },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		char doc[2][256], power[2][64];
		struct tw_err err = { 0 };
		struct tw_redfish r;
		struct bmc b;

		snprintf(doc[0], sizeof(doc[0]),
			 OF("1", "RackMount") "%s,\"EnvironmentMetrics\":" LINK(
				 CHASSIS "/1/E") "}",
			 cases[i].one);
		snprintf(doc[1], sizeof(doc[1]),
			 OF("2", "RackMount") "%s,\"EnvironmentMetrics\":" LINK(
				 CHASSIS "/2/E") "}",
			 cases[i].two);
		snprintf(power[0], sizeof(power[0]), READS("%s"), cases[i].power_one);
		snprintf(power[1], sizeof(power[1]), READS("%s"), cases[i].power_two);
		bmc_set_up(&b, &r);
		bmc_add(&b, CHASSIS, 200,
			"{\"Members\":[" LINK(CHASSIS "/1") "," LINK(CHASSIS "/2") "]}");
		bmc_add(&b, CHASSIS "/1", 200, doc[0]);
		bmc_add(&b, CHASSIS "/2", 200, doc[1]);
		bmc_add(&b, CHASSIS "/1/E", 200, power[0]);
		bmc_add(&b, CHASSIS "/2/E", 200, power[1]);
		if (cases[i].sources == 0) {
			bmc_assert_fails(&r, TW_INVALID,
					 "1 and 2 may be the same: choose by "
					 "--redfish-chassis");
			continue;
		}
		assert_int_equal(tw_redfish_connect(&r, &err), 0);
		assert_int_equal(r.sources, cases[i].sources);
		assert_string_equal(r.source[0].id, "1");
	}
}

static void a_resource_counts_once(void **state)
{
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	bmc_set_up(&b, &r);
	bmc_add(&b, CHASSIS, 200,
		"{\"Members\":[" LINK(CHASSIS "/1") "," LINK(CHASSIS "/1/") "," LINK(
			CHASSIS "/2") "]}");
	bmc_add(&b, CHASSIS "/2", 200,
		OF("2", "RackMount") ",\"Power\":" LINK(CHASSIS "/1/Power") "}");
	bmc_assert_one(&r, "1", 100);
}

static void modules_with_sensors_are_read_where_they_are_named(void **state)
{
	char *only[] = { (char[]){ "M_0" } };
	const struct tw_strs named = { .at = only, .count = 1 };
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	bmc_set_up(&b, &r);
	bmc_add(&b, CHASSIS, 200, "{\"Members\":[" LINK(CHASSIS "/M_0") "]}");
	bmc_add(&b, CHASSIS "/M_0", 200,
		OF("M_0", "Module") ",\"Sensors\":" LINK(CHASSIS "/M_0/S") "}");
	bmc_add(&b, CHASSIS "/M_0/S", 200,
		"{\"Members\":[" LINK(CHASSIS "/M_0/S/Energy_0") "," LINK(
			CHASSIS "/M_0/S/Power_0") "]}");
	bmc_add(&b, CHASSIS "/M_0/S/Energy_0", 200,
		"{\"ReadingType\":\"EnergyJoules\",\"Reading\":1589714}");
	bmc_add(&b, CHASSIS "/M_0/S/Power_0", 200,
		"{\"ReadingType\":\"Power\",\"Reading\":165.8}");
	bmc_assert_fails(
		&r, TW_NOTFOUND,
		"no chassis reports power, only parts have sensors: choose some by "
		"--redfish-chassis");
	r.config.chassis = &named;
	bmc_assert_one(&r, "M_0", 165.8);
}

static void the_only_sensor_counts_unless_its_name_is_of_a_part(void **state)
{
	static const struct {
		const char *sensor;
		bool machine;
	} cases[] = {
		{ "Power", true },
		{ "input_power", true },
		{ "27", true },
		{ "PWR_SYSTEM_0", true },
		{ "PS1_Input_Power", false },
		{ "P12V_PWR", false },
		{ "HSC_0_Pwr", false },
		{ "PSU_Power", false },
		{ "AUX_PWR", false },
	};
	const char *only[] = { "1" };
	const struct tw_strs chosen = { .at = (char **)(uintptr_t)only, .count = 1 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		char path[128], list[192];
		struct tw_redfish r;
		struct bmc b;

		bmc_set_up(&b, &r);
		bmc_add(&b, CHASSIS "/1", 200,
			OF("1", "RackMount") ",\"Sensors\":" LINK(CHASSIS "/1/S") "}");
		snprintf(path, sizeof(path), CHASSIS "/1/S/%s", cases[i].sensor);
		snprintf(list, sizeof(list), "{\"Members\":[\"%s\"]}", path);
		bmc_add(&b, CHASSIS "/1/S", 200, list);
		bmc_add(&b, path, 200, "{\"ReadingType\":\"Power\",\"Reading\":160}");
		if (cases[i].machine)
			bmc_assert_one(&r, "1", 160);
		else
			bmc_assert_fails(&r, TW_NOTFOUND,
					 NONE
					 ": 1: 0 of its sensors measure its power, want "
					 "one");
		r.config.chassis = &chosen;
		bmc_assert_one(&r, "1", 160);
	}
}

/* Which of several would measure the machine once it is on, nobody knows. */
static void a_sensor_of_a_machine_that_is_off_has_0_w(void **state)
{
	static const struct {
		const char *one, *two;
		const char *why; /* NULL: the first sensor is read */
	} cases[] = {
		{ "0", NULL, NULL },
		{ "0", "0", NONE ": 1: 0 of its sensors measure its power, want one" },
		{ "160", "0", NULL },
		{ "160", "150",
		  NONE ": 1: 2 of its sensors measure its power, want one" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const char *const readings[] = { cases[i].one, cases[i].two };
		static const char *const names[] = { CHASSIS "/1/S/Power",
						     CHASSIS "/1/S/input_power" };
		char text[2][64];
		struct tw_redfish r;
		struct bmc b;

		bmc_set_up(&b, &r);
		bmc_add(&b, CHASSIS "/1", 200,
			OF("1", "RackMount") ",\"Sensors\":" LINK(CHASSIS "/1/S") "}");
		bmc_add(&b, CHASSIS "/1/S", 200,
			cases[i].two == NULL ? "{\"Members\":[\"" CHASSIS "/1/S/Power\"]}"
					     : "{\"Members\":[\"" CHASSIS
					       "/1/S/Power\",\"" CHASSIS
					       "/1/S/input_power\"]}");
		for (size_t k = 0; k < 2 && readings[k] != NULL; k++) {
			snprintf(text[k], sizeof(text[k]),
				 "{\"ReadingType\":\"Power\",\"Reading\":%s}",
				 readings[k]);
			bmc_add(&b, names[k], 200, text[k]);
		}
		if (cases[i].why == NULL)
			bmc_assert_one(&r, "1", strtod(cases[i].one, NULL));
		else
			bmc_assert_fails(&r, TW_NOTFOUND, cases[i].why);
	}
}

/* Temperatures and others: eight are looked at. */
static void a_sensor_is_looked_for_among_eight(void **state)
{
	(void)state;
	for (int count = 8; count <= 9; count++) {
		char list[1024] = "{\"Members\":[";
		struct tw_redfish r;
		struct bmc b;

		bmc_set_up(&b, &r);
		bmc_add(&b, CHASSIS "/1", 200,
			OF("1", "RackMount") ",\"Sensors\":" LINK(CHASSIS "/1/S") "}");
		for (int i = 1; i <= count; i++)
			snprintf(list + strlen(list), sizeof(list) - strlen(list),
				 "%s\"" CHASSIS "/1/S/%d\"%s", i > 1 ? "," : "", i,
				 i == count ? "]}" : "");
		bmc_add(&b, CHASSIS "/1/S", 200, list);
		bmc_add(&b, CHASSIS "/1/S/8", 200,
			"{\"ReadingType\":\"Power\",\"Reading\":160}");
		if (count == 8)
			bmc_assert_one(&r, "1", 160);
		else
			bmc_assert_fails(&r, TW_NOTFOUND,
					 NONE ": 1: 9 sensors: too many to look for that "
					      "of the chassis");
	}
}

/* Two calls without an answer hide nothing; with the third one the controller is lost. */
static void a_search_ends_with_the_third_call_without_an_answer(void **state)
{
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	bmc_set_up(&b, &r);
	add_systems(&b, TWO(""), HAS("/1"), "{}");
	bmc_add(&b, V1 "Systems/B", 0, "no route");
	bmc_add(&b, CHASSIS, 200,
		"{\"Members\":[" LINK(CHASSIS "/3") "," LINK(CHASSIS "/2") "," LINK(
			CHASSIS "/1") "]}");
	bmc_add(&b, CHASSIS "/3", 0, "no route");
	bmc_assert_one(&r, "1", 100);
	bmc_add(&b, V1 "Systems/A", 0, "no route");
	bmc_assert_fails(&r, TW_IO, "no route");
}

/* The type Other is any: a machine, or a board in one. */
static void chassis_that_may_contain_each_other_are_not_summed(void **state)
{
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	bmc_set_up(&b, &r);
	bmc_add(&b, CHASSIS, 200,
		"{\"Members\":[" LINK(CHASSIS "/B") "," LINK(CHASSIS "/1") "]}");
	bmc_add(&b, CHASSIS "/B", 200,
		OF("B", "Other") ",\"EnvironmentMetrics\":" LINK(CHASSIS "/B/E") "}");
	bmc_add(&b, CHASSIS "/B/E", 200, READS("50"));
	bmc_assert_one(&r, "1", 100);
	bmc_add(&b, CHASSIS "/1", 200,
		"{\"Id\":\"1\",\"Power\":" LINK(CHASSIS "/1/Power") "}");
	bmc_assert_fails(&r, TW_INVALID,
			 "B and 1 may contain each other: choose by --redfish-chassis");
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
		add_dgx(&b);
		fail_alloc_at(n);
		rc = tw_redfish_connect(&r, &err);
		if (!fail_alloc_told(rc, &err))
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_outermost_chassis_with_a_reading_counts),
		cmocka_unit_test(chassis_around_each_other_are_refused),
		cmocka_unit_test(the_chassis_of_the_system_is_the_machine),
		cmocka_unit_test(the_chassis_of_a_machine_count_once),
		cmocka_unit_test(a_resource_counts_once),
		cmocka_unit_test(a_placeholder_of_0_w_hides_no_other_source),
		cmocka_unit_test(a_chassis_of_0_w_around_another_one_hides_it_not),
		cmocka_unit_test(an_enclosure_of_a_machine_s_chassis_is_not_the_machine),
		cmocka_unit_test(a_chassis_of_one_machine_counts_without_those_beside_it),
		cmocka_unit_test(a_sensor_of_a_part_is_read_where_nothing_else_reports),
		cmocka_unit_test(a_board_is_read_until_its_chassis_reports),
		cmocka_unit_test(a_tray_of_gpus_is_not_the_machine),
		cmocka_unit_test(modules_with_sensors_are_read_where_they_are_named),
		cmocka_unit_test(the_only_sensor_counts_unless_its_name_is_of_a_part),
		cmocka_unit_test(enclosures_of_any_depth_are_not_the_machine),
		cmocka_unit_test(a_sensor_of_a_machine_that_is_off_has_0_w),
		cmocka_unit_test(a_sensor_is_looked_for_among_eight),
		cmocka_unit_test(a_search_ends_with_the_third_call_without_an_answer),
		cmocka_unit_test(chassis_that_may_contain_each_other_are_not_summed),
		cmocka_unit_test(without_memory_it_fails_and_leaks_nothing),
	};

	return cmocka_run_group_tests_name("redfish_chassis", tests, NULL, NULL);
}
