/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "profiler/profile.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Property: a profile is rejected with a reason; or its watts are in order, each entry is
 * found, and it can be written and read back.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_profile p = { 0 }, again = { 0 };
	struct tw_err err = { 0 };
	json_t *obj, *written;

	if (tw_json_parse((const char *)data, size, "profile", &obj, &err) < 0)
		return 0;
	if (tw_profile_from_json(obj, "profile", &p, &err) < 0) {
		if (err.code == TW_OK || p.powers != 0)
			abort();
		goto out;
	}
	for (size_t i = 0; i < p.powers; i++) {
		const struct tw_profile_power *w = &p.power[i];

		if (!(w->min_w >= 0) || !(w->min_w <= w->median_w) ||
		    !(w->median_w <= w->max_w) ||
		    tw_profile_find(&p, w->source, w->component, w->node_type) != w)
			abort();
	}
	written = tw_profile_to_json(&p);
	if (written != NULL &&
	    (tw_profile_from_json(written, "profile", &again, &err) < 0 ||
	     again.powers != p.powers || again.scalers != p.scalers))
		abort();
	json_decref(written);
out:
	tw_profile_release(&again);
	tw_profile_release(&p);
	json_decref(obj);
	return 0;
}
