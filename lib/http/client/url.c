/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/client/url.h"

#include "lib/core/buf.h"

#include <stdio.h>
#include <string.h>

/* Bytes shown of the scheme with "://", and of the rest. */
#define SCHEME_MAX 16
#define REST_MAX 128

bool tw_url_is(const char *text)
{
	return strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0;
}

const char *tw_url_show(const char *url, char out[TW_URL_SHOWN])
{
	const char *host = strstr(url, "://");
	const char *at;
	size_t scheme, shown;

	host = host != NULL ? host + 3 : url;
	scheme = (size_t)(host - url);
	at = memchr(host, '@', strcspn(host, "/?#"));
	host = at != NULL ? at + 1 : host;
	shown = strcspn(host, "?#");
	snprintf(out, TW_URL_SHOWN, "%.*s%.*s",
		 (int)(scheme < SCHEME_MAX ? scheme : SCHEME_MAX), url,
		 (int)(shown < REST_MAX ? shown : REST_MAX), host);
	return out;
}

void tw_url_escape(struct tw_buf *b, const char *text)
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
