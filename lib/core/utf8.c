/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/utf8.h"

#include "lib/core/array.h"

size_t tw_utf8_length(const char *s, size_t len)
{
	static const struct {
		unsigned char first, last; /* range of the first byte */
		unsigned char low, high;   /* range of the second byte */
		unsigned char bytes;       /* of the whole character */
	} forms[] = {
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};
	const unsigned char *p = (const unsigned char *)s;

	if (len == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	for (size_t i = 0; i < TW_COUNT(forms); i++) {
		if (p[0] < forms[i].first || p[0] > forms[i].last)
			continue;
		if (len < forms[i].bytes || p[1] < forms[i].low || p[1] > forms[i].high)
			return 0;
		for (size_t k = 2; k < forms[i].bytes; k++)
			if ((p[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].bytes;
	}
	return 0;
}

bool tw_is_utf8(const char *text)
{
	size_t n;

	for (const char *p = text; *p != '\0'; p += n) {
		n = tw_utf8_length(p, 4);
		if (n == 0)
			return false;
	}
	return true;
}
