/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/instant.h"

#include "lib/num.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The first of the year 10000. */
#define END_MS INT64_C(253402300800000)

bool tw_instant_format(int64_t ms, char out[TW_INSTANT_TEXT])
{
	const time_t seconds = (time_t)(ms / 1000);
	struct tm tm;
	size_t len;

	out[0] = '\0';
	if (ms < 0 || ms >= END_MS || gmtime_r(&seconds, &tm) == NULL)
		return false;
	len = strftime(out, TW_INSTANT_TEXT, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + len, TW_INSTANT_TEXT - len, ".%03dZ", (int)(ms % 1000));
	return true;
}

/* Whether each place of the fixed part is a digit or that sign. */
static bool is_date(const char *text)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd";

	for (size_t i = 0; i < sizeof(form) - 1; i++) {
		const bool digit = text[i] >= '0' && text[i] <= '9';

		if (form[i] == 'd' ? !digit : text[i] != form[i])
			return false;
	}
	return true;
}

static int digits(const char *text, int count)
{
	int v = 0;

	while (count-- > 0)
		v = 10 * v + *text++ - '0';
	return v;
}

/* "Z", or ".25Z": what is behind the seconds. */
static bool parse_fraction(const char *text, double *part)
{
	const size_t len = strlen(text);
	char number[48];

	*part = 0.0;
	if (len == 0 || text[len - 1] != 'Z')
		return false;
	if (len == 1)
		return true;
	if (text[0] != '.' || len > 32 || strspn(text + 1, "0123456789") != len - 2)
		return false;
	/* ".25" is no number in the grammar: "0.25" is. */
	snprintf(number, sizeof(number), "0%.*s", (int)len - 1, text);
	return tw_parse_double(number, strlen(number), part);
}

bool tw_instant_parse(const char *text, int64_t *ms)
{
	struct tm tm = { 0 };
	double part;
	time_t seconds;

	if (!is_date(text) || !parse_fraction(text + 19, &part))
		return false;
	tm.tm_year = digits(text, 4) - 1900;
	tm.tm_mon = digits(text + 5, 2) - 1;
	tm.tm_mday = digits(text + 8, 2);
	tm.tm_hour = digits(text + 11, 2);
	tm.tm_min = digits(text + 14, 2);
	tm.tm_sec = digits(text + 17, 2);
	if (tm.tm_mon < 0 || tm.tm_mon > 11 || tm.tm_mday < 1 || tm.tm_mday > 31 ||
	    tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
		return false;
	seconds = timegm(&tm);
	if (seconds < 0)
		return false;
	*ms = (int64_t)seconds * 1000 + llround(part * 1000.0);
	return true;
}
