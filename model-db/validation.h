/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_VALIDATION_H
#define TW_MODEL_DB_VALIDATION_H

/*
 * Rows by which a model was judged: <model>.validation.csv beside its zip, for plots and
 * for whoever doubts the figures. Each row was predicted by a model that had not seen it
 * (docs/accuracy.md).
 *
 * A dataset with the columns "fold", the features that tell the load, and for each
 * component "<component>_power" and "<component>_predicted", in watts. Of many rows that
 * many are kept, evenly chosen over time; the figures in the metadata are of all.
 */

#include "lib/field/dataset.h"

#include <stddef.h>

struct tw_buf;
struct tw_err;

#define TW_VALIDATION_ROWS_MAX 400
#define TW_VALIDATION_BYTES_MAX ((size_t)1 << 20)

/* "package_predicted" for TW_PACKAGE: lives for ever. */
const char *tw_validation_column(enum tw_component c);

/* How many of so many rows are kept, and which of them the i-th of those is. */
size_t tw_validation_rows(size_t rows);
size_t tw_validation_row(size_t rows, size_t i);

/* Append the rows that are kept, as CSV: watts to 1 mW, others to six digits. */
int tw_validation_write(const struct tw_dataset *all, struct tw_buf *out,
			struct tw_err *err);

/*
 * Read untrusted text back. Fails where no component has both columns. *out must be
 * empty; it is yours.
 */
int tw_validation_read(const char *data, size_t len, struct tw_dataset *out,
		       struct tw_err *err);

/*
 * The rows of the model with this zip. TW_NOTFOUND where it has none: imported models,
 * and those of before there were any.
 */
int tw_validation_load(const char *zip_path, struct tw_dataset *out, struct tw_err *err);

/* Whether the component has both columns. */
bool tw_validation_has(const struct tw_dataset *d, enum tw_component c);

/* Whether it also draws any power: others are not worth a plot. */
bool tw_validation_has_power(const struct tw_dataset *d, enum tw_component c);

/* The feature that tells the component's load (tw_main_feature()); NULL where there is
 * none. */
const struct tw_column *tw_validation_load_of(const struct tw_dataset *d,
					      enum tw_component c);

#endif /* TW_MODEL_DB_VALIDATION_H */
