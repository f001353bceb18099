/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/server/httpd_origin.h"

#include "lib/core/strs.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

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

static bool is_address_or_localhost(const char *name)
{
	struct in6_addr any;

	return strcasecmp(name, "localhost") == 0 ||
	       inet_pton(AF_INET, name, &any) == 1 ||
	       inet_pton(AF_INET6, name, &any) == 1;
}

static bool is_own_name(const char *name)
{
	char own[NAME_MAX_BYTES + 1] = "";

	return gethostname(own, sizeof(own) - 1) == 0 && own[0] != '\0' &&
	       strcasecmp(name, own) == 0;
}

static bool is_listed(const struct tw_strs *names, const char *name)
{
	for (size_t i = 0; names != NULL && i < names->count; i++)
		if (strcasecmp(names->at[i], name) == 0)
			return true;
	return false;
}

static bool is_host_ours(const char *host, const struct tw_origin_rules *r)
{
	const bool listed = r->names != NULL && r->names->count > 0;
	char name[NAME_MAX_BYTES + 1];

	if (r->users && !listed)
		return true;
	if (host == NULL || !copy_name(host, name))
		return false;
	return is_address_or_localhost(name) || is_own_name(name) ||
	       is_listed(r->names, name) ||
	       (!r->loopback && name[0] != '\0' && strchr(name, '.') == NULL);
}

static bool is_origin_of_host(const char *origin, const char *host)
{
	const char *authority = authority_of(origin);

	return authority != NULL && host != NULL && strcasecmp(authority, host) == 0;
}

/* A page of another origin, on this site or another. */
static bool is_foreign(const char *site)
{
	return site != NULL && strcasecmp(site, "same-origin") != 0 &&
	       strcasecmp(site, "none") != 0;
}

/* All browsers send one of these with each request; scripts cannot leave it out. */
static bool is_browser(const struct tw_origin_headers *h)
{
	return h->origin != NULL || h->site != NULL || h->language != NULL ||
	       (h->agent != NULL && strncmp(h->agent, "Mozilla/", 8) == 0);
}

const char *tw_origin_refusal(const struct tw_origin_headers *h,
			      const struct tw_origin_rules *r)
{
	const bool opens =
		r->reads && h->mode != NULL && strcasecmp(h->mode, "navigate") == 0;
	const bool guarded = !r->reads || r->users;

	if (!is_browser(h))
		return NULL;
	if (guarded && h->origin != NULL && !is_origin_of_host(h->origin, h->host))
		return "the header Origin is not of this server";
	if (guarded && is_foreign(h->site) && !opens)
		return "a page of another server sent it, says Sec-Fetch-Site";
	if (!is_host_ours(h->host, r))
		return "the header Host is not a name of this server: set --host-names";
	return NULL;
}
