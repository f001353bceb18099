/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/request_rows.h"

#include "estimator/predict/power_model.h"
#include "estimator/predict/predictor.h"
#include "estimator/request.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/hash.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* No feature has a value above this. */
#define VALUE_MAX 1e18

/* Names in another order have another hash. */
static uint64_t hash_names(const struct tw_strs *names)
{
	uint64_t hash = names->count;

	for (size_t i = 0; i < names->count; i++)
		hash = hash * 31 + tw_hash(names->at[i], strlen(names->at[i]));
	return hash;
}

/* Rows of zeros are idle requests: the machine would use some CPU time. */
static bool is_idle(const struct tw_request *r)
{
	for (size_t i = 0; i < r->metrics.count - r->systems; i++)
		if (r->x[i] > 0)
			return false;
	return true;
}

/* Several rows are of several workloads. Requests of version 2 name their series. */
static bool is_of_node(const struct tw_request *r)
{
	return r->version < 2 && r->rows == 1 && r->output == TW_ABS_POWER && !is_idle(r);
}

/* Identifies all of a request but its row. */
static uint64_t hash_question(const struct tw_request *r, uint64_t columns)
{
	const char *const texts[] = { r->source->name,
				      r->trainer != NULL ? r->trainer : "",
				      r->filter != NULL ? r->filter : "" };
	uint64_t hash = columns;

	for (size_t i = 0; i < TW_COUNT(texts); i++)
		hash = tw_hash_add(hash, texts[i], strlen(texts[i]) + 1);
	return hash;
}

int tw_request_rows_begin(struct tw_request_rows *b, const struct tw_request *r,
			  const struct tw_power_model *model,
			  const struct tw_series_scope *scope, struct tw_err *err)
{
	const size_t need = TW_REQUEST_ROWS_BATCH * r->metrics.count;

	b->r = r;
	b->scope = *scope;
	b->back = model != NULL ? tw_power_model_back(model) : 0;
	b->step_ms = model != NULL ? tw_power_model_step_ms(model) : 0;
	b->node = b->back > 0 && r->time_ms == NULL && scope->nodes != NULL &&
		  is_of_node(r);
	if (r->time_ms == NULL && !b->node)
		b->back = 0;
	tw_recent_rows_release(&b->unnamed);
	if (b->back > 0)
		b->columns = hash_names(&r->metrics);
	if (r->systems == 0 || need <= b->size)
		return 0;
	if (!tw_resize(&b->x, need, sizeof(*b->x)))
		return tw_fail(err, TW_NOMEM, "%zu columns", r->metrics.count);
	b->size = need;
	return 0;
}

static void get_independent(struct tw_request_rows *b, size_t first, size_t count,
			    struct tw_rows *out)
{
	const struct tw_request *r = b->r;
	const size_t cols = r->metrics.count, own = cols - r->systems;

	*out = (struct tw_rows){ .x = r->x + first * own, .rows = count, .stride = own };
	if (r->systems == 0)
		return;
	for (size_t i = 0; i < count; i++) {
		double *row = b->x + i * cols;

		memcpy(row, r->x + (first + i) * own, own * sizeof(*row));
		memcpy(row + own, r->system, r->systems * sizeof(*row));
	}
	out->x = b->x;
	out->stride = cols;
}

/* Add the single row to the series of the client's node. */
static void add_to_node(struct tw_request_rows *b, struct tw_rows *out)
{
	const struct tw_node_row row = {
		.client = b->scope.client,
		.question = hash_question(b->r, b->columns),
		.x = out->x,
		.cols = b->r->metrics.count,
		.now_ms = b->scope.now_ms,
		.back = b->back,
		.step_ms = b->step_ms,
	};

	tw_node_series_add(b->scope.nodes, &row, out);
}

/*
 * A row with a value that no feature has is not a part of a series: it would distort the
 * watts of the rows after it.
 */
static bool is_absurd(const double *x, size_t cols)
{
	for (size_t i = 0; i < cols; i++)
		if (x[i] < 0 || x[i] > VALUE_MAX)
			return true;
	return false;
}

static int find_series(struct tw_request_rows *b, size_t row, struct tw_recent_rows **out,
		       struct tw_err *err)
{
	const struct tw_strs *names = b->r->series;
	const size_t cols = b->r->metrics.count;

	if (names->count == 0) {
		*out = &b->unnamed;
		return tw_recent_rows_reserve(&b->unnamed, cols, b->back, err);
	}
	return tw_history_find(
		b->scope.history,
		&(struct tw_history_key){ .name = names->at[names->count > 1 ? row : 0],
					  .user = b->scope.user,
					  .columns = b->columns,
					  .cols = cols },
		b->back, out, err);
}

int tw_request_rows_get(struct tw_request_rows *b, size_t first, size_t most,
			struct tw_rows *out, struct tw_err *err)
{
	struct tw_recent_rows *series;

	assert(most > 0 && most <= TW_REQUEST_ROWS_BATCH && first + most <= b->r->rows);
	get_independent(b, first, b->back > 0 ? 1 : most, out);
	if (b->back > 0 && !is_absurd(out->x, b->r->metrics.count)) {
		if (b->node) {
			add_to_node(b, out);
		} else {
			if (find_series(b, first, &series, err) < 0)
				return -1;
			tw_recent_rows_add(series, b->r->time_ms[first], out->x);
			tw_recent_rows_newest(series, out);
		}
	}
	out->categories = &b->r->categories;
	return 0;
}

void tw_request_rows_release(struct tw_request_rows *b)
{
	free(b->x);
	tw_recent_rows_release(&b->unnamed);
	*b = (struct tw_request_rows){ 0 };
}
