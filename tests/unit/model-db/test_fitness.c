/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "model-db/fitness.h"
#include "model-db/model.h"
#include "model-db/weights.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define RISES(v) "{\"" TW_CERTIFICATE_RISES "\":" v "}"
#define ADDITIVE(v) "{\"" TW_CERTIFICATE_ADDITIVE "\":" v "}"
#define ISOLATOR(name) "\"isolator\":\"" name "\""

static const struct {
	const char *what;
	enum tw_output output;
	struct tw_weights_shape shape; /* all zero: the model is not a few weights */
	const char *metadata;
	enum tw_fitness want;
	const char *why;
} cases[] = {
	/* A whole machine. */
	{ "weights that rise",
	  TW_ABS_POWER,
	  { .known = true, .rises = true },
	  "{}",
	  TW_FIT,
	  NULL },
	{ "weights of either sign",
	  TW_ABS_POWER,
	  { .known = true },
	  "{}",
	  TW_FITNESS_UNKNOWN,
	  NULL },
	{ "weights of either sign that rise on the rows that there are",
	  TW_ABS_POWER,
	  { .known = true },
	  RISES("true"),
	  TW_FIT,
	  NULL },
	{ "weights of either sign that fall",
	  TW_ABS_POWER,
	  { .known = true },
	  RISES("false"),
	  TW_UNFIT,
	  TW_FITNESS_FALLS },
	{ "weights that rise, whatever is in the metadata",
	  TW_ABS_POWER,
	  { .known = true, .rises = true },
	  RISES("false"),
	  TW_FIT,
	  NULL },
	{ "other models without a certificate",
	  TW_ABS_POWER,
	  { 0 },
	  "{}",
	  TW_FITNESS_UNKNOWN,
	  NULL },
	{ "other models that rise", TW_ABS_POWER, { 0 }, RISES("true"), TW_FIT, NULL },
	{ "other models that fall",
	  TW_ABS_POWER,
	  { 0 },
	  RISES("false"),
	  TW_UNFIT,
	  TW_FITNESS_FALLS },
	{ "a certificate that is a text",
	  TW_ABS_POWER,
	  { 0 },
	  RISES("\"true\""),
	  TW_FITNESS_UNKNOWN,
	  NULL },
	{ "the certificate of sums is not asked",
	  TW_ABS_POWER,
	  { 0 },
	  ADDITIVE("true"),
	  TW_FITNESS_UNKNOWN,
	  NULL },
	{ "idle power is right in a whole machine's",
	  TW_ABS_POWER,
	  { .known = true, .rises = true },
	  "{" ISOLATOR("NoneIsolator") "}",
	  TW_FIT,
	  NULL },
	{ "weights that rise, with another power at rest",
	  TW_ABS_POWER,
	  { .known = true, .rises = true },
	  "{\"" TW_CERTIFICATE_REST "\":false}",
	  TW_UNFIT,
	  TW_FITNESS_REST },
	{ "a jump above rest",
	  TW_ABS_POWER,
	  { 0 },
	  "{\"" TW_CERTIFICATE_RISES "\":true,\"" TW_CERTIFICATE_NO_JUMP "\":false}",
	  TW_UNFIT,
	  TW_FITNESS_JUMP },
	{ "negative power",
	  TW_ABS_POWER,
	  { 0 },
	  "{\"" TW_CERTIFICATE_RISES "\":true,\"" TW_CERTIFICATE_NON_NEGATIVE "\":false}",
	  TW_UNFIT,
	  TW_FITNESS_NEGATIVE },
	{ "all tests passed",
	  TW_ABS_POWER,
	  { 0 },
	  "{\"" TW_CERTIFICATE_RISES "\":true,\"" TW_CERTIFICATE_NON_NEGATIVE
	  "\":true,\"" TW_CERTIFICATE_REST "\":true,\"" TW_CERTIFICATE_NO_JUMP "\":true}",
	  TW_FIT,
	  NULL },
	{ "a certificate that is refused",
	  TW_ABS_POWER,
	  { .known = true, .rises = true },
	  "{\"" TW_CERTIFICATE_REFUSED "\":\"" TW_REFUSED_CPU_TIME "\"}",
	  TW_UNFIT,
	  TW_REFUSED_CPU_TIME },
	{ "rows of two lengths",
	  TW_ABS_POWER,
	  { .known = true, .rises = true },
	  "{\"" TW_CERTIFICATE_REFUSED "\":\"" TW_REFUSED_STEP "\"}",
	  TW_UNFIT,
	  TW_REFUSED_STEP },
	{ "power of other times",
	  TW_ABS_POWER,
	  { .known = true, .rises = true },
	  "{\"" TW_CERTIFICATE_REFUSED "\":\"" TW_REFUSED_TIMES "\"}",
	  TW_UNFIT,
	  TW_REFUSED_TIMES },
	{ "an error that is too large",
	  TW_DYN_POWER,
	  { .known = true, .additive = true },
	  "{\"" TW_CERTIFICATE_REFUSED "\":\"" TW_REFUSED_ERROR "\"}",
	  TW_UNFIT,
	  TW_REFUSED_ERROR },
	{ "a mean error that is too large",
	  TW_ABS_POWER,
	  { .known = true, .rises = true },
	  "{\"" TW_CERTIFICATE_REFUSED "\":\"" TW_REFUSED_BIAS "\"}",
	  TW_UNFIT,
	  TW_REFUSED_BIAS },
	{ "power that drifts",
	  TW_ABS_POWER,
	  { .known = true, .rises = true },
	  "{\"" TW_CERTIFICATE_REFUSED "\":\"" TW_REFUSED_DRIFT "\"}",
	  TW_UNFIT,
	  TW_REFUSED_DRIFT },
	{ "milliwatts",
	  TW_ABS_POWER,
	  { .known = true, .rises = true },
	  "{\"" TW_CERTIFICATE_REFUSED "\":\"" TW_REFUSED_UNIT "\"}",
	  TW_UNFIT,
	  TW_REFUSED_UNIT },
	{ "work from before a workload appeared",
	  TW_ABS_POWER,
	  { .known = true, .rises = true },
	  "{\"" TW_CERTIFICATE_REFUSED "\":\"" TW_REFUSED_UNSEEN "\"}",
	  TW_UNFIT,
	  TW_REFUSED_UNSEEN },
	{ "CPU time that is not the node's",
	  TW_ABS_POWER,
	  { .known = true, .rises = true },
	  "{\"" TW_CERTIFICATE_REFUSED "\":\"" TW_REFUSED_BALANCE "\"}",
	  TW_UNFIT,
	  TW_REFUSED_BALANCE },
	{ "weights of 0",
	  TW_DYN_POWER,
	  { .known = true, .additive = true },
	  "{\"" TW_CERTIFICATE_RISES "\":false,\"" TW_CERTIFICATE_ADDITIVE "\":true}",
	  TW_UNFIT,
	  TW_FITNESS_FALLS },
	{ "a reason that this release does not know",
	  TW_DYN_POWER,
	  { .known = true, .additive = true },
	  "{\"" TW_CERTIFICATE_REFUSED "\":\"<b>other</b>\"}",
	  TW_UNFIT,
	  TW_REFUSED_NO_REST },
	/* A workload. */
	{ "weights that add up",
	  TW_DYN_POWER,
	  { .known = true, .additive = true },
	  "{}",
	  TW_FIT,
	  NULL },
	{ "weights with a constant",
	  TW_DYN_POWER,
	  { .known = true, .rises = true },
	  "{}",
	  TW_UNFIT,
	  TW_FITNESS_NOT_ADDITIVE },
	{ "weights with a constant, whatever is in the metadata",
	  TW_DYN_POWER,
	  { .known = true },
	  ADDITIVE("true"),
	  TW_UNFIT,
	  TW_FITNESS_NOT_ADDITIVE },
	{ "other models without a certificate are not tried",
	  TW_DYN_POWER,
	  { 0 },
	  "{}",
	  TW_UNFIT,
	  TW_FITNESS_NOT_ADDITIVE },
	{ "other models that add up",
	  TW_DYN_POWER,
	  { 0 },
	  ADDITIVE("true"),
	  TW_FIT,
	  NULL },
	{ "other models that do not",
	  TW_DYN_POWER,
	  { 0 },
	  ADDITIVE("false"),
	  TW_UNFIT,
	  TW_FITNESS_NOT_ADDITIVE },
	{ "rising is not enough",
	  TW_DYN_POWER,
	  { 0 },
	  RISES("true"),
	  TW_UNFIT,
	  TW_FITNESS_NOT_ADDITIVE },
	{ "idle power in the target",
	  TW_DYN_POWER,
	  { .known = true, .additive = true },
	  "{" ISOLATOR("NoneIsolator") "}",
	  TW_UNFIT,
	  TW_FITNESS_IDLE },
	{ "idle power is the first reason",
	  TW_DYN_POWER,
	  { 0 },
	  "{" ISOLATOR("NoneIsolator") ",\"" TW_CERTIFICATE_ADDITIVE "\":false}",
	  TW_UNFIT,
	  TW_FITNESS_IDLE },
	{ "other isolators",
	  TW_DYN_POWER,
	  { .known = true, .additive = true },
	  "{" ISOLATOR("MinIdleIsolator") "}",
	  TW_FIT,
	  NULL },
};

static void weights_or_the_certificate_decide(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct tw_model_info info = {
			.output = cases[i].output,
			.metadata = json_loads(cases[i].metadata, 0, NULL),
		};
		const char *why = "old";

		assert_non_null(info.metadata);
		if (tw_model_fitness(&info, &cases[i].shape, &why) != cases[i].want)
			fail_msg("%s", cases[i].what);
		if (cases[i].why == NULL)
			assert_null(why);
		else
			assert_string_equal(why, cases[i].why);
		json_decref(info.metadata);
	}
}

static void a_model_without_metadata_is_judged_by_its_weights(void **state)
{
	const struct tw_model_info abs = { .output = TW_ABS_POWER };
	const struct tw_model_info dyn = { .output = TW_DYN_POWER };
	const struct tw_weights_shape none = { 0 };
	const char *why = NULL;

	(void)state;
	assert_int_equal(tw_model_fitness(&abs, &none, &why), TW_FITNESS_UNKNOWN);
	assert_int_equal(tw_model_fitness(&dyn, &none, &why), TW_UNFIT);
	assert_string_equal(why, TW_FITNESS_NOT_ADDITIVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_or_the_certificate_decide),
		cmocka_unit_test(a_model_without_metadata_is_judged_by_its_weights),
	};

	return cmocka_run_group_tests_name("fitness", tests, NULL, NULL);
}
