/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/fitness.h"

#include "lib/core/array.h"
#include "model-db/model.h"
#include "model-db/weights.h"

#include <string.h>

static enum tw_fitness unfit(const char **why, const char *reason)
{
	*why = reason;
	return TW_UNFIT;
}

static bool failed(const struct tw_model_info *i, const char *key)
{
	return json_is_false(json_object_get(i->metadata, key));
}

/* NoneIsolator leaves idle power in the target: 89 W for each idle container. */
static bool has_idle_in_target(const struct tw_model_info *i)
{
	const char *isolator =
		json_string_value(json_object_get(i->metadata, "isolator"));

	return isolator != NULL && strcmp(isolator, "NoneIsolator") == 0;
}

static enum tw_fitness dynamic_fitness(const struct tw_model_info *i,
				       const struct tw_weights_shape *shape,
				       const char **why)
{
	const bool additive =
		shape->known ? shape->additive
			     : json_is_true(json_object_get(i->metadata,
							    TW_CERTIFICATE_ADDITIVE));

	if (has_idle_in_target(i))
		return unfit(why, TW_FITNESS_IDLE);
	if (!additive)
		return unfit(why, TW_FITNESS_NOT_ADDITIVE);
	/* A model of a recording without load predicts 0 W, which is not a fall. */
	return failed(i, TW_CERTIFICATE_RISES) ? unfit(why, TW_FITNESS_FALLS) : TW_FIT;
}

/* Weights of mixed sign may still rise over the training rows: see the certificate. */
static enum tw_fitness absolute_fitness(const struct tw_model_info *i,
					const struct tw_weights_shape *shape,
					const char **why)
{
	const json_t *rises = json_object_get(i->metadata, TW_CERTIFICATE_RISES);

	if (shape->rises || json_is_true(rises))
		return TW_FIT;
	return json_is_false(rises) ? unfit(why, TW_FITNESS_FALLS) : TW_FITNESS_UNKNOWN;
}

/* Metadata is a foreign text: only known reasons are repeated. */
static const char *find_refusal(const struct tw_model_info *i)
{
	static const char *const reasons[] = { TW_REFUSED_BALANCE,  TW_REFUSED_BIAS,
					       TW_REFUSED_CPU_TIME, TW_REFUSED_DRIFT,
					       TW_REFUSED_ERROR,    TW_REFUSED_LOAD,
					       TW_REFUSED_NO_LOAD,  TW_REFUSED_NOISE,
					       TW_REFUSED_POWER,    TW_REFUSED_STEP,
					       TW_REFUSED_TIMES,    TW_REFUSED_UNIT,
					       TW_REFUSED_UNSEEN };
	const char *text =
		json_string_value(json_object_get(i->metadata, TW_CERTIFICATE_REFUSED));

	for (size_t r = 0; text != NULL && r < TW_COUNT(reasons); r++)
		if (strcmp(text, reasons[r]) == 0)
			return reasons[r];
	return text != NULL ? TW_REFUSED_NO_REST : NULL;
}

/* The first test that the model failed, of those that no weights can replace. */
static const char *find_failure(const struct tw_model_info *i)
{
	const char *refusal = find_refusal(i);

	if (refusal != NULL)
		return refusal;
	if (failed(i, TW_CERTIFICATE_NON_NEGATIVE))
		return TW_FITNESS_NEGATIVE;
	if (failed(i, TW_CERTIFICATE_REST))
		return TW_FITNESS_REST;
	return failed(i, TW_CERTIFICATE_NO_JUMP) ? TW_FITNESS_JUMP : NULL;
}

bool tw_model_is_biased(const struct tw_model_info *i)
{
	return json_number_value(json_object_get(i->metadata, TW_CERTIFICATE_BIAS)) >
	       TW_BIAS_PREFERRED;
}

enum tw_fitness tw_model_fitness(const struct tw_model_info *i,
				 const struct tw_weights_shape *shape, const char **why)
{
	const char *failure = find_failure(i);
	enum tw_fitness fitness;

	*why = NULL;
	fitness = i->output == TW_DYN_POWER ? dynamic_fitness(i, shape, why)
					    : absolute_fitness(i, shape, why);
	if (fitness == TW_UNFIT || failure == NULL)
		return fitness;
	return unfit(why, failure);
}

const char *tw_fitness_word(enum tw_fitness f)
{
	return f == TW_FIT ? "yes" : f == TW_UNFIT ? "no" : "-";
}
