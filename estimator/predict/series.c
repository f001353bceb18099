/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/series.h"

#include "estimator/predict/predictor.h"
#include "lib/core/array.h"
#include "lib/core/err.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int tw_recent_rows_reserve(struct tw_recent_rows *s, size_t cols, size_t back,
			   struct tw_err *err)
{
	const size_t room = back + 1;

	assert(cols > 0 && (s->cols == 0 || s->cols == cols));
	if (room <= s->room)
		return 0;
	if (!tw_resize(&s->x, room * cols, sizeof(*s->x)) ||
	    !tw_resize(&s->time_ms, room, sizeof(*s->time_ms)))
		return tw_fail(err, TW_NOMEM, "series of %zu rows", room);
	s->cols = cols;
	s->room = room;
	return 0;
}

void tw_recent_rows_add(struct tw_recent_rows *s, int64_t time_ms, const double *row)
{
	assert(s->room > 0);
	if (s->rows > 0 && s->time_ms[s->rows - 1] == time_ms)
		s->rows--;
	else if (s->rows > 0 && s->time_ms[s->rows - 1] > time_ms)
		s->rows = 0;
	if (s->rows == s->room) {
		s->rows--;
		memmove(s->time_ms, s->time_ms + 1, s->rows * sizeof(*s->time_ms));
		memmove(s->x, s->x + s->cols, s->rows * s->cols * sizeof(*s->x));
	}
	s->time_ms[s->rows] = time_ms;
	memcpy(s->x + s->rows * s->cols, row, s->cols * sizeof(*row));
	s->rows++;
}

void tw_recent_rows_newest(const struct tw_recent_rows *s, struct tw_rows *out)
{
	const size_t before = s->rows - 1;

	assert(s->rows > 0);
	*out = (struct tw_rows){ .x = s->x + before * s->cols,
				 .rows = 1,
				 .stride = s->cols,
				 .time_ms = s->time_ms + before,
				 .before = before };
}

void tw_recent_rows_release(struct tw_recent_rows *s)
{
	free(s->x);
	free(s->time_ms);
	*s = (struct tw_recent_rows){ 0 };
}
