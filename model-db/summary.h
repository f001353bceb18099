/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_SUMMARY_H
#define TW_MODEL_DB_SUMMARY_H

/*
 * Tables and node types of a pipeline's models, in the forms that kepler-model-server and
 * its users' scripts read (docs/model-db.md).
 */

#include "lib/field/energy.h"
#include "lib/field/feature.h"

#include <jansson.h>
#include <stddef.h>

struct tw_buf;
struct tw_err;
struct tw_model;
struct tw_node_types;

/*
 * Append a CSV of the models of one source and output, sorted by group, error and name.
 * `features` is a Python list; an undefined figure is an empty cell.
 */
int tw_summary_table(const struct tw_model *models, size_t count,
		     const struct tw_energy_source *source, enum tw_output output,
		     struct tw_buf *out, struct tw_err *err);

/*
 * List the node types of the models. The spec of each is the first known spec among its
 * models; the members come from metadata's "machines" ({"0":["name"]}). *out must be
 * empty; it is yours.
 */
int tw_summary_node_types(const json_t *metadata, const struct tw_model *models,
			  size_t count, struct tw_node_types *out, struct tw_err *err);

#endif /* TW_MODEL_DB_SUMMARY_H */
