/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/tick_rows.h"

int tw_tick_rows_reserve(struct tw_tick_rows *t, size_t cols, size_t back,
			 struct tw_err *err)
{
	return tw_recent_rows_reserve(&t->machine, cols, back, err) < 0 ||
			       tw_recent_rows_reserve(&t->rest, cols, back, err) < 0
		       ? -1
		       : 0;
}

void tw_tick_rows_add(struct tw_tick_rows *t, uint64_t elapsed_ns, const double *rows)
{
	int64_t time_ms;

	t->time_ns += elapsed_ns;
	if (rows == NULL)
		return;
	time_ms = (int64_t)(t->time_ns / 1000000);
	tw_recent_rows_add(&t->machine, time_ms, rows);
	tw_recent_rows_add(&t->rest, time_ms, rows + t->rest.cols);
}

void tw_tick_rows_release(struct tw_tick_rows *t)
{
	tw_recent_rows_release(&t->machine);
	tw_recent_rows_release(&t->rest);
	*t = (struct tw_tick_rows){ .time_ns = 0 };
}
