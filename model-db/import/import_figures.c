/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/field/csv.h"
#include "model-db/import/import_model.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Figures of a model in the table of an old pipeline (model-db/import/import_model.h). */

#define CELL_MAX 128

struct table {
	struct tw_csv_cells cells;
	struct tw_strs header;
	const char *model, *group;
	json_t *figures; /* of the row that is read */
	bool is_model, is_group;
};

static bool is_figure(const char *column)
{
	const size_t len = strlen(column);

	return (len >= 3 && strcmp(column + len - 3, "mae") == 0) ||
	       (len >= 4 && strcmp(column + len - 4, "mape") == 0);
}

static bool cell_is(const struct tw_csv_cells *c, const char *text)
{
	return c->text_len == strlen(text) && memcmp(c->text, text, c->text_len) == 0;
}

/* A cell that is no number is no figure. */
static int take_cell(struct table *t, size_t column, struct tw_err *err)
{
	const char *name = column < t->header.count ? t->header.at[column] : "";
	double value;

	if (strcmp(name, "model_name") == 0)
		t->is_model = cell_is(&t->cells, t->model);
	else if (strcmp(name, "feature_group") == 0)
		t->is_group = cell_is(&t->cells, t->group);
	else if (is_figure(name) && t->cells.text_len < CELL_MAX &&
		 tw_parse_double(t->cells.text, t->cells.text_len, &value) &&
		 isfinite(value) &&
		 json_object_set_new(t->figures, name, json_real(value)) < 0)
		return tw_fail(err, TW_NOMEM, "figures of a model");
	return 0;
}

/* *found: the row is the model's. False at the end. */
static bool next_row(struct table *t, bool *found, struct tw_err *err)
{
	size_t column = 0;

	json_object_clear(t->figures);
	t->is_model = false;
	t->is_group = false;
	do {
		if (!tw_csv_cells_next(&t->cells, err) || take_cell(t, column, err) < 0)
			return false;
		column++;
	} while (!t->cells.ends_row);
	*found = t->is_model && t->is_group;
	return true;
}

static bool read_header(struct table *t, struct tw_err *err)
{
	do {
		if (!tw_csv_cells_next(&t->cells, err) ||
		    tw_strs_add(&t->header, t->cells.text, t->cells.text_len, err) < 0)
			return false;
	} while (!t->cells.ends_row);
	return true;
}

static int look_up(struct table *t, json_t *metadata, struct tw_err *err)
{
	struct tw_err why = { 0 };
	bool found = false;

	if (read_header(t, &why))
		while (!found && next_row(t, &found, &why))
			;
	if (why.code == TW_NOMEM ||
	    (found && json_object_update(metadata, t->figures) < 0))
		return tw_fail(err, TW_NOMEM, "figures of a model");
	return 0;
}

int tw_import_figures(const struct tw_fileset *old, const char *base, json_t *metadata,
		      struct tw_err *err)
{
	char text[TW_IMPORT_PLACE], name[TW_IMPORT_PLACE + 32], *part[4], *save = NULL;
	struct table t = { .model = "" };
	const struct tw_fileset_file *f;
	int rc = -1;

	snprintf(text, sizeof(text), "%s", base);
	for (int k = 0; k < 4; k++)
		part[k] = strtok_r(k == 0 ? text : NULL, "/", &save);
	if (part[3] == NULL)
		return 0;
	snprintf(name, sizeof(name), "%s_%s_model_metadata.csv", part[0], part[1]);
	f = tw_fileset_find(old, name);
	if (f == NULL)
		return 0;
	t.cells = (struct tw_csv_cells){ .data = f->data, .len = f->len };
	t.group = part[2];
	t.model = part[3];
	t.figures = json_object();
	if (t.figures == NULL) {
		tw_fail(err, TW_NOMEM, "figures of a model");
		goto out;
	}
	if (look_up(&t, metadata, err) < 0)
		goto out;
	rc = 0;
out:
	json_decref(t.figures);
	tw_csv_cells_release(&t.cells);
	tw_strs_clear(&t.header);
	return rc;
}
