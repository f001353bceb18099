/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_SVG_H
#define TW_MODEL_DB_SVG_H

/*
 * Draws a chart with two axes as a small SVG, without scripts or fonts. The same values
 * give the same bytes.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_buf;

/* Points of a series; borrowed. Points with NaN are left out. */
struct tw_svg_series {
	const char *label;  /* in the legend */
	const char *colour; /* "#4477aa" */
	bool line;          /* else dots */
	const double *x, *y;
	size_t count;
};

struct tw_svg_chart {
	const char *title, *x_label, *y_label;
	const struct tw_svg_series *series;
	size_t count;
	bool zero_y; /* the axis includes 0 */
	bool zero_x;
};

void tw_svg_chart(const struct tw_svg_chart *c, struct tw_buf *out);

#endif /* TW_MODEL_DB_SVG_H */
