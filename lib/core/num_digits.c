/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/num_digits.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __SIZEOF_INT128__

__extension__ typedef unsigned __int128 u128;

#define DIGITS_MIN 15
#define DIGITS_MAX 17
#define LEAST 1e-3 /* so that powers of ten fit 64 bits */
#define MOST 1e15  /* so that there is a point, and s > 0 */
#define MANTISSA 53

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

	p.f = (uint64_t)ldexp(frexp(v, &exponent), MANTISSA);
	p.shift = MANTISSA - exponent;
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]) && v >= bounds[i]; i++)
		p.point++;
	return p;
}

/* The first digits, rounded to even; whether they lead back to v in *same. */
static uint64_t round_to(const struct parts *p, int digits, bool *same)
{
	const u128 power = powers[digits - p->point], whole = p->f * power;
	const u128 one = (u128)1 << p->shift, half = one >> 1;
	const u128 rest = whole & (one - 1);
	uint64_t d = (uint64_t)(whole >> p->shift);
	bool up = rest > half || (rest == half && (d & 1) != 0);
	const u128 off = up ? one - rest : rest;

	/* A tie goes to the even one, which v is if its f is. */
	*same = 2 * off < power || (2 * off == power && (p->f & 1) == 0);
	return d + up;
}

/* Put the point in, leave the zeros behind it out. */
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

size_t tw_format_digits(char *out, double v)
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
		/* Those below a power of two are nearer: not for us. */
		if (p.f == (uint64_t)1 << (MANTISSA - 1) && size != rint(size))
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

#else

size_t tw_format_digits(char *out, double v)
{
	(void)out;
	(void)v;
	return 0;
}

#endif
