/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/shared.h"
#include "collector/system/process.h"
#include "lib/core/err.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: what is taken names a process and has a name that ends. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_err err = { 0 };
	struct tw_task t;

	if (tw_proc_stat_parse((const char *)data, size, 100, &t, &err) < 0) {
		if (err.code == TW_OK)
			abort();
		return 0;
	}
	if (t.tgid == 0 || memchr(t.comm, '\0', sizeof(t.comm)) == NULL)
		abort();
	return 0;
}
