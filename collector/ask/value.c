/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/value.h"

#include "lib/core/err.h"
#include "lib/core/num.h"

#include <math.h>

/* Characters of a wrong value that an error shows. */
#define SHOWN 32
#define POWER_MAX_W 1e9
/* 31 years of 1 kW: a multiple of it fits 64 bits in uJ. */
#define ENERGY_MAX_J 1e12

const char *const tw_unit_names[] = {
	"W", "mW", "uW", "J", "mJ", "uJ", "Wh", "kWh", NULL
};

static const struct {
	double scale; /* to W or J */
	bool energy;
} units[TW_UNIT_COUNT] = {
	[TW_UNIT_W] = { 1, false },     [TW_UNIT_MW] = { 1e-3, false },
	[TW_UNIT_UW] = { 1e-6, false }, [TW_UNIT_J] = { 1, true },
	[TW_UNIT_MJ] = { 1e-3, true },  [TW_UNIT_UJ] = { 1e-6, true },
	[TW_UNIT_WH] = { 3600, true },  [TW_UNIT_KWH] = { 3.6e6, true },
};

bool tw_unit_is_energy(enum tw_unit unit)
{
	return units[unit].energy;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* A text from outside for an error: printable, and truncated. */
static const char *show(char out[SHOWN + 1], const char *s, size_t len)
{
	size_t n = 0;

	for (; n < len && n < SHOWN; n++)
		out[n] = s[n] >= 0x20 && s[n] < 0x7f ? s[n] : '?';
	out[n] = '\0';
	return out;
}

int tw_value_parse(const char *s, size_t len, enum tw_unit unit, struct tw_value *out,
		   struct tw_err *err)
{
	char shown[SHOWN + 1];
	double v;

	while (len > 0 && is_blank(*s)) {
		s++;
		len--;
	}
	while (len > 0 && is_blank(s[len - 1]))
		len--;
	if (!tw_parse_sample(s, len, &v))
		return tw_fail(err, TW_PARSE, "'%s' is no number", show(shown, s, len));
	if (!isfinite(v))
		return tw_fail(err, TW_PARSE, "'%s' is no value", show(shown, s, len));
	v *= units[unit].scale;
	if (v < 0)
		return tw_fail(err, TW_INVALID, "'%s' is below 0", show(shown, s, len));
	if (v > (units[unit].energy ? ENERGY_MAX_J : POWER_MAX_W))
		return tw_fail(err, TW_INVALID, "'%s' %s is more than there can be",
			       show(shown, s, len), tw_unit_names[unit]);
	*out = units[unit].energy ? (struct tw_value){ .energy_uj = (uint64_t)(v * 1e6) }
				  : (struct tw_value){ .power_w = v };
	return 0;
}
