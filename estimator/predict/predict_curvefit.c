/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/predictor.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "model-db/curve.h"

/*
 * A curve of one feature. model-db/curve.h has the formulas and reads the file. The other
 * features are ignored.
 */
struct curvefit {
	struct tw_curve curve;
	size_t feature; /* index among the component's features */
};

static int read_text(const char *text, size_t len, const struct tw_strs *features,
		     void *state, struct tw_err *err)
{
	struct curvefit *f = state;
	ptrdiff_t place;

	if (tw_curve_read(text, len, "", &f->curve, err) < 0)
		return -1;
	place = tw_strs_find(features, f->curve.feature);
	if (place < 0)
		return tw_fail(err, TW_INVALID, "'%s' is not a feature of the component",
			       f->curve.feature);
	f->feature = (size_t)place;
	return 0;
}

static void predict(const void *state, const struct tw_rows *in, double *watts)
{
	const struct curvefit *f = state;
	const uint32_t column = tw_rows_column(in, f->feature);

	for (size_t r = 0; r < in->rows; r++)
		watts[r] = tw_curve_watts(
			&f->curve,
			column != UINT32_MAX ? in->x[r * in->stride + column] : 0.0);
}

const struct tw_predictor tw_predictor_curvefit = {
	.name = "curvefit",
	.summary = "a curve of one feature",
	.state_bytes = sizeof(struct curvefit),
	.read_text = read_text,
	.predict = predict,
};
