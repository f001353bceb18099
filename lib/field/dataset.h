/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DATASET_H
#define TW_DATASET_H

/*
 * A table of samples: time stamps down, named numeric columns across.
 *
 * Columns are features by their canonical names ("cpu_cycles", units of
 * docs/wire.md), power in watts ("package_power", of one package
 * "package_0_package_power"), "node_type", the share of each package in the use of
 * the processors ("packge_ratio_<package>", spelled so since users' files are) and the
 * use that these are shares of ("package_usage"). At node level there is one row a time
 * stamp; at container level one a time stamp and workload id. Rows are in order of time,
 * then of id.
 *
 * All zero bytes is an empty dataset.
 */

#include "lib/core/strs.h"
#include "lib/field/energy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;

struct tw_column {
	char *name;
	double *v; /* rows of the dataset */
};

struct tw_dataset {
	size_t rows;
	int64_t *time_ms; /* since the epoch */
	uint32_t *id;     /* place in ids; NULL at node level */
	struct tw_strs ids;
	struct tw_column *col;
	size_t cols;
};

/* Give an empty dataset its rows: time stamps zero, ids if with_id, no columns. */
int tw_dataset_init(struct tw_dataset *d, size_t rows, bool with_id, struct tw_err *err);

/* A new column of zeros; *out (may be NULL) is its values. A repeated name is refused. */
int tw_dataset_add(struct tw_dataset *d, const char *name, double **out,
		   struct tw_err *err);

/* Values of a column, or NULL. Lives as long as the dataset. */
double *tw_dataset_find(const struct tw_dataset *d, const char *name);

/* Take the columns away whose names begin with prefix. */
void tw_dataset_drop(struct tw_dataset *d, const char *prefix);

/* "package_power" for TW_PACKAGE: lives for ever. */
const char *tw_power_column(enum tw_component c);

/* The same of one package: "package_0_core_power", in out. */
#define TW_PACKAGE_NAME_MAX 32
#define TW_PACKAGE_COLUMN_SIZE (TW_PACKAGE_NAME_MAX + 32)
void tw_package_power_column(enum tw_component c, const char *package,
			     char out[TW_PACKAGE_COLUMN_SIZE]);

/* Whether the column is power of one package, and of the component. */
bool tw_is_package_power(const char *column, enum tw_component c);

#define TW_RATIO_PREFIX "packge_ratio_"
#define TW_PACKAGE_USAGE "package_usage"

/* A copy of the rows for which keep[r] is true (NULL: all). *out must be empty. */
int tw_dataset_copy(const struct tw_dataset *d, const bool *keep, struct tw_dataset *out,
		    struct tw_err *err);

/*
 * The rows of several recordings of one machine, each with one row a time stamp, in order
 * of time: the columns that all of them have, and the first one's ids. A time that two of
 * them have is TW_INVALID. part, if wanted, is which of them each row is from, and yours.
 * *out must be empty.
 */
int tw_dataset_join(const struct tw_dataset *const *parts, size_t count,
		    struct tw_dataset *out, uint32_t **part, struct tw_err *err);

/* Drop the rows for which keep[r] is false. Ids stay. */
void tw_dataset_keep(struct tw_dataset *d, const bool *keep);

/* Drop all columns; rows, time stamps and ids stay. */
void tw_dataset_clear_columns(struct tw_dataset *d);

void tw_dataset_release(struct tw_dataset *d);

#endif /* TW_DATASET_H */
