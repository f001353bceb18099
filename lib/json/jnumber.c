/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/jnumber.h"

#include "lib/core/err.h"
#include "lib/core/num.h"

#include <inttypes.h>
#include <string.h>

static int fail(uint64_t offset, struct tw_err *err)
{
	return tw_fail(err, TW_PARSE, "byte %" PRIu64 ": not a number, or too large",
		       offset);
}

static bool is_number_byte(char c)
{
	return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' ||
	       c == 'E';
}

void tw_jnumber_begin(struct tw_jnumber *n)
{
	n->len = 0;
}

int tw_jnumber_end(struct tw_jnumber *n, uint64_t offset, struct tw_err *err)
{
	const size_t len = n->len;

	n->len = 0;
	return tw_parse_double(n->text, len, &n->value) ? 0 : fail(offset, err);
}

/* Copy a number that spans pieces, or may continue in the next one. */
static int gather(struct tw_jnumber *n, const char *data, size_t len, uint64_t offset,
		  size_t *used, bool *ended, struct tw_err *err)
{
	size_t i = 0;

	while (i < len && is_number_byte(data[i]))
		i++;
	if (i > sizeof(n->text) - n->len)
		return fail(offset, err);
	memcpy(n->text + n->len, data, i);
	n->len += i;
	*used = i;
	*ended = i < len;
	return *ended ? tw_jnumber_end(n, offset, err) : 0;
}

int tw_jnumber_feed(struct tw_jnumber *n, const char *data, size_t len, uint64_t offset,
		    size_t *used, bool *ended, struct tw_err *err)
{
	size_t scanned;

	if (n->len > 0)
		return gather(n, data, len, offset, used, ended, err);
	scanned = tw_scan_double(data, len, &n->value);
	if (scanned == len || scanned == 0 || is_number_byte(data[scanned]))
		return gather(n, data, len, offset, used, ended, err);
	if (scanned > sizeof(n->text))
		return fail(offset, err);
	*used = scanned;
	*ended = true;
	return 0;
}
