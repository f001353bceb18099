/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DATASET_H
#define TW_DATASET_H

/*
 * A table of samples: a row a time stamp, named numeric columns.
 *
 * Columns are
 * - features by canonical name ("cpu_cycles"), in the units of docs/wire.md;
 * - power in watts: "package_power", and of one package "package_0_package_power";
 * - "node_type";
 * - "packge_ratio_<package>", the package's share of the use of the processors (spelled
 *   so in users' files), and "package_usage", the use that these are shares of.
 *
 * At node level there is one row a time stamp, at container level one a time stamp and
 * workload id. Rows are sorted by time, then by id. All zero bytes is an empty dataset.
 */

#include "lib/core/strs.h"
#include "lib/field/energy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;

struct tw_column {
	char *name;
	double *v; /* a value for each row */
};

struct tw_dataset {
	size_t rows;
	int64_t *time_ms; /* since the epoch */
	uint32_t *id;     /* index in ids; NULL at node level */
	struct tw_strs ids;
	struct tw_column *col;
	size_t cols;
};

/* Allocate rows of an empty dataset: zero time stamps, ids if with_id, no columns. */
int tw_dataset_init(struct tw_dataset *d, size_t rows, bool with_id, struct tw_err *err);

/* Add a column of zeros. *out, unless out is NULL, is its values. Names are unique. */
int tw_dataset_add(struct tw_dataset *d, const char *name, double **out,
		   struct tw_err *err);

/* Values of a column, borrowed; NULL if there is no such column. */
double *tw_dataset_find(const struct tw_dataset *d, const char *name);

/* Remove the columns whose names begin with prefix. */
void tw_dataset_drop(struct tw_dataset *d, const char *prefix);

/* "package_power" for TW_PACKAGE. A static string. */
const char *tw_power_column(enum tw_component c);

/* The power column of one package: "package_0_core_power" in out. */
#define TW_PACKAGE_NAME_MAX 32
#define TW_PACKAGE_COLUMN_SIZE (TW_PACKAGE_NAME_MAX + 32)
void tw_package_power_column(enum tw_component c, const char *package,
			     char out[TW_PACKAGE_COLUMN_SIZE]);

/* Whether a column is the power of the component in one package. */
bool tw_is_package_power(const char *column, enum tw_component c);

#define TW_RATIO_PREFIX "packge_ratio_"
#define TW_PACKAGE_USAGE "package_usage"

/* Copy the rows for which keep[r] is true (NULL: all). *out must be empty. */
int tw_dataset_copy(const struct tw_dataset *d, const bool *keep, struct tw_dataset *out,
		    struct tw_err *err);

/*
 * Merge recordings of one machine, each with one row a time stamp, in order of time. The
 * result has the columns that all recordings have, and the ids of the first. A time stamp
 * in two recordings is TW_INVALID. *source, unless source is NULL, is the index of each
 * row's recording, and is yours. *out must be empty.
 */
int tw_dataset_join(const struct tw_dataset *const *recordings, size_t count,
		    struct tw_dataset *out, uint32_t **source, struct tw_err *err);

/* Remove the rows for which keep[r] is false. The list of ids stays. */
void tw_dataset_keep(struct tw_dataset *d, const bool *keep);

/* Remove all columns. Time stamps and ids stay. */
void tw_dataset_clear_columns(struct tw_dataset *d);

/* Free the dataset. It is empty afterwards. */
void tw_dataset_release(struct tw_dataset *d);

#endif /* TW_DATASET_H */
