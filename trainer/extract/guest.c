/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/guest.h"

#include "trainer/extract/prom.h"

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
