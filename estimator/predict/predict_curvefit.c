/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/registry.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "model-db/curve.h"

#include <math.h>
#include <stdlib.h>

/*
 * A curve of one feature. model-db/curve.h has the formulas and reads the file. The other
 * features are ignored.
 */
struct curvefit {
	struct tw_curve curve;
	size_t feature; /* index among the component's features */
};

static int load(const char *text, size_t len, const struct tw_strs *features,
		void **state, struct tw_err *err)
{
	struct curvefit *f = calloc(1, sizeof(*f));
	ptrdiff_t place;
	int rc = -1;

	if (f == NULL) {
		tw_fail(err, TW_NOMEM, "curve");
		goto out;
	}
	if (tw_curve_read(text, len, "", &f->curve, err) < 0)
		goto out;
	place = tw_strs_find(features, f->curve.feature);
	if (place < 0) {
		tw_fail(err, TW_INVALID, "'%s' is not a feature of the component",
			f->curve.feature);
		goto out;
	}
	f->feature = (size_t)place;
	*state = f;
	f = NULL;
	rc = 0;
out:
	free(f);
	return rc;
}

static void predict(const void *state, const struct tw_rows *in, double *watts)
{
	const struct curvefit *f = state;
	const uint32_t column =
		in->place != NULL ? in->place[f->feature] : (uint32_t)f->feature;

	for (size_t r = 0; r < in->rows; r++)
		watts[r] = tw_curve_watts(
			&f->curve,
			column != UINT32_MAX ? in->x[r * in->stride + column] : 0.0);
}

const struct tw_predictor tw_predictor_curvefit = {
	.name = "curvefit",
	.summary = "a curve of one feature",
	.load = load,
	.predict = predict,
	.free = free,
};
