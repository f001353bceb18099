/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "profiler/node_types.h"
#include "profiler/likeness.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_choice(const struct tw_node_types *t, const struct tw_machine_spec *s)
{
	struct tw_node_choice c;

	if (!tw_node_choose(t, s, true, &c) || !(c.uncertainty >= 0) ||
	    c.uncertainty > 1 || !(c.looseness >= 0) || c.looseness > 1)
		abort();
}

/*
 * Property: an index is rejected with a reason; or its numbers ascend, each type's spec
 * chooses that type, and it can be written and read back.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_node_types t = { 0 }, again = { 0 };
	struct tw_err err = { 0 };
	json_t *obj, *written;

	if (tw_json_parse((const char *)data, size, "index", &obj, &err) < 0)
		return 0;
	if (tw_node_types_from_json(obj, "index", &t, &err) < 0) {
		if (err.code == TW_OK || t.count != 0)
			abort();
		goto out;
	}
	for (size_t i = 0; i < t.count; i++) {
		if (i > 0 && t.at[i].number <= t.at[i - 1].number)
			abort();
		check_choice(&t, &t.at[i].spec);
	}
	written = tw_node_types_to_json(&t);
	if (written == NULL ||
	    tw_node_types_from_json(written, "index", &again, &err) < 0 ||
	    again.count != t.count)
		abort();
	json_decref(written);
out:
	tw_node_types_release(&again);
	tw_node_types_release(&t);
	json_decref(obj);
	return 0;
}
