/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/served.h"

#include "estimator/predict/power_model.h"
#include "lib/core/err.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const origin_names[TW_ORIGIN_COUNT] = {
	[TW_ORIGIN_SERVER] = "server",
	[TW_ORIGIN_URL] = "url",
	[TW_ORIGIN_DB] = "database",
	[TW_ORIGIN_SHIPPED] = "shipped",
};

const char *tw_origin_name(enum tw_origin o)
{
	assert((unsigned)o < TW_ORIGIN_COUNT);
	return origin_names[o];
}

int tw_served_new(struct tw_power_model *p, enum tw_origin o, const char *from,
		  uint64_t generation, double core_ratio, struct tw_served **out,
		  struct tw_err *err)
{
	struct tw_served *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		tw_power_model_free(p);
		return tw_fail(err, TW_NOMEM, "model");
	}
	*s = (struct tw_served){ .model = p,
				 .origin = o,
				 .confirmed_s = (int_least64_t)time(NULL),
				 .refs = 1,
				 .generation = generation };
	s->core_ratio[tw_format_double(s->core_ratio, core_ratio)] = '\0';
	s->from = strdup(from);
	if (s->from == NULL) {
		tw_served_unref(s);
		return tw_fail(err, TW_NOMEM, "model");
	}
	*out = s;
	return 0;
}

void tw_served_unref(struct tw_served *s)
{
	if (s == NULL || --s->refs > 0)
		return;
	tw_power_model_free(s->model);
	free(s->from);
	free(s->zip);
	free(s);
}
