/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/system/privilege.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: what hides says so, and nothing beyond the text is read. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	const bool may = memmem(data, size, "hidepid=", 8) != NULL;

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (tw_mounts_hide(text, "/proc") && !may)
		abort();
	free(text);
	return 0;
}
