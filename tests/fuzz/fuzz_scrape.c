/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/scrapes.h"
#include "lib/core/buf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_nothing(void *arg, struct tw_expo *e)
{
	(void)arg;
	(void)e;
}

/* Property: whatever comes is answered with a status and a body of the length told. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_buf b = { 0 };
	const char *body;

	if (size > TW_SCRAPE_HEAD_MAX)
		return 0;
	tw_scrape_answer((const char *)data, size, write_nothing, NULL, &b);
	body = strstr(b.data, "\r\n\r\n");
	if (strncmp(b.data, "HTTP/1.1 ", 9) != 0 || body == NULL)
		abort();
	tw_buf_clear(&b);
	return 0;
}
