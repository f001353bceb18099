/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/num.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longest number to parse. Correct rounding can depend on up to 767 digits. */
#define NUMBER_MAX 768

/* Powers of ten that are exact as a double. */
static const double exact_powers[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
				       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
				       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

#define EXACT_POWER_MAX 22
#define EXACT_MANTISSA_MAX ((uint64_t)1 << 53)
#define MANTISSA_DIGITS 19 /* any number of 19 digits fits 64 bits */

static pthread_once_t locale_once = PTHREAD_ONCE_INIT;
static locale_t c_locale; /* written once; (locale_t)0 if out of memory */

static void make_locale(void)
{
	c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
}

static locale_t use_c_locale(void)
{
	pthread_once(&locale_once, make_locale);
	return c_locale != (locale_t)0 ? uselocale(c_locale) : (locale_t)0;
}

static void leave_c_locale(locale_t before)
{
	if (before != (locale_t)0)
		uselocale(before);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A scanned number: mantissa * 10^exponent if exact is true. */
struct scanned {
	uint64_t mantissa;
	int exponent;
	bool negative;
	bool exact; /* the mantissa has all digits */
};

/* Append digits to the mantissa, which may overflow. Return the first non-digit. */
static const char *scan_digits(const char *s, const char *end, uint64_t *mantissa)
{
	uint64_t m = *mantissa;

	for (; s < end && is_digit(*s); s++)
		m = m * 10 + (uint64_t)(*s - '0');
	*mantissa = m;
	return s;
}

/* Scan the exponent after 'e'. NULL if it has no digits. */
static const char *scan_exponent(const char *s, const char *end, struct scanned *n)
{
	bool negative = false;
	const char *start;
	int value = 0;

	if (s < end && (*s == '+' || *s == '-'))
		negative = *s++ == '-';
	for (start = s; s < end && is_digit(*s); s++)
		if (value < 10000)
			value = value * 10 + (*s - '0');
	n->exponent += negative ? -value : value;
	return s > start ? s : NULL;
}

/*
 * JSON's grammar: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
 * Return the end of the number, or NULL if there is none.
 */
static const char *scan(const char *s, const char *end, struct scanned *n)
{
	const char *start, *point;
	ptrdiff_t digits;

	*n = (struct scanned){ 0 };
	if (s < end && *s == '-') {
		n->negative = true;
		s++;
	}
	start = s;
	s = scan_digits(s, end, &n->mantissa);
	digits = s - start;
	if (digits == 0 || (digits > 1 && *start == '0'))
		return NULL;
	if (s < end && *s == '.') {
		point = ++s;
		s = scan_digits(s, end, &n->mantissa);
		if (s == point)
			return NULL;
		digits += s - point;
		n->exponent -= s - point < 10000 ? (int)(s - point) : 10000;
	}
	/* Leading zeros count: 0.000..1 takes the slow path without need. */
	n->exact = digits <= MANTISSA_DIGITS;
	if (s < end && (*s == 'e' || *s == 'E'))
		return scan_exponent(s + 1, end, n);
	return s;
}

/* The slow path: the C library rounds correctly. */
static bool parse_slowly(const char *s, size_t len, double *out)
{
	char text[NUMBER_MAX + 1];
	locale_t before;
	double v;

	if (len > NUMBER_MAX)
		return false;
	memcpy(text, s, len);
	text[len] = '\0';
	before = use_c_locale();
	v = strtod(text, NULL);
	leave_c_locale(before);
	if (!isfinite(v))
		return false;
	*out = v;
	return true;
}

static bool convert(const struct scanned *n, const char *s, size_t len, double *out)
{
	double v;

	/* Mantissa and power are exact, so the result is rounded once (Clinger 1990). */
	if (!n->exact || n->mantissa > EXACT_MANTISSA_MAX ||
	    n->exponent > EXACT_POWER_MAX || n->exponent < -EXACT_POWER_MAX)
		return parse_slowly(s, len, out);
	v = (double)n->mantissa;
	if (n->exponent >= 0)
		v *= exact_powers[n->exponent];
	else
		v /= exact_powers[-n->exponent];
	*out = n->negative ? -v : v;
	return true;
}

size_t tw_scan_double(const char *s, size_t len, double *out)
{
	struct scanned n;
	const char *end = scan(s, s + len, &n);

	return end != NULL && convert(&n, s, (size_t)(end - s), out) ? (size_t)(end - s)
								     : 0;
}

bool tw_parse_double(const char *s, size_t len, double *out)
{
	struct scanned n;

	return scan(s, s + len, &n) == s + len && convert(&n, s, len, out);
}

static bool is_text(const char *s, size_t len, const char *text)
{
	return len == strlen(text) && memcmp(s, text, len) == 0;
}

bool tw_parse_sample(const char *s, size_t len, double *out)
{
	if (is_text(s, len, "NaN")) {
		*out = NAN;
		return true;
	}
	if (is_text(s, len, "+Inf") || is_text(s, len, "Inf") ||
	    is_text(s, len, "-Inf")) {
		*out = s[0] == '-' ? -INFINITY : INFINITY;
		return true;
	}
	if (len > 1 && s[0] == '+' && s[1] != '-') {
		s++;
		len--;
	}
	return tw_parse_double(s, len, out);
}

int tw_parse_u32(const char *s, uint32_t min, uint32_t max, uint32_t *out,
		 struct tw_err *err)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(s, &end, 10);
	if (!is_digit(s[0]) || *end != '\0' || errno != 0 || v < min || v > max)
		return tw_fail(err, TW_INVALID,
			       "'%.64s' is not a number from %" PRIu32 " to %" PRIu32, s,
			       min, max);
	*out = (uint32_t)v;
	return 0;
}

bool tw_parse_u64(const char *s, size_t len, uint64_t *out)
{
	uint64_t v = 0;

	for (size_t i = 0; i < len; i++) {
		const unsigned digit = (unsigned)(unsigned char)s[i] - '0';

		if (digit > 9 || v > (UINT64_MAX - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	if (len == 0)
		return false;
	*out = v;
	return true;
}

struct unit {
	const char *name;
	uint64_t factor;
};

static int parse_with_unit(const char *s, const struct unit *units, size_t count,
			   const char *what, uint64_t *out, struct tw_err *err)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(s, &end, 10);
	if (is_digit(s[0]) && errno == 0) {
		for (size_t i = 0; i < count; i++) {
			if (strcmp(end, units[i].name) != 0 ||
			    v > UINT64_MAX / units[i].factor)
				continue;
			*out = v * units[i].factor;
			return 0;
		}
	}
	return tw_fail(err, TW_INVALID, "'%.64s' is not %s", s, what);
}

int tw_parse_duration_ms(const char *s, uint64_t *out, struct tw_err *err)
{
	static const struct unit units[] = {
		{ "", 1000 },       { "ms", 1 },          { "s", 1000 },
		{ "m", 60 * 1000 }, { "h", 3600 * 1000 },
	};

	return parse_with_unit(s, units, TW_COUNT(units),
			       "a duration such as 250ms, 3s, 2m or 1h", out, err);
}

int tw_parse_size_bytes(const char *s, uint64_t *out, struct tw_err *err)
{
	static const struct unit units[] = {
		{ "", 1 },
		{ "KiB", (uint64_t)1 << 10 },
		{ "MiB", (uint64_t)1 << 20 },
		{ "GiB", (uint64_t)1 << 30 },
	};

	return parse_with_unit(s, units, TW_COUNT(units),
			       "a size such as 4096, 64KiB or 1MiB", out, err);
}

#define DIGITS_MIN 15
#define DIGITS_MAX 17
#define LEAST 1e-3 /* keeps powers of ten within 64 bits */
#define MOST 1e15  /* keeps the point within DIGITS_MIN digits, and shift > 0 */
#define MANTISSA_BITS 53

/* Bounds at which the decimal point moves by one place. */
static const double bounds[] = { 1e-2, 1e-1, 1e0, 1e1,  1e2,  1e3,  1e4,  1e5, 1e6,
				 1e7,  1e8,  1e9, 1e10, 1e11, 1e12, 1e13, 1e14 };

static const uint64_t powers[] = { 1u,
				   10u,
				   100u,
				   1000u,
				   10000u,
				   100000u,
				   1000000u,
				   10000000u,
				   100000000u,
				   1000000000u,
				   10000000000u,
				   100000000000u,
				   1000000000000u,
				   10000000000000u,
				   100000000000000u,
				   1000000000000000u,
				   10000000000000000u,
				   100000000000000000u,
				   1000000000000000000u,
				   10000000000000000000u };

/* v = f * 2^-shift = 0.ddd * 10^point */
struct parts {
	uint64_t f;
	int shift, point;
};

static struct parts take_apart(double v)
{
	struct parts p = { .point = -2 };
	int exponent;

	p.f = (uint64_t)ldexp(frexp(v, &exponent), MANTISSA_BITS);
	p.shift = MANTISSA_BITS - exponent;
	for (size_t i = 0; i < TW_COUNT(bounds) && v >= bounds[i]; i++)
		p.point++;
	return p;
}

/* The first digits of v, ties to even. *same: whether they parse back to v. */
static uint64_t round_to(const struct parts *p, int digits, bool *same)
{
	const tw_u128 power = powers[digits - p->point], whole = p->f * power;
	const tw_u128 one = (tw_u128)1 << p->shift, half = one >> 1;
	const tw_u128 rest = whole & (one - 1);
	uint64_t d = (uint64_t)(whole >> p->shift);
	bool up = rest > half || (rest == half && (d & 1) != 0);
	const tw_u128 off = up ? one - rest : rest;

	/* A parser resolves a tie to the even mantissa. */
	*same = 2 * off < power || (2 * off == power && (p->f & 1) == 0);
	return d + up;
}

/* Write the digits with their point, without trailing zeros of the fraction. */
static size_t put_digits(char *out, uint64_t d, int digits, int point)
{
	char text[DIGITS_MAX];
	size_t len = 0;

	for (; digits > point && digits > 1 && d % 10 == 0; digits--)
		d /= 10;
	for (int i = digits; i-- > 0; d /= 10)
		text[i] = (char)('0' + d % 10);
	if (point <= 0) {
		memcpy(out, "0.00", 4);
		len = 2 + (size_t)-point;
		memcpy(out + len, text, (size_t)digits);
		return len + (size_t)digits;
	}
	memcpy(out, text, (size_t)point);
	len = (size_t)point;
	if (digits == point)
		return len;
	out[len++] = '.';
	memcpy(out + len, text + point, (size_t)(digits - point));
	return len + (size_t)(digits - point);
}

/*
 * Format zero and magnitudes from 0.001 to below 1e15 in integer arithmetic. Return 0 for
 * other values, and where rounding carries into one more digit.
 *
 * A double is f * 2^-shift with f < 2^53. Its first n digits are f * 10^q >> shift,
 * rounded. They parse back to the double if they are off by less than half of its last
 * place. Both are exact in 128 bits.
 */
static size_t format_digits(char *out, double v)
{
	const double size = fabs(v);
	struct parts p;
	uint64_t d = 0;
	bool same = false;
	size_t sign = signbit(v) ? 1 : 0, len = 1;
	int digits;

	if (size != 0 && !(size >= LEAST && size < MOST))
		return 0;
	out[0] = '-';
	out[sign] = '0';
	if (size != 0) {
		p = take_apart(size);
		/* Doubles below a power of two lie closer: use the C library. */
		if (p.f == (uint64_t)1 << (MANTISSA_BITS - 1) && size != rint(size))
			return 0;
		for (digits = DIGITS_MIN; !same && digits <= DIGITS_MAX; digits++)
			d = round_to(&p, digits, &same);
		digits--;
		if (d >= powers[digits])
			return 0;
		len = put_digits(out + sign, d, digits, p.point);
	}
	out[sign + len] = '\0';
	return sign + len;
}

size_t tw_format_double(char out[TW_DOUBLE_TEXT], double v)
{
	int len = (int)format_digits(out, v);
	locale_t before;

	if (len > 0)
		return (size_t)len;
	before = use_c_locale();
	/* %g drops trailing zeros; only subnormals can have fewer than 15 digits. */
	for (int digits = fabs(v) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
		len = snprintf(out, TW_DOUBLE_TEXT, "%.*g", digits, v);
		if (digits == 17 || strtod(out, NULL) == v)
			break;
	}
	leave_c_locale(before);
	return (size_t)len;
}

void tw_buf_add_double(struct tw_buf *b, double v)
{
	char text[TW_DOUBLE_TEXT];

	tw_buf_add(b, text, tw_format_double(text, v));
}

double tw_round_digits(double v, int digits)
{
	char text[TW_DOUBLE_TEXT];
	double rounded;

	snprintf(text, sizeof(text), "%.*g", digits, v);
	/* A locale with another decimal point makes parsing fail: return v unrounded. */
	return tw_parse_double(text, strlen(text), &rounded) ? rounded : v;
}

int tw_compare_int64(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int tw_compare_doubles(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void swap(double *a, double *b)
{
	const double c = *a;

	*a = *b;
	*b = c;
}

/* C. A. R. Hoare, Algorithm 65: Find, 1961. */
void tw_put_in_place(double *v, size_t n, size_t place)
{
	size_t low = 0, high = n > 0 ? n - 1 : 0;

	while (low < high) {
		const double pivot = v[low + (high - low) / 2];
		size_t i = low, j = high;

		for (;;) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			swap(&v[i++], &v[j--]);
		}
		/* Here i == j or i == j + 1. */
		if (place <= j)
			high = j;
		else
			low = j + 1;
	}
}

double tw_nth(double *v, size_t n, size_t place)
{
	tw_put_in_place(v, n, place);
	return v[place];
}

double tw_median(double *v, size_t n)
{
	const double upper = tw_nth(v, n, n / 2);
	double lower = v[0];

	if (n % 2 != 0)
		return upper;
	for (size_t i = 1; i < n / 2; i++)
		lower = v[i] > lower ? v[i] : lower;
	return (lower + upper) / 2;
}
