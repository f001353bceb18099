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
	const char *label;  /* in the legend; "": not there */
	const char *colour; /* "#4477aa" */
	bool line;          /* else dots */
	const double *x, *y;
	size_t count;
};

/* A marked range of x, with a name: a workload in a chart over time. */
struct tw_svg_band {
	const char *name;
	double from, to;
};

struct tw_svg_chart {
	const char *title, *x_label, *y_label;
	const struct tw_svg_series *series;
	size_t count;
	bool zero_y; /* the axis includes 0 */
	bool zero_x;
	const struct tw_svg_band *bands; /* behind the series; in order of x */
	size_t band_count;
	/* Part of an HTML page: without the name space, in the colours of the page. */
	bool in_page;
};

/* Append text with the characters escaped that mean something in SVG and HTML. */
void tw_svg_add_text(struct tw_buf *b, const char *s);

void tw_svg_chart(const struct tw_svg_chart *c, struct tw_buf *out);

#endif /* TW_MODEL_DB_SVG_H */
