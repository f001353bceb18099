/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_MODEL_CHECK_H
#define TW_MODEL_DB_MODEL_CHECK_H

/*
 * What holds for every model, read or written: the limits of docs/model-format.md.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_model;
struct tw_model_info;

#define TW_MODEL_FORMAT 1
#define TW_MODEL_FEATURES_MAX 256
#define TW_MODEL_NODE_TYPE_MAX 999999999LL
#define TW_MODEL_METADATA_BYTES_MAX ((size_t)1 << 20)
#define TW_MODEL_PART_BYTES_MAX ((size_t)32 << 20)

/*
 * Take "<trainer>_<node type>" apart. The node type is plain decimal, without leading
 * zeros. False if the name is no such name.
 */
bool tw_model_name_split(const char *name, size_t *trainer_len, long long *node_type);

/* What holds for metadata.json alone. */
int tw_model_check_info(const struct tw_model_info *i, struct tw_err *err);

/* Errors are in terms of the model's files: "package.json: byte 17: ...". */
int tw_model_check(const struct tw_model *m, struct tw_err *err);

#endif /* TW_MODEL_DB_MODEL_CHECK_H */
