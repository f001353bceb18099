/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of power supplies, where a controller tells nothing else. */
#include "tests/unit/tw_test.h"

#include "collector/ask/redfish_client.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/meters/scripted_bmc.h"

#include <math.h>
#include <stdio.h>

#define PSU CHASSIS "/1/PowerSubsystem"
#define BAY PSU "/PowerSupplies/"

/* A chassis of today without EnvironmentMetrics: two supplies, and a bay without one. */
static void add_supplies(struct bmc *b)
{
	bmc_add(b, CHASSIS "/1", 200, "{\"Id\":\"1\",\"PowerSubsystem\":" LINK(PSU) "}");
	bmc_add(b, PSU, 200, "{\"PowerSupplies\":" LINK(PSU "/PowerSupplies") "}");
	bmc_add(b, PSU "/PowerSupplies", 200,
		"{\"Members\":[" LINK(BAY "1") "," LINK(BAY "2") "," LINK(BAY "3") "]}");
	bmc_add(b, BAY "1", 200, "{\"Metrics\":" LINK(BAY "1/Metrics") "}");
	bmc_add(b, BAY "2", 200, "{\"Metrics\":" LINK(BAY "2/Metrics") "}");
	bmc_add(b, BAY "3", 200, "{\"Status\":{\"State\":\"Absent\"}}");
	bmc_add(b, BAY "1/Metrics", 200,
		"{\"InputPowerWatts\":{\"Reading\":100.5},\"EnergykWh\":{\"Reading\":1}"
		"}");
	bmc_add(b, BAY "2/Metrics", 200, "{\"InputPowerWatts\":{\"Reading\":50}}");
}

static void assert_reads(struct tw_redfish *r, double watts)
{
	struct tw_redfish_power power;
	struct tw_err err = { 0 };

	if (tw_redfish_read(r, &r->source[0], &power, &err) < 0)
		fail_msg("%s", err.text);
	assert_float_equal(power.power_w, watts, 0);
}

static void assert_reads_not(struct tw_redfish *r, const char *why)
{
	struct tw_redfish_power power;
	struct tw_err err = { 0 };

	assert_int_equal(tw_redfish_read(r, &r->source[0], &power, &err), -1);
	assert_string_equal(err.text, why);
}

static void supplies_add_up_where_nothing_else_reports_power(void **state)
{
	struct tw_err err = { 0 };
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	bmc_set_up(&b, &r);
	add_supplies(&b);
	assert_int_equal(tw_redfish_connect(&r, &err), 0);
	assert_int_equal(r.sources, 1);
	assert_int_equal(r.source[0].type, TW_REDFISH_SUBSYSTEM);
	assert_string_equal(r.source[0].path, PSU);
	assert_reads(&r, 150.5);
	/* One that is put in counts at once, one that does not tell makes a gap. */
	bmc_add(&b, BAY "3", 200, "{\"Metrics\":" LINK(BAY "3/Metrics") "}");
	assert_reads_not(&r, BAY "3/Metrics answers 404");
	bmc_add(&b, BAY "3/Metrics", 200, "{\"InputPowerWatts\":{\"Reading\":50}}");
	assert_reads(&r, 200.5);
	bmc_add(&b, BAY "3/Metrics", 200, "{\"EnergykWh\":{\"Reading\":50}}");
	assert_reads_not(&r, PSU ": the supplies report different quantities");
	bmc_add(&b, PSU "/PowerSupplies", 200, "{\"Members\":[]}");
	assert_reads_not(&r, PSU ": no power supply is present");
}

static void energy_that_all_supplies_count_is_a_reading(void **state)
{
	struct tw_redfish_power power;
	struct tw_err err = { 0 };
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	bmc_set_up(&b, &r);
	add_supplies(&b);
	bmc_add(&b, BAY "2/Metrics", 200, "{\"EnergykWh\":{\"Reading\":3}}");
	assert_int_equal(tw_redfish_connect(&r, &err), 0);
	assert_int_equal(tw_redfish_read(&r, &r.source[0], &power, &err), 0);
	assert_true(isnan(power.power_w));
	assert_float_equal(power.energy_j, 4 * 3.6e6, 0);
}

/* A supply that is listed twice counts once. */
static void a_chassis_has_sixteen_supplies_at_most(void **state)
{
	static char path[TW_REDFISH_SUPPLIES_MAX + 1][sizeof(BAY) + 16];
	struct tw_err err = { 0 };
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	bmc_set_up(&b, &r);
	add_supplies(&b);
	assert_int_equal(tw_redfish_connect(&r, &err), 0);
	for (int i = 0; i <= TW_REDFISH_SUPPLIES_MAX; i++) {
		snprintf(path[i], sizeof(path[i]), BAY "n%d", i);
		bmc_add(&b, path[i], 200, "{\"Metrics\":" LINK(BAY "1/Metrics") "}");
	}
	for (int more = 0; more < 2; more++) {
		struct tw_buf members = { 0 };

		tw_buf_addf(&members, "{\"Members\":[\"%s\"", path[0]);
		for (int i = 0; i < TW_REDFISH_SUPPLIES_MAX + more; i++)
			tw_buf_addf(&members, ",\"%s\"", path[i]);
		tw_buf_adds(&members, "]}");
		bmc_add(&b, PSU "/PowerSupplies", 200, members.data);
		if (more == 0)
			assert_reads(&r, TW_REDFISH_SUPPLIES_MAX * 100.5);
		else
			assert_reads_not(&r, PSU ": more than 16 supplies");
		tw_buf_clear(&members);
	}
}

/* One lost its mains, one stands by: they have no reading, or a small one. */
static void a_supply_without_input_makes_no_gap(void **state)
{
	struct tw_err err = { 0 };
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	bmc_set_up(&b, &r);
	add_supplies(&b);
	bmc_add(&b, BAY "2", 200,
		"{\"LineInputStatus\":\"LossOfInput\",\"Status\":{\"State\":"
		"\"UnavailableOffline\"},\"Metrics\":" LINK(BAY "2/Metrics") "}");
	bmc_add(&b, BAY "2/Metrics", 200,
		"{\"InputPowerWatts\":{\"Reading\":null},\"EnergykWh\":{\"Reading\":3}}");
	bmc_add(&b, BAY "3", 200, "{\"Status\":{\"State\":\"StandbySpare\"}}");
	assert_int_equal(tw_redfish_connect(&r, &err), 0);
	assert_reads(&r, 100.5);
	bmc_add(&b, BAY "2/Metrics", 404, "{}");
	assert_reads(&r, 100.5);
	bmc_add(&b, BAY "2/Metrics", 200, "{\"InputPowerWatts\":{\"Reading\":4}}");
	assert_reads(&r, 104.5);
	/* Without an answer nobody knows. */
	bmc_add(&b, BAY "2/Metrics", 0, "no route");
	assert_reads_not(&r, "no route");
	/* A supply that does not say so should have a reading. */
	bmc_add(&b, BAY "2", 200, "{\"Metrics\":" LINK(BAY "2/Metrics") "}");
	bmc_add(&b, BAY "2/Metrics", 200, "{\"InputPowerWatts\":{\"Reading\":null}}");
	assert_reads_not(&r, BAY "2/Metrics: metrics: no InputPowerWatts, no energy");
}

static void a_chassis_s_own_power_is_believed_before_its_supplies(void **state)
{
	struct tw_err err = { 0 };
	struct tw_redfish r;
	struct bmc b;

	(void)state;
	bmc_set_up(&b, &r);
	add_supplies(&b);
	bmc_add(&b, CHASSIS "/1", 200,
		"{\"Id\":\"1\",\"PowerSubsystem\":" LINK(PSU) ",\"Power\":" LINK(
			CHASSIS
			"/1/Power") ",\"EnvironmentMetrics\":" LINK(CHASSIS
								    "/1/Env") "}");
	assert_int_equal(tw_redfish_connect(&r, &err), 0);
	assert_int_equal(r.source[0].type, TW_REDFISH_POWER);
	assert_reads(&r, 100);
	bmc_add(&b, CHASSIS "/1/Env", 200, "{\"PowerWatts\":{\"Reading\":99}}");
	assert_int_equal(tw_redfish_connect(&r, &err), 0);
	assert_int_equal(r.source[0].type, TW_REDFISH_METRICS);
	assert_reads(&r, 99);
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
		add_supplies(&b);
		fail_alloc_at(n);
		rc = tw_redfish_connect(&r, &err);
		if (!fail_alloc_told(rc, &err))
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(supplies_add_up_where_nothing_else_reports_power),
		cmocka_unit_test(energy_that_all_supplies_count_is_a_reading),
		cmocka_unit_test(a_chassis_has_sixteen_supplies_at_most),
		cmocka_unit_test(a_supply_without_input_makes_no_gap),
		cmocka_unit_test(a_chassis_s_own_power_is_believed_before_its_supplies),
		cmocka_unit_test(without_memory_it_fails_and_leaks_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
