/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_PLOT_H
#define TW_MODEL_DB_PLOT_H

/* Plots of a model's validation rows, as SVG: the registry of plots. */

#include "lib/field/energy.h"

#include <stddef.h>

struct tw_buf;
struct tw_dataset;
struct tw_err;

struct tw_plot {
	const char *name;  /* in file names and URLs: "power-curve" */
	const char *title; /* "Power curve" */

	/* Append the SVG. d: model-db/validation.h; it has both columns of c. */
	int (*draw)(const struct tw_dataset *d, enum tw_component c, const char *title,
		    struct tw_buf *out, struct tw_err *err);
};

size_t tw_plot_count(void);
const struct tw_plot *tw_plot_at(size_t i);

/* NULL if there is no plot of that name. */
const struct tw_plot *tw_plot_find(const char *name);

/*
 * Append the plot of one component; model is for the title. TW_NOTFOUND if the validation
 * rows lack the component.
 */
int tw_plot_draw(const struct tw_plot *p, const struct tw_dataset *d, enum tw_component c,
		 const char *model, struct tw_buf *out, struct tw_err *err);

#endif /* TW_MODEL_DB_PLOT_H */
