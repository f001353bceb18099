/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_MODEL_H
#define TW_MODEL_DB_MODEL_H

/*
 * A trained model as a value, and the limits that every model keeps
 * (docs/model-format.md).
 *
 * A model predicts the power of the energy components of one source, from the features
 * of one group, for one node type. The text of a component is JSON; its meaning is known
 * to the predictor that the model names (estimator/predict/predictor.h), not to this
 * room.
 */

#include "lib/core/strs.h"
#include "lib/field/energy.h"
#include "lib/field/feature.h"
#include "profiler/spec.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct tw_err;

/* Bytes of a name with its NUL: "<name>.json" must fit into a file name of 128 bytes. */
#define TW_MODEL_NAME_MAX 124

/* "package_error.json": expected errors of a component. */
#define TW_MODEL_ERROR_SUFFIX "_error.json"

#define TW_MODEL_FORMAT 1
#define TW_MODEL_FEATURES_MAX 256
#define TW_MODEL_NODE_TYPE_MAX 999999999LL
#define TW_MODEL_METADATA_BYTES_MAX ((size_t)1 << 20)
#define TW_MODEL_PART_BYTES_MAX ((size_t)32 << 20)

/* The contents of metadata.json. */
struct tw_model_info {
	char name[TW_MODEL_NAME_MAX];      /* "<trainer>_<node type>" */
	char trainer[TW_MODEL_NAME_MAX];   /* "XgboostFitTrainer" */
	char predictor[TW_MODEL_NAME_MAX]; /* key model_class: "linear", "xgboost" */
	const struct tw_energy_source *source;
	enum tw_output output;
	const struct tw_feature_group *group;
	struct tw_strs features; /* of all components, sorted */
	long long node_type;
	struct tw_machine_spec spec;
	double mae_w;        /* the largest over components; blocked folds. NAN: none */
	double mape_percent; /* the largest over components. NAN: none */
	json_t *metadata;    /* the whole of metadata.json, and of details.json */
};

/* One energy component of a model. */
struct tw_model_part {
	enum tw_component component;
	struct tw_strs features; /* in the predictor's order */
	/* The range of each feature in training: features.count each, or both NULL. */
	double *feature_min, *feature_max;
	char *text; /* the component's file: JSON */
	size_t len;
	/* The file of expected errors (docs/model-format.md): JSON; NULL: none. */
	char *error_text;
	size_t error_len;
};

struct tw_model {
	struct tw_model_info info;
	struct tw_model_part part[TW_COMPONENT_COUNT]; /* the first `parts` are used */
	size_t parts;
};

/*
 * Split "<trainer>_<node type>". The node type is decimal, without leading zeros. False
 * if the name has another form.
 */
bool tw_model_name_split(const char *name, size_t *trainer_len, long long *node_type);

/* Check the fields of metadata.json against the limits and each other. */
int tw_model_check_info(const struct tw_model_info *i, struct tw_err *err);

/*
 * Check the whole model: info, and that each component is a JSON object with known
 * features. Errors name the model's files: "package.json: byte 17: ..".
 */
int tw_model_check(const struct tw_model *m, struct tw_err *err);

/* "<component>_<name>" of the metadata; NaN if it has no such number. */
double tw_model_figure(const json_t *metadata, enum tw_component c, const char *name);

void tw_model_release(struct tw_model *m);

#endif /* TW_MODEL_DB_MODEL_H */
