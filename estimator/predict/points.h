/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_POINTS_H
#define TW_ESTIMATOR_POINTS_H

/*
 * Points in the space of scaled features, each with a value. Models that compare a row
 * with training rows (knn, svr) consist of them.
 *
 *	"scale": [s_0, ..], "points": [[z_0, ..], ..], "values": [v_0, ..]
 */

#include <jansson.h>
#include <stddef.h>

struct tw_err;

#define TW_POINTS_MAX 100000
#define TW_POINTS_FEATURES_MAX 256

struct tw_points {
	size_t count, cols;
	double *inverse; /* cols: 1 / scale, or 0 if scale is 0 */
	double *z;       /* count * cols, row by row */
	double *value;   /* count */
};

/* *out must be all zero; release it, on failure too. */
int tw_points_read(const json_t *obj, const char *where, size_t cols,
		   struct tw_points *out, struct tw_err *err);

/* Squared Euclidean distance of a scaled row to a point; may be infinite, never NaN. */
double tw_points_distance(const struct tw_points *p, size_t point, const double *z);

void tw_points_release(struct tw_points *p);

#endif /* TW_ESTIMATOR_POINTS_H */
