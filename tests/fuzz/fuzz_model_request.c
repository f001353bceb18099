/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "model-db/index/choose.h"
#include "model-db/index/filter.h"
#include "server/model_request.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: a request is either refused with a reason, or one that can be searched for.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct tw_wanted zero = { 0 };
	struct tw_filter filter = { 0 };
	struct tw_wanted w = { 0 };
	struct tw_err err = { 0 };

	if (tw_model_request_parse((const char *)data, size, NULL, &w, &err) < 0) {
		if (err.code == TW_OK || err.text[0] == '\0' ||
		    memcmp(&w, &zero, sizeof(w)) != 0)
			abort();
		return 0;
	}
	if (w.source == NULL || w.output >= TW_OUTPUT_COUNT ||
	    w.client >= TW_CLIENT_COUNT || w.node_type < -1 ||
	    w.metrics.count > TW_MODEL_REQUEST_METRICS_MAX ||
	    (w.trainer != NULL && w.trainer[0] == '\0'))
		abort();
	if (tw_filter_parse(w.filter, &filter, &err) < 0 && err.code == TW_OK)
		abort();
	tw_filter_release(&filter);
	tw_wanted_release(&w);
	return 0;
}
