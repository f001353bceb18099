/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/scaled_rows.h"

#include "lib/core/err.h"
#include "lib/json/writer.h"
#include "trainer/fit/trainer.h"

#include <math.h>
#include <stdlib.h>

int tw_scaled_rows_init(struct tw_scaled_rows *out, const struct tw_samples *s,
			size_t rows_max, struct tw_err *err)
{
	out->rows = s->rows < rows_max ? s->rows : rows_max;
	out->cols = s->cols;
	out->scale = calloc(s->cols, sizeof(*out->scale));
	out->z = calloc(out->rows, s->cols * sizeof(*out->z));
	out->y = calloc(out->rows, sizeof(*out->y));
	if (out->scale == NULL || out->z == NULL || out->y == NULL)
		return tw_fail(err, TW_NOMEM, "%zu x %zu points", out->rows, out->cols);

	/* The inverse of a smaller scale is not finite. */
	for (size_t c = 0; c < s->cols; c++)
		out->scale[c] = tw_samples_scale(s, c, 1e-300);
	for (size_t r = 0; r < out->rows; r++) {
		const size_t from = r * s->rows / out->rows;

		for (size_t c = 0; c < s->cols; c++)
			out->z[r * s->cols + c] =
				s->x[from * s->cols + c] / out->scale[c];
		out->y[r] = s->y[from];
	}
	return 0;
}

void tw_scaled_rows_release(struct tw_scaled_rows *d)
{
	free(d->scale);
	free(d->z);
	free(d->y);
	*d = (struct tw_scaled_rows){ 0 };
}

void tw_scaled_rows_text(const struct tw_scaled_rows *d, const double *value,
			 struct tw_buf *text)
{
	tw_json_add_numbers(text, "scale", d->scale, d->cols);
	tw_json_add_array(text, "points");
	for (size_t r = 0; r < d->rows; r++)
		if (!isnan(value[r]))
			tw_json_add_numbers(text, NULL, d->z + r * d->cols, d->cols);
	tw_json_end_array(text);
	tw_json_add_array(text, "values");
	for (size_t r = 0; r < d->rows; r++)
		if (!isnan(value[r]))
			tw_json_add_number(text, NULL, value[r]);
	tw_json_end_array(text);
}
