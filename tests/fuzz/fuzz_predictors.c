/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/predictor.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROWS 9

/*
 * The input is a predictor's name, a newline and a component's file. Property: what is
 * loaded can predict, and a row's watts do not depend on its company; in a series they do
 * not depend on the rows after it.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const double x[2 * ROWS] = { 0,    1,   -1,  NAN, 1e300, -1e300,
					    5,    NAN, NAN, NAN, 0.5,   1e6,
					    1e-9, 4,   5,   7,   2,     3 };
	static const int64_t time_ms[ROWS] = { 0,    1000, 2000, 3000,     9000,
					       9900, 9800, 9801, INT64_MAX };
	const char *end = size > 0 ? memchr(data, '\n', size) : NULL;
	const size_t name_len = end != NULL ? (size_t)(end - (const char *)data) : 0;
	const struct tw_predictor *p;
	struct tw_strs features = { 0 };
	struct tw_err err = { 0 };
	double all[ROWS], one;
	char name[16] = "";
	void *state = NULL;

	if (end == NULL || name_len >= sizeof(name))
		return 0;
	memcpy(name, data, name_len);
	p = tw_predictor_find(name);
	if (p == NULL || tw_strs_split(&features, "f0,f1", &err) < 0 ||
	    tw_predictor_load(p, end + 1, size - name_len - 1, &features, &state, &err) <
		    0) {
		tw_strs_clear(&features);
		return 0;
	}
	p->predict(state, &(struct tw_rows){ .x = x, .rows = ROWS, .stride = 2 }, all);
	for (size_t r = 0; r < ROWS; r++) {
		p->predict(state,
			   &(struct tw_rows){ .x = x + 2 * r, .rows = 1, .stride = 2 },
			   &one);
		if (isnan(all[r]) ? !isnan(one) : one != all[r])
			abort();
	}
	p->predict(state,
		   &(struct tw_rows){
			   .x = x, .rows = ROWS, .stride = 2, .time_ms = time_ms },
		   all);
	for (size_t rows = 1; rows < ROWS; rows++) {
		double some[ROWS];

		p->predict(
			state,
			&(struct tw_rows){
				.x = x, .rows = rows, .stride = 2, .time_ms = time_ms },
			some);
		if (isnan(all[rows - 1]) ? !isnan(some[rows - 1])
					 : some[rows - 1] != all[rows - 1])
			abort();
	}
	tw_predictor_free(p, state);
	tw_strs_clear(&features);
	return 0;
}
