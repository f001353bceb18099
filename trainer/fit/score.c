/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/score.h"

#include "lib/core/err.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdlib.h>

/* A row index and the key to sort it by. */
struct ranked {
	double key;
	size_t row;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* Number of rows in a share, percent, rounded up. */
static size_t part_of(size_t rows, size_t percent)
{
	return rows / 100 * percent + (rows % 100 * percent + 99) / 100;
}

static int check_rows(const double *measured, const double *predicted, size_t rows,
		      struct tw_err *err)
{
	if (rows == 0)
		return tw_fail(err, TW_INVALID, "no rows to score");
	for (size_t i = 0; i < rows; i++)
		if (!isfinite(measured[i]) || !isfinite(predicted[i]))
			return tw_fail(err, TW_INVALID,
				       "row %zu: measured %g, predicted %g", i,
				       measured[i], predicted[i]);
	return 0;
}

static void add_errors(const double *measured, const double *predicted,
		       struct tw_score *s)
{
	const double n = (double)s->rows;
	double mean = 0.0, squares = 0.0, spread = 0.0;

	for (size_t i = 0; i < s->rows; i++)
		mean += measured[i] / n;
	s->mean = mean;
	for (size_t i = 0; i < s->rows; i++) {
		const double e = predicted[i] - measured[i];

		s->mae += fabs(e) / n;
		s->bias += e / n;
		squares += e * e / n;
		spread += (measured[i] - mean) * (measured[i] - mean) / n;
	}
	s->rmse = sqrt(squares);
	/* A smaller spread is rounding error. */
	s->r2 = spread > 1e-24 * mean * mean ? 1.0 - squares / spread : NAN;
}

static void add_percentage(const double *measured, const double *predicted,
			   struct tw_score *s)
{
	double low = measured[0], high = measured[0], sum = 0.0;
	size_t used = 0;

	for (size_t i = 1; i < s->rows; i++) {
		low = fmin(low, measured[i]);
		high = fmax(high, measured[i]);
	}
	s->mape_floor = fmax(1.0, 0.01 * (high - low));
	for (size_t i = 0; i < s->rows; i++) {
		if (measured[i] <= s->mape_floor)
			continue;
		sum += fabs(predicted[i] - measured[i]) / measured[i];
		used++;
	}
	s->mape = used > 0 ? 100.0 * sum / (double)used : NAN;
	s->mape_left_out = (double)(s->rows - used) / (double)s->rows;
}

int tw_score(const double *measured, const double *predicted, const double *main,
	     size_t rows, struct tw_score *out, struct tw_err *err)
{
	struct tw_score s = { .rows = rows };
	struct ranked *order;
	size_t idle;

	if (check_rows(measured, predicted, rows, err) < 0)
		return -1;
	order = calloc(rows, sizeof(*order));
	if (order == NULL)
		return tw_fail(err, TW_NOMEM, "order of %zu rows", rows);

	add_errors(measured, predicted, &s);
	add_percentage(measured, predicted, &s);

	for (size_t i = 0; i < rows; i++)
		order[i] = (struct ranked){ fabs(predicted[i] - measured[i]), i };
	qsort(order, rows, sizeof(*order), compare_ranked);
	s.p95 = order[part_of(rows, 95) - 1].key;

	for (size_t i = 0; i < rows; i++)
		order[i] = (struct ranked){ main != NULL ? main[i] : measured[i], i };
	qsort(order, rows, sizeof(*order), compare_ranked);
	idle = part_of(rows, 5);
	for (size_t i = 0; i < idle; i++)
		s.idle_bias +=
			(predicted[order[i].row] - measured[order[i].row]) / (double)idle;

	free(order);
	*out = s;
	return 0;
}

json_t *tw_score_to_json(const struct tw_score *s)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", /**/
			 "mae", tw_json_rounded(s->mae), "rmse", tw_json_rounded(s->rmse),
			 "r2", tw_json_rounded(s->r2), "bias", tw_json_rounded(s->bias),
			 "p95", tw_json_rounded(s->p95), "mape", tw_json_rounded(s->mape),
			 "mape_floor", tw_json_rounded(s->mape_floor), "mape_left_out",
			 tw_json_rounded(s->mape_left_out), "idle_bias",
			 tw_json_rounded(s->idle_bias));
}
