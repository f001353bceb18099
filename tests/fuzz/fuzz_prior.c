/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "model-db/prior/prior_file.h"
#include "model-db/prior/prior_model.h"
#include "profiler/spec.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An answer is refused, or its numbers are finite and do not fall with load. */
static void estimate(const struct tw_prior *p, const struct tw_machine_spec *s)
{
	struct tw_prior_estimate e;
	struct tw_err err = { 0 };

	if (tw_prior_estimate(p, s, &e, &err) < 0) {
		if (err.code == TW_OK)
			abort();
		return;
	}
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++)
		if (!(e.curve.w[l] > 0) || !isfinite(e.curve.high[l]) ||
		    !(e.curve.low[l] <= e.curve.w[l]) ||
		    !(e.curve.high[l] >= e.curve.w[l]) ||
		    (l > 0 && e.curve.w[l] < e.curve.w[l - 1]))
			abort();
}

/*
 * Property: a prior is rejected with a reason, and leaves nothing; or it gives answers
 * for machines of which much or little is known.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct tw_machine_spec specs[] = {
		{ .processor = "amd_epyc_7713",
		  .cores = 256,
		  .chips = 2,
		  .memory_gib = 512,
		  .threads_per_core = 2 },
		{ .processor = "intel_xeon_platinum_8480", .cores = 4 },
		{ .processor = "amd_epyc", .cores = 1 },
		{ .cores = 1 },
	};
	struct tw_prior p = { 0 };
	struct tw_err err = { 0 };

	if (tw_prior_read((const char *)data, size, &p, &err) < 0) {
		if (err.code == TW_OK || p.rows != 0 || p.row != NULL || p.views != 0)
			abort();
		return 0;
	}
	for (size_t i = 0; i < TW_COUNT(specs); i++)
		estimate(&p, &specs[i]);
	tw_prior_release(&p);
	return 0;
}
