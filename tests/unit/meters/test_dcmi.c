/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "collector/ask/dcmi.h"
#include "lib/core/err.h"

#include <stdlib.h>
#include <string.h>

/* Command, completion, group; now, least, most, average; time; window; state. */
#define ANSWER                                                                        \
	0x02, 0x00, 0xdc, 0x5e, 0x01, 0x08, 0x00, 0xe8, 0x03, 0x54, 0x01, 0x10, 0x2d, \
		0x1f, 0x67, 0xe8, 0x03, 0x00, 0x00, 0x40

static void a_reading_equals_its_bytes(void **state)
{
	static const uint8_t answer[] = { ANSWER };
	struct tw_dcmi_power p;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_dcmi_power_parse(answer, sizeof(answer), &p, &err), 0);
	assert_int_equal(p.now_w, 350);
	assert_int_equal(p.least_w, 8);
	assert_int_equal(p.most_w, 1000);
	assert_int_equal(p.average_w, 340);
	assert_int_equal(p.window_ms, 1000);
	assert_int_equal(p.time_s, 0x671f2d10);
}

/* As OpenBMC answers. */
static void a_power_counts_whatever_the_state_is(void **state)
{
	uint8_t answer[] = { ANSWER };
	struct tw_dcmi_power p;
	struct tw_err err = { 0 };

	(void)state;
	answer[sizeof(answer) - 1] = 0;
	assert_int_equal(tw_dcmi_power_parse(answer, sizeof(answer), &p, &err), 0);
	assert_int_equal(p.now_w, 350);
}

static void the_request_is_dcmi_s(void **state)
{
	static const uint8_t wanted[] = { 0x02, 0xdc, 0x01, 0x00, 0x00 };

	(void)state;
	assert_memory_equal(tw_dcmi_power_request, wanted, sizeof(wanted));
}

static void a_malformed_reading_is_rejected(void **state)
{
	static const struct {
		uint8_t at[24];
		size_t len;
		enum tw_code code;
		const char *text;
	} cases[] = {
		{ { 0 }, 0, TW_PARSE, "no answer to Get Power Reading" },
		{ { 0x02 }, 1, TW_PARSE, "no answer to Get Power Reading" },
		{ { 0x03, 0x00 }, 2, TW_PARSE, "no answer to Get Power Reading" },
		{ { 0x02, 0xc1 },
		  2,
		  TW_UNSUPPORTED,
		  "the controller answers 0xc1: it does not know DCMI's power reading" },
		{ { 0x02, 0xc0 }, 2, TW_IO, "the controller answers 0xc0: busy" },
		{ { 0x02, 0xd4 },
		  2,
		  TW_DENIED,
		  "the controller answers 0xd4: permission denied" },
		{ { 0x02, 0x99 }, 2, TW_IO, "the controller answers 0x99" },
		{ { 0x02, 0x00, 0xdc, 0x5e, 0x01 },
		  5,
		  TW_PARSE,
		  "an answer of 5 bytes, want 20" },
		{ { ANSWER }, 19, TW_PARSE, "an answer of 19 bytes, want 20" },
		{ { 0x02, 0x00, 0xdd },
		  20,
		  TW_PARSE,
		  "an answer of group 0xdd, not DCMI's" },
		{ { 0x02, 0x00, 0xdc, 0x00, 0x00, 0x08 },
		  20,
		  TW_INVALID,
		  "the controller does not measure power now" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_dcmi_power p = { .now_w = 7 };
		struct tw_err err = { 0 };
		uint8_t *copy = malloc(cases[i].len > 0 ? cases[i].len : 1);

		assert_non_null(copy);
		memcpy(copy, cases[i].at, cases[i].len);
		assert_int_equal(tw_dcmi_power_parse(copy, cases[i].len, &p, &err), -1);
		assert_int_equal(err.code, cases[i].code);
		assert_string_equal(err.text, cases[i].text);
		assert_int_equal(p.now_w, 7);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reading_equals_its_bytes),
		cmocka_unit_test(a_power_counts_whatever_the_state_is),
		cmocka_unit_test(the_request_is_dcmi_s),
		cmocka_unit_test(a_malformed_reading_is_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
