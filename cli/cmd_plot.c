/* SPDX-License-Identifier: Apache-2.0 */
/* tallywatt plot: a model's validation rows, or a table of features and power, as SVG. */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "cli/memory.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/field/csv.h"
#include "lib/field/dataset.h"
#include "model-db/report/plot.h"
#include "model-db/report/svg.h"
#include "model-db/validation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_TEXT 4096
#define SERIES_MAX 8

struct config {
	char *model, *csv, *output;
	struct tw_strs columns;
};

static const struct tw_opt options[] = {
	{ TW_ROW(TEXT, "model", model, "ZIP",
		 "draw the validation rows of this model of a database") },
	{ TW_ROW(TEXT, "csv", csv, "FILE",
		 "or draw the columns of this table over time") },
	{ TW_ROW(LIST, "columns", columns, "NAME,...",
		 "columns of --csv (default: those of power)") },
	{ TW_ROW(TEXT, "output", output, "DIR", "directory to write the SVG files to"),
	  .required = true },
};

/* Write DIR/NAME.svg, and print its path. */
static int write_plot(const char *dir, const char *name, const struct tw_buf *b,
		      struct tw_err *err)
{
	char path[PATH_TEXT];

	if (snprintf(path, sizeof(path), "%s/%s.svg", dir, name) >= (int)sizeof(path))
		return tw_fail(err, TW_INVALID, "'%.64s..': too long a path", dir);
	if (tw_command_write(b, NULL, path, err) < 0)
		return -1;
	printf("%s\n", path);
	return 0;
}

/* ---- a model ---- */

/* "Model_0" of "dir/Model_0.zip", which outlives out. */
static void name_of(const char *path, char *out, size_t size)
{
	const char *base = strrchr(path, '/');

	base = base != NULL ? base + 1 : path;
	snprintf(out, size, "%.*s", (int)(strlen(base) - strlen(".zip")), base);
}

static int draw_component(const struct config *c, const struct tw_dataset *d,
			  enum tw_component part, const char *model, struct tw_err *err)
{
	for (size_t i = 0; i < tw_plot_count(); i++) {
		const struct tw_plot *p = tw_plot_at(i);
		struct tw_buf b = { 0 };
		char name[256];
		int rc;

		snprintf(name, sizeof(name), "%.128s.%s.%s", model,
			 tw_component_name(part), p->name);
		rc = tw_plot_draw(p, d, part, model, &b, err);
		if (rc == 0)
			rc = write_plot(c->output, name, &b, err);
		tw_buf_clear(&b);
		if (rc < 0)
			return -1;
	}
	return 0;
}

static int draw_model(const struct config *c, struct tw_err *err)
{
	struct tw_dataset d = { 0 };
	char model[256];
	bool any = false;
	int rc = -1;

	name_of(c->model, model, sizeof(model));
	if (tw_validation_load(c->model, &d, err) < 0)
		goto out;
	for (int i = 0; i < TW_COMPONENT_COUNT; i++) {
		const enum tw_component part = (enum tw_component)i;

		if (!tw_validation_has_power(&d, part))
			continue;
		any = true;
		if (draw_component(c, &d, part, model, err) < 0)
			goto out;
	}
	rc = any ? 0 : tw_fail(err, TW_NOTFOUND, "'%s': no power in its rows", c->model);
out:
	tw_dataset_release(&d);
	return rc;
}

/* ---- a table ---- */

static bool is_power(const char *column)
{
	for (int i = 0; i < TW_COMPONENT_COUNT; i++)
		if (strcmp(column, tw_power_column((enum tw_component)i)) == 0)
			return true;
	return false;
}

static bool is_wanted(const struct config *c, const char *column)
{
	return c->columns.count > 0 ? tw_strs_has(&c->columns, column) : is_power(column);
}

static int check_columns(const struct config *c, const struct tw_dataset *d,
			 struct tw_err *err)
{
	for (size_t i = 0; i < c->columns.count; i++)
		if (tw_dataset_find(d, c->columns.at[i]) == NULL)
			return tw_fail(err, TW_NOTFOUND, "'%s': no column '%.64s'",
				       c->csv, c->columns.at[i]);
	return 0;
}

static size_t choose_series(const struct config *c, const struct tw_dataset *d,
			    const double *seconds, struct tw_svg_series *out)
{
	static const char *const colours[SERIES_MAX] = { "#4477aa", "#ee6677", "#228833",
							 "#ccbb44", "#66ccee", "#aa3377",
							 "#bbbbbb", "#000000" };
	size_t n = 0;

	for (size_t i = 0; i < d->cols && n < SERIES_MAX; i++) {
		if (!is_wanted(c, d->col[i].name))
			continue;
		out[n] = (struct tw_svg_series){ .label = d->col[i].name,
						 .colour = colours[n],
						 .line = d->id == NULL,
						 .x = seconds,
						 .y = d->col[i].v,
						 .count = d->rows };
		n++;
	}
	return n;
}

static int draw_table(const struct config *c, struct tw_err *err)
{
	struct tw_svg_series series[SERIES_MAX];
	struct tw_svg_chart chart = { .title = "Data over time",
				      .x_label = "time in s",
				      .y_label = c->columns.count > 0 ? "value" : "W",
				      .series = series,
				      .zero_y = true };
	struct tw_dataset d = { 0 };
	struct tw_buf b = { 0 };
	double *seconds = NULL;
	int rc = -1;

	if (tw_csv_load(c->csv, &d, err) < 0 || check_columns(c, &d, err) < 0)
		goto out;
	seconds = tw_must(calloc(d.rows + 1, sizeof(*seconds)));
	for (size_t r = 0; r < d.rows; r++)
		seconds[r] = (double)(d.time_ms[r] - d.time_ms[0]) / 1e3;
	chart.count = choose_series(c, &d, seconds, series);
	if (chart.count == 0 || d.rows == 0) {
		tw_fail(err, TW_NOTFOUND, "'%s': no rows with power; name --columns",
			c->csv);
		goto out;
	}
	tw_svg_chart(&chart, &b);
	rc = write_plot(c->output, "data", &b, err);
out:
	free(seconds);
	tw_buf_clear(&b);
	tw_dataset_release(&d);
	return rc;
}

/* ---- the command ---- */

static int plot(void *config, struct tw_err *err)
{
	const struct config *c = config;

	if (mkdir(c->output, 0777) < 0 && errno != EEXIST)
		return tw_fail_errno(err, errno, "cannot make '%s'", c->output);
	return c->model != NULL ? draw_model(c, err) : draw_table(c, err);
}

static int check_use(void *config, struct tw_err *err)
{
	const struct config *c = config;

	if ((c->model == NULL) == (c->csv == NULL))
		return tw_fail(err, TW_INVALID, "want one of --model and --csv");
	if (c->columns.count > SERIES_MAX)
		return tw_fail(err, TW_INVALID, "--columns: at most %d", SERIES_MAX);
	if (c->model != NULL && c->columns.count > 0)
		return tw_fail(err, TW_INVALID, "--columns needs --csv");
	if (c->model != NULL && !tw_ends_with(c->model, ".zip"))
		return tw_fail(err, TW_INVALID,
			       "--model: want the path of a model's zip");
	return 0;
}

const struct tw_command tw_command_plot = {
	.opts = TW_COMMAND_OPTS(
		"plot", NULL,
		"Draw a model's estimate, error and power curve, or recorded data."),
	.config_size = sizeof(struct config),
	.check = check_use,
	.work = plot,
};
