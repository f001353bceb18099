/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/report/plot.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/field/dataset.h"
#include "lib/field/feature.h"
#include "model-db/report/svg.h"
#include "model-db/validation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A dark and a light colour, for readers who are colour-blind. */
#define MEASURED "#223a5e"
#define PREDICTED "#e8743b"

/* Measured and predicted power over x; the chart has the titles. */
static void draw_both(const struct tw_dataset *d, enum tw_component c, const double *x,
		      bool line, struct tw_svg_chart chart, struct tw_buf *out)
{
	const struct tw_svg_series series[] = {
		{ .label = "measured",
		  .colour = MEASURED,
		  .line = line,
		  .x = x,
		  .y = tw_dataset_find(d, tw_power_column(c)),
		  .count = d->rows },
		{ .label = "predicted",
		  .colour = PREDICTED,
		  .line = line,
		  .x = x,
		  .y = tw_dataset_find(d, tw_validation_column(c)),
		  .count = d->rows },
	};

	chart.y_label = "power (W)";
	chart.zero_y = true;
	chart.series = series;
	chart.count = TW_COUNT(series);
	tw_svg_chart(&chart, out);
}

static int draw_power_curve(const struct tw_dataset *d, enum tw_component c,
			    const char *title, struct tw_buf *out, struct tw_err *err)
{
	const struct tw_column *load = tw_validation_load_of(d, c);
	const struct tw_feature *f = load != NULL ? tw_feature_find(load->name) : NULL;
	char label[256];

	if (load == NULL)
		return tw_fail(err, TW_NOTFOUND, "the validation has no feature");
	snprintf(label, sizeof(label), f != NULL ? "%s (%s)" : "%s", load->name,
		 f != NULL ? f->unit : "");
	draw_both(
		d, c, load->v, false,
		(struct tw_svg_chart){ .title = title, .x_label = label, .zero_x = true },
		out);
	return 0;
}

static int draw_time(const struct tw_dataset *d, enum tw_component c, const char *title,
		     struct tw_buf *out, struct tw_err *err)
{
	double *minutes = calloc(d->rows + 1, sizeof(*minutes));

	if (minutes == NULL)
		return tw_fail(err, TW_NOMEM, "%zu times", d->rows);
	for (size_t r = 0; r < d->rows; r++)
		minutes[r] = (double)(d->time_ms[r] - d->time_ms[0]) / 60000.0;
	draw_both(
		d, c, minutes, true,
		(struct tw_svg_chart){ .title = title,
				       .x_label = "time since the first row (minutes)" },
		out);
	free(minutes);
	return 0;
}

static int draw_residuals(const struct tw_dataset *d, enum tw_component c,
			  const char *title, struct tw_buf *out, struct tw_err *err)
{
	const double *measured = tw_dataset_find(d, tw_power_column(c));
	const double *predicted = tw_dataset_find(d, tw_validation_column(c));
	double *residual = calloc(d->rows + 1, sizeof(*residual));

	if (residual == NULL)
		return tw_fail(err, TW_NOMEM, "%zu residuals", d->rows);
	for (size_t r = 0; r < d->rows; r++)
		residual[r] = predicted[r] - measured[r];
	tw_svg_chart(
		&(struct tw_svg_chart){
			.title = title,
			.x_label = "measured power (W)",
			.y_label = "predicted less measured (W)",
			.zero_y = true,
			.series = &(const struct tw_svg_series){ .label = "each row",
								 .colour = PREDICTED,
								 .x = measured,
								 .y = residual,
								 .count = d->rows },
			.count = 1 },
		out);
	free(residual);
	return 0;
}

static const struct tw_plot plots[] = {
	{ .name = "power-curve", .title = "Power curve", .draw = draw_power_curve },
	{ .name = "residuals",
	  .title = "Residuals against power",
	  .draw = draw_residuals },
	{ .name = "time", .title = "Predicted against measured", .draw = draw_time },
};

size_t tw_plot_count(void)
{
	return TW_COUNT(plots);
}

const struct tw_plot *tw_plot_at(size_t i)
{
	return &plots[i];
}

const struct tw_plot *tw_plot_find(const char *name)
{
	for (size_t i = 0; i < tw_plot_count(); i++)
		if (strcmp(plots[i].name, name) == 0)
			return &plots[i];
	return NULL;
}

int tw_plot_draw(const struct tw_plot *p, const struct tw_dataset *d, enum tw_component c,
		 const char *model, struct tw_buf *out, struct tw_err *err)
{
	char title[256];

	if (!tw_validation_has(d, c))
		return tw_fail(err, TW_NOTFOUND, "the validation has no %s",
			       tw_component_name(c));
	snprintf(title, sizeof(title), "%s: %s, %.128s", p->title, tw_component_name(c),
		 model);
	return p->draw(d, c, title, out, err);
}
