/* SPDX-License-Identifier: Apache-2.0 */
/* Apart from the client, for programs that make URLs and do not call them. */
#include "lib/core/buf.h"
#include "lib/http/http.h"

#include <string.h>

void tw_http_escape(struct tw_buf *b, const char *text)
{
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
		    (c >= 'a' && c <= 'z') || strchr("-_.~", c) != NULL)
			tw_buf_add(b, text, 1);
		else
			tw_buf_addf(b, "%%%02X", c);
	}
}
