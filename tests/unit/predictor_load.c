/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/predictor_load.h"

#include "estimator/predict/predictor.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/tw_test.h"

#include <string.h>

static int load_at(int failing, const char *kind, const char *features, const char *text,
		   void **out, struct tw_err *err)
{
	struct tw_strs names = { 0 };
	struct tw_err none = { 0 };
	int rc;

	assert_int_equal(tw_strs_split(&names, features, &none), 0);
	fail_alloc_at(failing);
	rc = tw_predictor_load(tw_predictor_find(kind), text, strlen(text), &names, out,
			       err);
	tw_strs_clear(&names);
	return rc;
}

int predictor_load(const char *kind, const char *features, const char *text, void **out,
		   struct tw_err *err)
{
	return load_at(0, kind, features, text, out, err);
}

void predictor_check_memory(const char *kind, const char *features, const char *text)
{
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		void *model = NULL;
		const int rc = load_at(n, kind, features, text, &model, &err);

		if (!fail_alloc_told(rc, &err)) {
			tw_predictor_free(tw_predictor_find(kind), model);
			break;
		}
		assert_null(model);
	}
}
