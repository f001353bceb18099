/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/line.h"

#include <math.h>

void tw_line_add(struct tw_line *l, double x, double y)
{
	if (l->n == 0) {
		l->first_x = x;
		l->first_y = y;
	}
	x -= l->first_x;
	y -= l->first_y;
	l->n++;
	l->x += x;
	l->y += y;
	l->xx += x * x;
	l->xy += x * y;
	l->yy += y * y;
}

double tw_line_mean_x(const struct tw_line *l)
{
	return l->first_x + l->x / l->n;
}

double tw_line_mean_y(const struct tw_line *l)
{
	return l->first_y + l->y / l->n;
}

double tw_line_xx(const struct tw_line *l)
{
	return fmax(l->xx - l->x * l->x / l->n, 0);
}

double tw_line_xy(const struct tw_line *l)
{
	return l->xy - l->x * l->y / l->n;
}

double tw_line_yy(const struct tw_line *l)
{
	return fmax(l->yy - l->y * l->y / l->n, 0);
}

double tw_line_slope(const struct tw_line *l)
{
	const double xx = tw_line_xx(l);

	return xx > 0 ? tw_line_xy(l) / xx : 0;
}

double tw_line_at(const struct tw_line *l, double x)
{
	return tw_line_mean_y(l) + tw_line_slope(l) * (x - tw_line_mean_x(l));
}

double tw_line_share(const struct tw_line *l)
{
	const double xx = tw_line_xx(l), xy = tw_line_xy(l), yy = tw_line_yy(l);

	return xx > 0 && yy > 0 && xy > 0 ? xy * xy / (xx * yy) : 0;
}

double tw_line_variance(const struct tw_line *l)
{
	if (l->n <= 2)
		return INFINITY;
	return fmax(tw_line_yy(l) - tw_line_slope(l) * tw_line_xy(l), 0) / (l->n - 2);
}

double tw_line_variance_at(const struct tw_line *l, double x)
{
	const double off = x - tw_line_mean_x(l), xx = tw_line_xx(l);

	return tw_line_variance(l) * (1 / l->n + (xx > 0 ? off * off / xx : INFINITY));
}
