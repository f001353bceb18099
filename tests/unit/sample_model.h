/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_SAMPLE_MODEL_H
#define TW_TEST_SAMPLE_MODEL_H

#include "model-db/model.h"

/* What a test wants of a model; NULL, 0 and "" stand for the defaults. */
struct sample {
	const char *source;    /* rapl-sysfs: package and dram; others: platform */
	const char *group;     /* CounterOnly */
	const char *trainer;   /* SGDRegressorTrainer */
	const char *predictor; /* linear */
	enum tw_output output;
	long long node_type;
	double mae_w, mape_percent; /* 1.5; NAN is undefined */
	struct tw_machine_spec spec;
	const char *text; /* of every component; or what fits the predictor */
	/* JSON object of further keys; NULL: a certificate where the text tells nothing
	 */
	const char *metadata;
};

/* A model of the group's features. *out must be all zero; it is yours. */
void sample_model(const struct sample *s, struct tw_model *out);

/* A pipeline of such models, into a database. */
void sample_publish(const char *db, const char *pipeline, const struct sample *s,
		    size_t count);

#endif /* TW_TEST_SAMPLE_MODEL_H */
