/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_AGENT_LOOKUP_H
#define TW_COLLECTOR_AGENT_LOOKUP_H

/*
 * Names of agents, "dns:NAME[:PORT]": all addresses of each name, looked up again and
 * again on a thread of its own. A name server that hangs delays no poll.
 */

#include "lib/core/strs.h"

#include <stddef.h>
#include <stdint.h>

struct tw_agent_lookup; /* opaque */
struct tw_err;

/* Addresses of one name. */
#define TW_AGENT_ADDRESSES_MAX 1024

struct tw_agent_found {
	const char *name; /* "dns:NAME" as it was given */
	const char *url;  /* "http://NAME:PORT" */
	struct tw_strs
		connect_to; /* "::ADDR:PORT" of each address (lib/http/client/http.h) */
	const char *why;    /* ""; or the reason of a failure, without addresses */
};

/*
 * Check and split "dns:NAME", "dns:NAME:PORT" or "dns:https://NAME:PORT". The port is
 * 8103 by default. *url is yours (free()).
 */
int tw_agent_name_read(const char *text, char **url, struct tw_err *err);

/*
 * Start the thread for the items of urls that begin with "dns:"; it runs until the
 * process ends. *out lives as long.
 */
int tw_agent_lookup_start(const struct tw_strs *urls, uint64_t refresh_ms,
			  struct tw_agent_lookup **out, struct tw_err *err);

/* Call fn for each name that was looked up since the last call. */
void tw_agent_lookup_take(struct tw_agent_lookup *l,
			  void (*fn)(void *arg, size_t name,
				     const struct tw_agent_found *found),
			  void *arg);

#endif /* TW_COLLECTOR_AGENT_LOOKUP_H */
