/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/dcmi.h"

#include "lib/core/array.h"
#include "lib/core/err.h"

#define COMMAND 0x02
#define GROUP 0xdc /* DCMI's group extension */
#define MODE_SYSTEM 0x01
#define STATE_MEASURES 0x40

/* Command, completion code, group, four powers, time, window, state. */
#define RESPONSE_LEN 20

const uint8_t tw_dcmi_power_request[TW_DCMI_REQUEST_LEN] = { COMMAND, GROUP, MODE_SYSTEM,
							     0, 0 };

/* Completion codes of IPMI 2.0, table 5-2, as controllers use them for this command. */
static const struct {
	uint8_t value;
	enum tw_code code;
	const char *text;
} completions[] = {
	{ 0xc0, TW_IO, "busy" },
	{ 0xc1, TW_UNSUPPORTED, "it does not know DCMI's power reading" },
	{ 0xc2, TW_UNSUPPORTED, "it does not know DCMI's power reading" },
	{ 0xc3, TW_IO, "it took too long" },
	{ 0xcb, TW_UNSUPPORTED, "it has no power sensor" },
	{ 0xcc, TW_UNSUPPORTED, "it rejects DCMI's power reading" },
	{ 0xce, TW_IO, "it cannot answer now" },
	{ 0xd2, TW_IO, "it is starting" },
	{ 0xd4, TW_DENIED, "permission denied" },
	{ 0xd5, TW_UNSUPPORTED, "it does not measure power in this state" },
};

static int fail_completion(uint8_t value, struct tw_err *err)
{
	for (size_t i = 0; i < TW_COUNT(completions); i++)
		if (completions[i].value == value)
			return tw_fail(err, completions[i].code,
				       "the controller answers 0x%02x: %s", value,
				       completions[i].text);
	return tw_fail(err, TW_IO, "the controller answers 0x%02x", value);
}

static uint16_t u16(const uint8_t *at)
{
	return (uint16_t)(at[0] | at[1] << 8);
}

static uint32_t u32(const uint8_t *at)
{
	return u16(at) | (uint32_t)u16(at + 2) << 16;
}

int tw_dcmi_power_parse(const uint8_t *data, size_t len, struct tw_dcmi_power *out,
			struct tw_err *err)
{
	if (len < 2 || data[0] != COMMAND)
		return tw_fail(err, TW_PARSE, "no answer to Get Power Reading");
	if (data[1] != 0)
		return fail_completion(data[1], err);
	if (len < RESPONSE_LEN)
		return tw_fail(err, TW_PARSE, "an answer of %zu bytes, want %d", len,
			       RESPONSE_LEN);
	if (data[2] != GROUP)
		return tw_fail(err, TW_PARSE, "an answer of group 0x%02x, not DCMI's",
			       data[2]);
	/* OpenBMC reports powers with the state 0; a controller without a sensor, 0 W. */
	if ((data[19] & STATE_MEASURES) == 0 && u16(data + 3) == 0)
		return tw_fail(err, TW_INVALID,
			       "the controller does not measure power "
			       "now");
	*out = (struct tw_dcmi_power){ .now_w = u16(data + 3),
				       .least_w = u16(data + 5),
				       .most_w = u16(data + 7),
				       .average_w = u16(data + 9),
				       .time_s = u32(data + 11),
				       .window_ms = u32(data + 15) };
	return 0;
}
