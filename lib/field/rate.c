/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/field/rate.h"

#include "lib/core/array.h"
#include "lib/core/date.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/field/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)16 << 20)
#define CELL_MAX 64

static int add(struct tw_rate *r, size_t *size, int64_t from_ms, double per_kwh,
	       struct tw_err *err)
{
	if (!(per_kwh >= 0 && per_kwh <= TW_RATE_MAX))
		return tw_fail(err, TW_INVALID, "%g is not from 0 to %g", per_kwh,
			       TW_RATE_MAX);
	if (r->count > 0 && r->step[0].from_ms == INT64_MIN)
		return tw_fail(err, TW_INVALID, "the row before has no time");
	if (r->count > 0 && from_ms <= r->step[r->count - 1].from_ms)
		return tw_fail(err, TW_INVALID, "a time that is not after the last");
	if (!tw_grow(&r->step, size, r->count, sizeof(*r->step)))
		return tw_fail(err, TW_NOMEM, "rates");
	r->step[r->count++] = (struct tw_rate_step){ from_ms, per_kwh };
	return 0;
}

static bool read_time(const struct tw_csv_cells *c, int64_t *out, struct tw_err *err)
{
	char text[CELL_MAX];

	snprintf(text, sizeof(text), "%.*s",
		 (int)(c->text_len < CELL_MAX ? c->text_len : CELL_MAX - 1), c->text);
	return tw_parse_date_ms(text, out, err) == 0;
}

static int read_number(const struct tw_csv_cells *c, struct tw_rate *r, size_t *size,
		       int64_t from_ms, struct tw_err *err)
{
	double per_kwh;

	return tw_parse_double(c->text, c->text_len, &per_kwh)
		       ? add(r, size, from_ms, per_kwh, err)
		       : tw_fail(err, TW_PARSE, "'%.*s' is not a number",
				 (int)(c->text_len < CELL_MAX ? c->text_len : CELL_MAX),
				 c->text);
}

/* Read a row, after its first cell. A first row without a time has names: skip it. */
static int read_row(struct tw_csv_cells *c, struct tw_rate *r, size_t *size,
		    struct tw_err *err)
{
	struct tw_err why = { 0 };
	int64_t from_ms = INT64_MIN;
	bool timed;

	if (c->ends_row)
		return read_number(c, r, size, from_ms, err);
	timed = read_time(c, &from_ms, &why);
	if (!timed && (r->count > 0 || c->row_line > 1))
		return tw_fail(err, why.code, "%s", why.text);
	if (!tw_csv_cells_next(c, err))
		return -1;
	if (!c->ends_row)
		return tw_fail(err, TW_PARSE, "more than two columns");
	return timed ? read_number(c, r, size, from_ms, err) : 0;
}

int tw_rate_parse(const char *data, size_t len, struct tw_rate *out, struct tw_err *err)
{
	struct tw_csv_cells c = { .data = data, .len = len };
	struct tw_rate r = { 0 };
	struct tw_err why = { 0 };
	size_t size = 0;
	int rc = 0;

	while (rc == 0 && tw_csv_cells_next(&c, &why))
		rc = read_row(&c, &r, &size, &why);
	if (rc == 0 && why.code == TW_OK && r.count == 0)
		tw_fail(&why, TW_PARSE, "no row \"TIME,NUMBER\"");
	if (why.code != TW_OK)
		rc = tw_fail(err, why.code, "line %zu: %s", c.row_line, why.text);
	tw_csv_cells_release(&c);
	if (rc < 0)
		tw_rate_release(&r);
	else
		*out = r;
	return rc;
}

int tw_rate_open(const char *text, struct tw_rate *out, struct tw_err *err)
{
	char *data = NULL;
	size_t size = 0, len;
	double per_kwh;
	int rc;

	*out = (struct tw_rate){ 0 };
	if (tw_parse_double(text, strlen(text), &per_kwh))
		return add(out, &size, INT64_MIN, per_kwh, err);
	rc = tw_file_read(text, FILE_MAX, &data, &len, err);
	if (rc == 0 && tw_rate_parse(data, len, out, err) < 0)
		rc = tw_err_wrap(err, "'%.100s'", text);
	free(data);
	return rc;
}

void tw_rate_release(struct tw_rate *r)
{
	free(r->step);
	*r = (struct tw_rate){ 0 };
}

double tw_rate_at(const struct tw_rate *r, int64_t ms)
{
	size_t low = 0, high = r->count;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (r->step[mid].from_ms <= ms)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0)
		return NAN;
	/* The last of several rates is valid for as long as the rate before it. */
	if (low == r->count && low > 1 &&
	    ms - r->step[low - 1].from_ms >=
		    r->step[low - 1].from_ms - r->step[low - 2].from_ms)
		return NAN;
	return r->step[low - 1].per_kwh;
}
