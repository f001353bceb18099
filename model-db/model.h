/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_MODEL_H
#define TW_MODEL_DB_MODEL_H

/*
 * A trained model as a value, and its files (docs/model-format.md).
 *
 * A model predicts the power of each energy component of one source, from the
 * features of one group, for one kind of machine. Its files are JSON only: nothing in
 * them is executed. Reading a model is reading untrusted input. What a component's
 * text means is known to the predictor that the model names
 * (estimator/predict/predictor.h), not to this room.
 */

#include "lib/core/strs.h"
#include "lib/field/energy.h"
#include "lib/field/feature.h"
#include "profiler/spec.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_fileset;

/* With its NUL. A file's name, which has at most 128 bytes, is that of a model and
 * ".json". */
#define TW_MODEL_NAME_MAX 124

/* What a model says of itself: metadata.json. */
struct tw_model_info {
	char name[TW_MODEL_NAME_MAX];      /* "<trainer>_<node type>" */
	char trainer[TW_MODEL_NAME_MAX];   /* "XgboostFitTrainer" */
	char predictor[TW_MODEL_NAME_MAX]; /* metadata's model_class: "linear", "xgboost"
					    */
	const struct tw_energy_source *source;
	enum tw_output output;
	const struct tw_feature_group *group;
	struct tw_strs features; /* of all components together, sorted */
	long long node_type;
	struct tw_machine_spec spec;
	double mae_w;        /* the largest over components; blocked folds */
	double mape_percent; /* the largest over components */
	json_t *metadata;    /* the whole of metadata.json: filters look here */
};

/* One energy component of a model. */
struct tw_model_part {
	enum tw_component component;
	struct tw_strs features; /* in the predictor's order */
	double *feature_min,
		*feature_max; /* seen in training; features.count each, or NULL */
	char *text;           /* the component's file: JSON */
	size_t len;
};

struct tw_model {
	struct tw_model_info info;
	struct tw_model_part part[TW_COMPONENT_COUNT]; /* the first `parts` are used */
	size_t parts;
};

/*
 * From a model's files (a directory or a zip, unpacked): metadata.json and what it
 * names. *out must be all zero; it is yours: tw_model_release(). Errors name file
 * and path.
 */
int tw_model_from_files(const struct tw_fileset *files, struct tw_model *out,
			struct tw_err *err);

/*
 * One file of a model by its name, at most max bytes; *data is the caller's and
 * NUL-terminated. TW_NOTFOUND if there is none.
 */
typedef int tw_model_file_fn(void *arg, const char *name, size_t max, char **data,
			     size_t *len, struct tw_err *err);

/* Whether the components of such a model are wanted. */
typedef bool tw_model_wants_parts_fn(const struct tw_model_info *i);

/*
 * What a model says of itself, and its components only where they are wanted: for who
 * looks at thousands. info is checked as tw_model_from_files() does, but no text of a
 * component is: that is for who uses the model. *out must be all zero; it is yours.
 */
int tw_model_glance(tw_model_file_fn *file, void *arg, tw_model_wants_parts_fn *wants,
		    struct tw_model *out, struct tw_err *err);

/*
 * The model's files, as docs/wire.md lists them: metadata.json, <name>.json, one a
 * component, and weight.json where the model has weights. info.metadata gives
 * further keys of metadata.json (figures of the validation); the keys that follow
 * from the fields above are written from those. Sorted; the same model gives the same
 * bytes.
 */
int tw_model_to_files(const struct tw_model *m, struct tw_fileset *out,
		      struct tw_err *err);

void tw_model_release(struct tw_model *m);

#endif /* TW_MODEL_DB_MODEL_H */
