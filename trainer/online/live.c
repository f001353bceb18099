/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/online/live.h"

#include <math.h>
#include <string.h>

void tw_live_add(struct tw_live *l, const struct tw_live_interval *i)
{
	if (i->rows == 0)
		return;
	/* Read again after a failure of the store. */
	if (l->count > 0 && l->at[l->count - 1].from_ms == i->from_ms) {
		l->at[l->count - 1] = *i;
		return;
	}
	if (l->count == TW_LIVE_INTERVALS) {
		l->count--;
		memmove(l->at, l->at + 1, l->count * sizeof(l->at[0]));
	}
	l->at[l->count++] = *i;
}

double tw_live_mae_w(const struct tw_live *l)
{
	double sum = 0;
	size_t rows = 0;

	for (size_t i = 0; i < l->count; i++) {
		sum += l->at[i].error_sum_w;
		rows += l->at[i].rows;
	}
	return rows > 0 ? sum / (double)rows : NAN;
}

double tw_live_bias_w(const struct tw_live *l)
{
	double sum = 0;
	size_t rows = 0;

	for (size_t i = 0; i < l->count; i++) {
		sum += l->at[i].bias_sum_w;
		rows += l->at[i].rows;
	}
	return rows > 0 ? sum / (double)rows : NAN;
}

double tw_live_drift(const struct tw_live *l, double expected_w)
{
	return l->count >= 2 && expected_w > 0 ? tw_live_mae_w(l) / expected_w : NAN;
}

int64_t tw_live_onset_ms(const struct tw_live *l, double expected_w)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->at[i].error_sum_w >
		    TW_LIVE_DRIFT * expected_w * (double)l->at[i].rows)
			return l->at[i].from_ms;
	return l->count > 0 ? l->at[l->count - 1].from_ms : 0;
}
