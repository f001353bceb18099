/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/http/server/accept.h"
#include "lib/http/server/expo.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct tw_expo_family family = { .name = "x_info",
					      .type = TW_EXPO_INFO,
					      .help = "Any text." };

/* Whatever a label's value is, the sample is one line. */
static void write_label(const char *text)
{
	const struct tw_expo_label label = { "name", text };
	struct tw_buf b = { 0 };
	struct tw_expo e = { .out = &b, .family = &family };

	tw_expo_sample(&e, &label, 1, 1);
	if (!tw_buf_failed(&b) && strchr(b.data, '\n') != b.data + b.len - 1)
		abort();
	tw_buf_clear(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	double weight, coding;

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	weight = tw_accept_weight(text, "text", "plain", "0.0.4");
	coding = tw_accept_coding(text, "gzip");
	if (!(weight >= 0 && weight <= 1) || !(coding >= 0 && coding <= 1))
		abort();
	tw_expo_wanted(text);
	write_label(text);
	free(text);
	return 0;
}
