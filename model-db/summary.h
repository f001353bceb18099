/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_SUMMARY_H
#define TW_MODEL_DB_SUMMARY_H

/*
 * What a pipeline says of its models together: the tables and the node types, as the
 * old programs and people's scripts read them (docs/model-db.md).
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
 * Append the CSV of the models of one source and output, by group, then error, then
 * name. `features` is written as a Python list, an undefined figure as nothing.
 */
int tw_summary_table(const struct tw_model *models, size_t count,
		     const struct tw_energy_source *source, enum tw_output output,
		     struct tw_buf *out, struct tw_err *err);

/*
 * The node types of these models: each as the first model of it whose spec is known has
 * it, members from metadata's "machines" ({"0":["name"]}), if any. *out must be empty; it
 * is the caller's to release.
 */
int tw_summary_node_types(const json_t *metadata, const struct tw_model *models,
			  size_t count, struct tw_node_types *out, struct tw_err *err);

#endif /* TW_MODEL_DB_SUMMARY_H */
