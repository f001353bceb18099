/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/date.h"

#include "lib/core/err.h"
#include "lib/core/num.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* The rest of the text. good becomes false at the first mistake. */
struct cursor {
	const char *at;
	bool good;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int take_number(struct cursor *c, int digits, int min, int max)
{
	int v = 0;

	for (int i = 0; i < digits; i++) {
		if (!c->good || !is_digit(*c->at)) {
			c->good = false;
			return min;
		}
		v = v * 10 + (*c->at++ - '0');
	}
	c->good = v >= min && v <= max;
	return v;
}

static void take_one_of(struct cursor *c, const char *chars)
{
	if (c->good && *c->at != '\0' && strchr(chars, *c->at) != NULL)
		c->at++;
	else
		c->good = false;
}

/* Parse ".123456", if present, as milliseconds. */
static int take_fraction_ms(struct cursor *c)
{
	int ms = 0, weight = 100;

	if (!c->good || *c->at != '.')
		return 0;
	c->at++;
	c->good = is_digit(*c->at);
	for (; is_digit(*c->at); c->at++, weight /= 10)
		ms += weight * (*c->at - '0');
	return ms;
}

/* Parse "Z" or "+01:00" as minutes. */
static int take_zone(struct cursor *c)
{
	int sign, hours, minutes;

	if (c->good && (*c->at == 'Z' || *c->at == 'z')) {
		c->at++;
		return 0;
	}
	sign = *c->at == '-' ? -1 : 1;
	take_one_of(c, "+-");
	hours = take_number(c, 2, 0, 23);
	take_one_of(c, ":");
	minutes = take_number(c, 2, 0, 59);
	return sign * (hours * 60 + minutes);
}

static int days_of_month(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

/* Days since 1970-01-01 in the proleptic Gregorian calendar, for year >= 1970. */
static int64_t days_since_epoch(int year, int month, int day)
{
	int64_t y = year - 1;
	int64_t days = y * 365 + y / 4 - y / 100 + y / 400 - 719162;

	for (int m = 1; m < month; m++)
		days += days_of_month(year, m);
	return days + day - 1;
}

static bool parse_rfc3339(const char *s, int64_t *out)
{
	struct cursor c = { s, true };
	int year, month, day, hour, minute, second, ms, zone;

	year = take_number(&c, 4, 1970, 9999);
	take_one_of(&c, "-");
	month = take_number(&c, 2, 1, 12);
	take_one_of(&c, "-");
	day = take_number(&c, 2, 1, 31);
	if (!c.good || day > days_of_month(year, month))
		return false;
	take_one_of(&c, "Tt ");
	hour = take_number(&c, 2, 0, 23);
	take_one_of(&c, ":");
	minute = take_number(&c, 2, 0, 59);
	take_one_of(&c, ":");
	/* 60: a leap second counts as the first second of the next minute. */
	second = take_number(&c, 2, 0, 60);
	ms = take_fraction_ms(&c);
	zone = take_zone(&c);
	if (!c.good || *c.at != '\0')
		return false;
	*out = ((days_since_epoch(year, month, day) * 24 + hour) * 60 + minute - zone) *
		       60000 +
	       second * 1000 + ms;
	return *out >= 0 && *out <= TW_DATE_MAX_MS;
}

int tw_parse_date_ms(const char *s, int64_t *out, struct tw_err *err)
{
	int64_t ms;
	double v;

	if (tw_parse_double(s, strlen(s), &v) && v >= 0 &&
	    v <= (double)(TW_DATE_MAX_MS / 1000)) {
		*out = (int64_t)(v * 1000 + 1e-4);
		return 0;
	}
	if (!parse_rfc3339(s, &ms))
		return tw_fail(err, TW_INVALID,
			       "'%.64s' is not a time such as 2026-11-21T12:00:00Z or "
			       "1795262400",
			       s);
	*out = ms;
	return 0;
}

bool tw_format_date_ms(int64_t ms, char out[TW_DATE_TEXT])
{
	const time_t seconds = (time_t)(ms / 1000);
	struct tm tm;
	size_t len;

	out[0] = '\0';
	if (ms < 0 || ms > TW_DATE_MAX_MS || gmtime_r(&seconds, &tm) == NULL)
		return false;
	len = strftime(out, TW_DATE_TEXT, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + len, TW_DATE_TEXT - len, ".%03dZ", (int)(ms % 1000));
	return true;
}
