/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/meters/rapl.h"

#include "collector/system/processors.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/tw_test.h"

#include <string.h>

/* What Linux' powercap shows as energy_uj of 1,000,000 counts, by model and unit. */
static void units_are_those_of_the_model(void **state)
{
	static const struct {
		const char *vendor, *family, *model;
		enum tw_zone_kind kind;
		uint64_t unit, uj, range_uj;
	} cases[] = {
		{ "GenuineIntel", "6", "158", TW_ZONE_PACKAGE, 0xa0e03, 61035156,
		  262143999999 },
		{ "GenuineIntel", "6", "158", TW_ZONE_DRAM, 0xa0e03, 61035156,
		  262143999999 },
		/* Sandy Bridge: J / 2^16 */
		{ "GenuineIntel", "6", "42", TW_ZONE_CORE, 0xa1003, 15258789,
		  65535999999 },
		{ "GenuineIntel", "6", "63", TW_ZONE_DRAM, 0xa0e03, 15300000,
		  65712999627 },
		{ "GenuineIntel", "6", "63", TW_ZONE_PACKAGE, 0xa0e03, 61035156,
		  262143999999 },
		{ "GenuineIntel", "6", "106", TW_ZONE_DRAM, 0xa0e03, 15300000,
		  65712999627 },
		{ "GenuineIntel", "6", "143", TW_ZONE_DRAM, 0xa0e03, 61035156,
		  262143999999 },
		{ "GenuineIntel", "6", "143", TW_ZONE_PSYS, 0xa0e03, 1000000000000,
		  4294967295999999 },
		/* Silvermont: 2^5 uJ */
		{ "GenuineIntel", "6", "55", TW_ZONE_PACKAGE, 0x00505, 32000000,
		  137438953471 },
		/* A model number of another family. */
		{ "GenuineIntel", "15", "63", TW_ZONE_DRAM, 0xa0e03, 61035156,
		  262143999999 },
		{ "AuthenticAMD", "23", "1", TW_ZONE_PACKAGE, 0xa1003, 15258789,
		  65535999999 },
		{ "HygonGenuine", "24", "0", TW_ZONE_CORE, 0xa1003, 15258789,
		  65535999999 },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_processor p = { .number = "0" };
		struct tw_err err = { 0 };
		struct tw_rapl_unit u;
		struct tw_rapl r;

		strcpy(p.vendor, cases[i].vendor);
		strcpy(p.family, cases[i].family);
		strcpy(p.model_number, cases[i].model);
		assert_int_equal(tw_rapl_find(&p, &r, &err), 0);
		u = tw_rapl_unit_of(&r, cases[i].kind, cases[i].unit);
		if (tw_rapl_uj(u, 1000000) != cases[i].uj ||
		    tw_rapl_range_uj(u) != cases[i].range_uj)
			fail_msg("case %zu: %llu uJ, range %llu", i,
				 (unsigned long long)tw_rapl_uj(u, 1000000),
				 (unsigned long long)tw_rapl_range_uj(u));
		/* The widest there is does not overflow. */
		assert_true(tw_rapl_uj(u, UINT64_MAX) <= tw_rapl_range_uj(u));
	}
}

static void values_of_registers_are_validated(void **state)
{
	struct tw_processor p = { .vendor = "GenuineIntel", .family = "6" };
	struct tw_err err = { 0 };
	struct tw_rapl r;

	(void)state;
	strcpy(p.model_number, "55");
	assert_int_equal(tw_rapl_find(&p, &r, &err), 0);
	for (uint64_t unit = 0; unit < 0x2000; unit += 0x100) {
		const struct tw_rapl_unit u =
			tw_rapl_unit_of(&r, TW_ZONE_PACKAGE, unit | UINT64_C(0xff) << 56);

		assert_true(tw_rapl_uj(u, UINT32_MAX) <= tw_rapl_range_uj(u));
	}
}

static void others_are_refused(void **state)
{
	static const struct {
		const char *vendor, *family;
	} cases[] = {
		{ "", "" },
		{ "ARM", "8" },
		{ "AuthenticAMD", "21" },
		{ "AuthenticAMD", "x" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_processor p = { .number = "0" };
		struct tw_err err = { 0 };
		struct tw_rapl r;

		strcpy(p.vendor, cases[i].vendor);
		strcpy(p.family, cases[i].family);
		assert_int_equal(tw_rapl_find(&p, &r, &err), -1);
		assert_int_equal(err.code, TW_UNSUPPORTED);
		assert_non_null(
			strstr(err.text, "no known RAPL registers for processors"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_are_those_of_the_model),
		cmocka_unit_test(values_of_registers_are_validated),
		cmocka_unit_test(others_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
