/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/agent_lookup.h"

#include "lib/core/err.h"
#include "lib/http/client/url.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define PREFIX "dns:"
#define PORT "8103"
#define HOST_MAX 254

struct name {
	const char *text;
	char *url;
	char host[HOST_MAX], port[8];
	/* Results of the last lookup, under the lock. */
	bool fresh;
	struct tw_strs connect_to;
	const char *why;
};

struct tw_agent_lookup {
	pthread_mutex_t lock;
	uint64_t refresh_ms;
	size_t count;
	struct name *name;
};

/* Split "http://NAME[:PORT]" of tw_agent_name_read(). */
static void split(struct name *n)
{
	const char *host = strstr(n->url, "://") + 3;
	const size_t len = strcspn(host, ":");

	snprintf(n->host, sizeof(n->host), "%.*s", (int)len, host);
	snprintf(n->port, sizeof(n->port), "%s", host + len + 1);
}

static bool is_port(const char *text)
{
	const size_t len = strspn(text, "0123456789");

	return len > 0 && len <= 5 && text[len] == '\0' && atoi(text) > 0 &&
	       atoi(text) < 65536;
}

int tw_agent_name_read(const char *text, char **url, struct tw_err *err)
{
	const char *rest =
		strncmp(text, PREFIX, strlen(PREFIX)) == 0 ? text + strlen(PREFIX) : "";
	const char *scheme = "http://";
	const char *port;
	size_t len;

	if (tw_url_is(rest)) {
		scheme = strncmp(rest, "https", 5) == 0 ? "https://" : scheme;
		rest += strlen(scheme);
	}
	len = strcspn(rest, ":/@?#[] ");
	port = rest[len] == ':' ? rest + len + 1 : PORT;
	if (len == 0 || len >= HOST_MAX || (rest[len] != ':' && rest[len] != '\0') ||
	    !is_port(port))
		return tw_fail(err, TW_INVALID, "'%.64s': want dns:NAME or dns:NAME:PORT",
			       text);
	if (asprintf(url, "%s%.*s:%s", scheme, (int)len, rest, port) < 0)
		return tw_fail(err, TW_NOMEM, "URL");
	return 0;
}

static void add_address(struct tw_strs *to, const struct addrinfo *a, const char *port)
{
	char address[INET6_ADDRSTRLEN], text[INET6_ADDRSTRLEN + 16];
	struct tw_err err = { 0 };
	const bool v6 = a->ai_family == AF_INET6;
	const void *bytes =
		v6 ? (const void *)&(
			     (const struct sockaddr_in6 *)(const void *)a->ai_addr)
				->sin6_addr
		   : (const void *)&((const struct sockaddr_in *)(const void *)a->ai_addr)
				->sin_addr;

	if (inet_ntop(a->ai_family, bytes, address, sizeof(address)) == NULL)
		return;
	snprintf(text, sizeof(text), v6 ? "::[%s]:%s" : "::%s:%s", address, port);
	if (!tw_strs_has(to, text))
		tw_strs_adds(to, text, &err);
}

static void add_family(struct tw_strs *to, const struct addrinfo *all, int family,
		       const char *port)
{
	for (const struct addrinfo *a = all; a != NULL; a = a->ai_next)
		if (a->ai_family == family && to->count < TW_AGENT_ADDRESSES_MAX)
			add_address(to, a, port);
}

/* Use one address family: with both, each agent would appear twice. */
static void look_up(struct tw_agent_lookup *l, struct name *n)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
					.ai_socktype = SOCK_STREAM };
	struct addrinfo *all = NULL;
	struct tw_strs found = { 0 };
	const int e = getaddrinfo(n->host, NULL, &hints, &all);

	add_family(&found, e == 0 ? all : NULL, AF_INET, n->port);
	if (found.count == 0)
		add_family(&found, e == 0 ? all : NULL, AF_INET6, n->port);
	if (e == 0)
		freeaddrinfo(all);
	pthread_mutex_lock(&l->lock);
	tw_strs_clear(&n->connect_to);
	n->connect_to = found;
	n->why = e != 0 ? gai_strerror(e) : found.count == 0 ? "no address" : "";
	n->fresh = true;
	pthread_mutex_unlock(&l->lock);
}

static void *run(void *arg)
{
	struct tw_agent_lookup *l = arg;
	const struct timespec pause = { .tv_sec = (time_t)(l->refresh_ms / 1000),
					.tv_nsec =
						(long)(l->refresh_ms % 1000 * 1000000) };

	for (;;) {
		for (size_t i = 0; i < l->count; i++)
			look_up(l, &l->name[i]);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int tw_agent_lookup_start(const struct tw_strs *urls, uint64_t refresh_ms,
			  struct tw_agent_lookup **out, struct tw_err *err)
{
	struct tw_agent_lookup *l = calloc(1, sizeof(*l));
	pthread_t thread;
	int e;

	if (l != NULL)
		l->name = calloc(urls->count + 1, sizeof(*l->name));
	if (l == NULL || l->name == NULL) {
		free(l);
		return tw_fail(err, TW_NOMEM, "lookup of agents");
	}
	pthread_mutex_init(&l->lock, NULL);
	l->refresh_ms = refresh_ms;
	*out = l; /* lives as long as the process */
	for (size_t i = 0; i < urls->count; i++) {
		struct name *n = &l->name[l->count];

		if (tw_url_is(urls->at[i]))
			continue;
		if (tw_agent_name_read(urls->at[i], &n->url, err) < 0)
			return -1;
		n->text = urls->at[i];
		split(n);
		l->count++;
	}
	if (l->count == 0)
		return 0;
	e = pthread_create(&thread, NULL, run, l);
	if (e != 0)
		return tw_fail_errno(err, e, "cannot start the lookup of agents");
	pthread_detach(thread);
	return 0;
}

void tw_agent_lookup_take(struct tw_agent_lookup *l,
			  void (*fn)(void *arg, size_t name,
				     const struct tw_agent_found *found),
			  void *arg)
{
	for (size_t i = 0; i < l->count; i++) {
		struct name *n = &l->name[i];
		struct tw_agent_found found = { .name = n->text, .url = n->url };
		bool fresh;

		pthread_mutex_lock(&l->lock);
		fresh = n->fresh;
		n->fresh = false;
		if (fresh) {
			found.connect_to = n->connect_to;
			found.why = n->why;
			n->connect_to = (struct tw_strs){ 0 };
		}
		pthread_mutex_unlock(&l->lock);
		if (fresh)
			fn(arg, i, &found);
		tw_strs_clear(&found.connect_to);
	}
}
