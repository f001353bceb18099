/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/validation.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/field/csv.h"
#include "lib/field/feature.h"
#include "model-db/pipeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const predicted[] = {
	[TW_PACKAGE] = "package_predicted",   [TW_CORE] = "core_predicted",
	[TW_UNCORE] = "uncore_predicted",     [TW_DRAM] = "dram_predicted",
	[TW_PLATFORM] = "platform_predicted", [TW_GPU] = "gpu_predicted",
};

const char *tw_validation_column(enum tw_component c)
{
	return predicted[c];
}

bool tw_validation_has(const struct tw_dataset *d, enum tw_component c)
{
	return tw_dataset_find(d, tw_power_column(c)) != NULL &&
	       tw_dataset_find(d, predicted[c]) != NULL;
}

bool tw_validation_has_power(const struct tw_dataset *d, enum tw_component c)
{
	const double *watts = tw_dataset_find(d, tw_power_column(c));

	for (size_t r = 0; tw_validation_has(d, c) && r < d->rows; r++)
		if (watts[r] != 0.0)
			return true;
	return false;
}

static bool is_watts(const char *name)
{
	for (int c = 0; c < TW_COMPONENT_COUNT; c++)
		if (strcmp(name, predicted[c]) == 0 ||
		    strcmp(name, tw_power_column((enum tw_component)c)) == 0)
			return true;
	return false;
}

const struct tw_column *tw_validation_load_of(const struct tw_dataset *d,
					      enum tw_component c)
{
	const char *names[TW_CSV_COLS_MAX];
	const struct tw_column *column[TW_CSV_COLS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < d->cols && count < TW_CSV_COLS_MAX; i++) {
		const char *name = d->col[i].name;

		if (strcmp(name, "fold") == 0 || is_watts(name))
			continue;
		names[count] = name;
		column[count++] = &d->col[i];
	}
	return count > 0 ? column[tw_main_feature(names, count, c)] : NULL;
}

/* ---- writing ---- */

static double rounded(const char *column, double v)
{
	char text[32];

	if (is_watts(column))
		return round(v * 1e3) / 1e3;
	snprintf(text, sizeof(text), "%.6g", v);
	return strtod(text, NULL);
}

size_t tw_validation_rows(size_t rows)
{
	return rows < TW_VALIDATION_ROWS_MAX ? rows : TW_VALIDATION_ROWS_MAX;
}

size_t tw_validation_row(size_t rows, size_t i)
{
	return rows > TW_VALIDATION_ROWS_MAX ? i * rows / TW_VALIDATION_ROWS_MAX : i;
}

int tw_validation_write(const struct tw_dataset *all, struct tw_buf *out,
			struct tw_err *err)
{
	struct tw_dataset d = { 0 };
	bool *keep = calloc(all->rows + 1, sizeof(*keep));
	int rc = -1;

	if (keep == NULL) {
		tw_fail(err, TW_NOMEM, "%zu rows of a validation", all->rows);
		goto out;
	}
	for (size_t i = 0; i < tw_validation_rows(all->rows); i++)
		keep[tw_validation_row(all->rows, i)] = true;
	if (tw_dataset_copy(all, keep, &d, err) < 0)
		goto out;
	for (size_t c = 0; c < d.cols; c++)
		for (size_t r = 0; r < d.rows; r++)
			d.col[c].v[r] = rounded(d.col[c].name, d.col[c].v[r]);
	tw_csv_write(&d, out);

	rc = 0;
out:
	tw_dataset_release(&d);
	free(keep);
	return rc;
}

/* ---- reading ---- */

int tw_validation_read(const char *data, size_t len, struct tw_dataset *out,
		       struct tw_err *err)
{
	struct tw_dataset d = { 0 };

	if (len > TW_VALIDATION_BYTES_MAX)
		return tw_fail(err, TW_INVALID, "%zu bytes, limit is %zu", len,
			       TW_VALIDATION_BYTES_MAX);
	if (tw_csv_read(data, len, &d, err) < 0) {
		tw_dataset_release(&d);
		return -1;
	}
	for (int c = 0; c < TW_COMPONENT_COUNT; c++) {
		if (tw_validation_has(&d, (enum tw_component)c)) {
			*out = d;
			return 0;
		}
	}
	tw_dataset_release(&d);
	return tw_fail(err, TW_INVALID, "no component has both power and prediction");
}

int tw_validation_load(const char *zip_path, struct tw_dataset *out, struct tw_err *err)
{
	const size_t len = strlen(zip_path), suffix = strlen(".zip");
	struct tw_buf path = { 0 };
	char *name = NULL, *data = NULL;
	size_t data_len;
	int rc = -1;

	tw_buf_add(&path, zip_path, len > suffix ? len - suffix : len);
	tw_buf_adds(&path, TW_PIPELINE_VALIDATION);
	name = tw_buf_detach(&path, NULL);
	if (name == NULL) {
		tw_fail(err, TW_NOMEM, "'%s'", zip_path);
		goto out;
	}
	if (tw_file_read(name, TW_VALIDATION_BYTES_MAX, &data, &data_len, err) < 0)
		goto out;
	if (tw_validation_read(data, data_len, out, err) < 0) {
		tw_err_wrap(err, "'%s'", name);
		goto out;
	}

	rc = 0;
out:
	free(data);
	free(name);
	return rc;
}
