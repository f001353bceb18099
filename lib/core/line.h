/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CORE_LINE_H
#define TW_CORE_LINE_H

/*
 * A straight line y(x) by least squares, of points that are added one by one. Zeroed, it
 * has no points. Sums are of distances from the first point, so that large numbers lose
 * no digits.
 */

struct tw_line {
	double n; /* points */
	double first_x, first_y;
	double x, y;       /* sums of the distances from the first point */
	double xx, xy, yy; /* sums of their products */
};

void tw_line_add(struct tw_line *l, double x, double y);

double tw_line_mean_x(const struct tw_line *l);
double tw_line_mean_y(const struct tw_line *l);

/* Sums of squares and of products about the means. */
double tw_line_xx(const struct tw_line *l);
double tw_line_xy(const struct tw_line *l);
double tw_line_yy(const struct tw_line *l);

/* 0 where all points have one x. */
double tw_line_slope(const struct tw_line *l);
double tw_line_at(const struct tw_line *l, double x);

/* The share of the variance of y that a rising line explains; 0: it does not rise. */
double tw_line_share(const struct tw_line *l);

/* Variance of a point's distance from the line; infinite of two points or fewer. */
double tw_line_variance(const struct tw_line *l);
/* Variance of the line itself at x; infinite where all points have one x. */
double tw_line_variance_at(const struct tw_line *l, double x);

#endif /* TW_CORE_LINE_H */
