/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/field/csv.h"

#include "lib/core/buf.h"
#include "lib/core/num.h"
#include "lib/field/dataset.h"

#include <string.h>

static void add_text(struct tw_buf *out, const char *s)
{
	if (strpbrk(s, ",\"\r\n") == NULL) {
		tw_buf_adds(out, s);
		return;
	}
	tw_buf_adds(out, "\"");
	for (; *s != '\0'; s++) {
		if (*s == '"')
			tw_buf_adds(out, "\"");
		tw_buf_add(out, s, 1);
	}
	tw_buf_adds(out, "\"");
}

static void add_header(const struct tw_dataset *d, struct tw_buf *out)
{
	tw_buf_adds(out, d->id != NULL ? "timestamp,id" : "timestamp");
	for (size_t i = 0; i < d->cols; i++) {
		tw_buf_adds(out, ",");
		add_text(out, d->col[i].name);
	}
	tw_buf_adds(out, "\n");
}

void tw_csv_write_rows(const struct tw_dataset *d, size_t from, size_t to,
		       struct tw_buf *out)
{
	if (from == 0)
		add_header(d, out);
	for (size_t r = from; r < to; r++) {
		tw_buf_add_double(out, (double)d->time_ms[r] / 1e3);
		if (d->id != NULL) {
			tw_buf_adds(out, ",");
			add_text(out, d->ids.at[d->id[r]]);
		}
		for (size_t i = 0; i < d->cols; i++) {
			tw_buf_adds(out, ",");
			tw_buf_add_double(out, d->col[i].v[r]);
		}
		tw_buf_adds(out, "\n");
	}
}

void tw_csv_write(const struct tw_dataset *d, struct tw_buf *out)
{
	tw_csv_write_rows(d, 0, d->rows, out);
}
