/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_VALIDATION_H
#define TW_MODEL_DB_VALIDATION_H

/*
 * The validation rows of a model: <model>.validation.csv beside its zip, for plots and to
 * check the figures. Each row was predicted by a model trained without it
 * (docs/accuracy.md).
 *
 * The dataset has the columns "fold", the main features, and for each component
 * "<component>_power" and "<component>_predicted" in watts. At most
 * TW_VALIDATION_ROWS_MAX rows are kept, evenly over time; the figures in the metadata are
 * computed from all rows.
 */

#include "lib/field/dataset.h"

#include <stddef.h>

struct tw_buf;
struct tw_err;

#define TW_VALIDATION_ROWS_MAX 400
#define TW_VALIDATION_BYTES_MAX ((size_t)1 << 20)

/* "package_predicted" for TW_PACKAGE; a constant. */
const char *tw_validation_column(enum tw_component c);

/* The number of rows kept of `rows`, and the original index of the i-th kept row. */
size_t tw_validation_rows(size_t rows);
size_t tw_validation_row(size_t rows, size_t i);

/* Append the kept rows as CSV: watts rounded to 1 mW, other columns to six digits. */
int tw_validation_write(const struct tw_dataset *all, struct tw_buf *out,
			struct tw_err *err);

/*
 * Read untrusted CSV. Fails if no component has both columns. *out must be empty; it is
 * yours.
 */
int tw_validation_read(const char *data, size_t len, struct tw_dataset *out,
		       struct tw_err *err);

/*
 * Load the rows of the model with this zip. TW_NOTFOUND if it has none, as imported
 * models.
 */
int tw_validation_load(const char *zip_path, struct tw_dataset *out, struct tw_err *err);

/* Whether the component has both columns. */
bool tw_validation_has(const struct tw_dataset *d, enum tw_component c);

/* Whether the component also has a row with power other than 0. */
bool tw_validation_has_power(const struct tw_dataset *d, enum tw_component c);

/* The main feature of the component (tw_main_feature()); NULL if there are no features.
 */
const struct tw_column *tw_validation_load_of(const struct tw_dataset *d,
					      enum tw_component c);

#endif /* TW_MODEL_DB_VALIDATION_H */
