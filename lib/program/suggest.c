/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/suggest.h"

#include <stdint.h>
#include <string.h>

#define TEXT_MAX 64

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Row by row (R. Wagner, M. Fischer), with swaps of neighbours (F. Damerau). */
size_t tw_text_distance(const char *a, const char *b)
{
	const size_t m = strlen(a), n = strlen(b);
	size_t row[3][TEXT_MAX + 1];

	if (m > TEXT_MAX || n > TEXT_MAX)
		return SIZE_MAX;
	for (size_t k = 0; k <= n; k++)
		row[0][k] = k;
	for (size_t i = 1; i <= m; i++) {
		size_t *now = row[i % 3];
		const size_t *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

		now[0] = i;
		for (size_t k = 1; k <= n; k++) {
			now[k] = least(least(last[k], now[k - 1]) + 1,
				       last[k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] &&
			    a[i - 2] == b[k - 1])
				now[k] = least(now[k], before[k - 2] + 1);
		}
	}
	return row[m % 3][n];
}

void tw_suggest(const char *text, const char *name, const char **best)
{
	const size_t far = tw_text_distance(text, name);

	if (far <= strlen(name) / 3 &&
	    (*best == NULL || far < tw_text_distance(text, *best)))
		*best = name;
}
