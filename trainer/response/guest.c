/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/response/guest.h"

#include "lib/core/err.h"
#include "trainer/response/prom_store.h"
#include "trainer/response/schema.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define KEY "VM_JOB_NAME"

const char *const tw_guest_keys[] = { KEY, NULL };

bool tw_series_is_guest(const struct tw_series *s)
{
	const char *job = tw_series_label(s, "job");
	const char *name = getenv(KEY);

	return job != NULL &&
	       strcmp(job, name != NULL && *name != '\0' ? name : "vm") == 0;
}

int tw_guest_check(struct tw_guest *guest, const struct tw_schema *schema,
		   const struct tw_series *s, struct tw_err *err)
{
	for (size_t i = 0; guest != NULL && schema->machine_labels[i] != NULL; i++) {
		const char *value = tw_series_label(s, schema->machine_labels[i]);

		assert(i < TW_GUEST_LABELS_MAX);
		if (guest->label[i] == NULL)
			guest->label[i] = value;
		if (value == NULL || value == guest->label[i])
			continue;
		return tw_fail(
			err, TW_INVALID,
			"the response has several machines (%s '%.60s' and '%.60s'): "
			"name one with --machine",
			schema->machine_labels[i], guest->label[i], value);
	}
	return 0;
}
