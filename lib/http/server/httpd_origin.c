/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/server/httpd_origin.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_BYTES 255

/* The part after "http://" or "https://"; NULL: there is none, as of "null". */
static const char *authority_of(const char *origin)
{
	if (strncasecmp(origin, "http://", 7) == 0)
		return origin + 7;
	return strncasecmp(origin, "https://", 8) == 0 ? origin + 8 : NULL;
}

/* Copy the name of "name:port" or "[address]:port". False: it is too long or malformed.
 */
static bool copy_name(const char *host, char out[NAME_MAX_BYTES + 1])
{
	const bool bracket = *host == '[';
	const size_t len = strcspn(host + bracket, bracket ? "]" : ":");

	if (len > NAME_MAX_BYTES || (bracket && host[1 + len] != ']'))
		return false;
	memcpy(out, host + bracket, len);
	out[len] = '\0';
	return true;
}

static bool is_address_or_localhost(const char *host)
{
	char name[NAME_MAX_BYTES + 1];
	struct in6_addr any;

	return copy_name(host, name) && (strcasecmp(name, "localhost") == 0 ||
					 inet_pton(AF_INET, name, &any) == 1 ||
					 inet_pton(AF_INET6, name, &any) == 1);
}

bool tw_origin_allowed(const char *origin, const char *host, bool loopback)
{
	const char *authority;

	if (origin == NULL)
		return true;
	authority = authority_of(origin);
	return authority != NULL && host != NULL && strcasecmp(authority, host) == 0 &&
	       (!loopback || is_address_or_localhost(host));
}
