/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/server/httpd.h"

#include "lib/core/array.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/http/server/httpd_exchange.h"
#include "lib/http/server/httpd_guard.h"
#include "lib/http/server/httpd_stats.h"
#include "lib/http/server/httpd_work.h"
#include "lib/http/web/web.h"
#include "lib/program/daemon.h"
#include "lib/program/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ---- the listening socket ---- */

/* Room for "[address%scope]:port". */
#define LISTEN_TEXT 96

#define BACKLOG 512

/* "[::1]:80" gives host "::1" and port "80". */
static int split_address(const char *address, char host[NI_MAXHOST], const char **port,
			 struct tw_err *err)
{
	const char *colon = strrchr(address, ':');
	size_t len = colon != NULL ? (size_t)(colon - address) : 0;
	const char *start = address;
	uint32_t number;

	if (colon == NULL || len >= NI_MAXHOST)
		return tw_fail(err, TW_INVALID, "address '%.64s': want ADDR:PORT",
			       address);
	if (tw_parse_u32(colon + 1, 0, UINT16_MAX, &number, err) < 0)
		return tw_err_wrap(err, "address '%.64s'", address);
	if (len >= 2 && start[0] == '[' && start[len - 1] == ']') {
		start++;
		len -= 2;
	} else if (memchr(start, ':', len) != NULL) {
		return tw_fail(err, TW_INVALID, "address '%.64s': want [ADDR]:PORT",
			       address);
	}
	memcpy(host, start, len);
	host[len] = '\0';
	*port = colon + 1;
	return 0;
}

static int listen_at(const struct addrinfo *a, int *out)
{
	int fd, on = 1, off = 0, error;

	fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    (a->ai_family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0) ||
	    bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0) {
		error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	*out = fd;
	return 0;
}

static int format_bound(int fd, char text[LISTEN_TEXT], struct tw_err *err)
{
	char host[LISTEN_TEXT - 16], port[8];
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);
	int e;

	if (getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		return tw_fail_errno(err, errno, "getsockname");
	e = getnameinfo((struct sockaddr *)&a, len, host, sizeof(host), port,
			sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	if (e != 0)
		return tw_fail(err, TW_IO, "getnameinfo: %s", gai_strerror(e));
	snprintf(text, LISTEN_TEXT, a.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
		 port);
	return 0;
}

/* Listen on the first usable address of the family; AF_INET6 also accepts IPv4. */
static int listen_family(const char *address, const char *host, const char *port,
			 int family, int *out, struct tw_err *err)
{
	struct addrinfo hints = { .ai_family = family,
				  .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	struct addrinfo *list;
	int rc = -1, error = 0, e;

	e = getaddrinfo(*host != '\0' ? host : NULL, port, &hints, &list);
	if (e != 0)
		return tw_fail(err, TW_INVALID, "address '%.64s': %s", address,
			       gai_strerror(e));
	for (const struct addrinfo *a = list; a != NULL; a = a->ai_next) {
		if (listen_at(a, out) == 0) {
			rc = 0;
			break;
		}
		error = errno;
	}
	freeaddrinfo(list);
	if (rc < 0)
		tw_fail_errno(err, error, "cannot listen on '%.64s'", address);
	return rc;
}

/*
 * Listen on "127.0.0.1:8100", "[::1]:0" or "localhost:80". ":8100" means all addresses,
 * IPv6 and IPv4. *fd is yours; text gets the address that was bound.
 */
static int listen_on(const char *address, int *out, char text[LISTEN_TEXT],
		     struct tw_err *err)
{
	char host[NI_MAXHOST];
	struct tw_err ignored = { 0 };
	const char *port = "";
	int fd = -1, rc = -1;

	if (split_address(address, host, &port, err) < 0)
		goto out;
	/* Without a host: IPv6 and IPv4; on a kernel without IPv6: IPv4. */
	if ((*host != '\0' ||
	     listen_family(address, host, port, AF_INET6, &fd, &ignored) < 0) &&
	    listen_family(address, host, port, *host != '\0' ? AF_UNSPEC : AF_INET, &fd,
			  err) < 0)
		goto out;
	if (format_bound(fd, text, err) < 0)
		goto out;

	*out = fd;
	fd = -1;
	rc = 0;
out:
	if (fd >= 0)
		close(fd);
	return rc;
}

/*
 * Use a socket that listens already, as systemd passes it. On success *out is fd and is
 * yours.
 */
static int listen_take(int fd, int *out, char text[LISTEN_TEXT], struct tw_err *err)
{
	const int flags = fcntl(fd, F_GETFL);
	int listening = 0;
	socklen_t len = sizeof(listening);

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) < 0 || !listening)
		return tw_fail(err, TW_INVALID, "descriptor %d is not a listening socket",
			       fd);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return tw_fail_errno(err, errno, "descriptor %d", fd);
	if (format_bound(fd, text, err) < 0)
		return -1;
	*out = fd;
	return 0;
}

/* ---- the server ---- */

#define CONNECTIONS_MAX 1024
#define IDLE_TIMEOUT_MS 10000
#define BODY_MAX ((size_t)1 << 20)
#define CLOSE_WAIT_S 5

/* Descriptors of the server itself, and those of an event thread. */
#define OWN_FILES 16
#define THREAD_FILES 2

struct tw_httpd {
	struct tw_httpd_config config;
	struct MHD_Daemon *daemon;
	char address[LISTEN_TEXT];

	struct tw_guard *guard;
	struct tw_httpd_work *work; /* NULL: no queue of slow requests */
	struct tw_httpd_work *hash; /* NULL: no queue of passwords to check */
	struct tw_web *web;         /* NULL: no web configuration */
	struct tw_exchange_server exchange;

	/* An eventfd, written when a password was checked; -1 without callers_thread. */
	int wake;
	int epoll; /* of wake and of the library */
};

static void on_connection(void *cls, struct MHD_Connection *c, void **context,
			  enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct tw_httpd *s = cls;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = i != NULL ? tw_guard_add(s->guard, i->connect_fd, s) : NULL;
		tw_http_stats_connection(s->config.stats, 1);
	} else {
		tw_guard_drop(s->guard, *context);
		*context = NULL;
		tw_http_stats_connection(s->config.stats, -1);
	}
}

/* Decode "%41" in place. "%00" becomes 1, because a NUL would hide the rest of the path.
 */
static size_t unescape(void *cls, struct MHD_Connection *c, char *s)
{
	size_t len = MHD_http_unescape(s);

	(void)cls;
	(void)c;
	for (char *nul = memchr(s, '\0', len); nul != NULL; nul = memchr(s, '\0', len))
		*nul = '\1';
	return len;
}

static unsigned cpu_count(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_COUNT(&set) < 1)
		return 1;
	return (unsigned)CPU_COUNT(&set);
}

/* 0: connections have threads of their own, or that of the caller. */
static unsigned event_threads(const struct tw_httpd_config *c)
{
	const unsigned threads = c->threads != 0 ? c->threads : cpu_count();

	if (c->callers_thread || c->thread_per_connection)
		return 0;
	return threads < c->connections_max ? threads : c->connections_max;
}

/*
 * Places of the library, for new connections while the guard ends others. With threads of
 * connections it closes what is beyond; else that waits.
 */
static unsigned library_max(const struct tw_httpd_config *c)
{
	return c->thread_per_connection ? 2 * c->connections_max + 16
					: c->connections_max + c->connections_max / 8 + 1;
}

/* Without a descriptor, accept() would fail at once, again and again. */
static void fit_file_limit(struct tw_httpd_config *c)
{
	const uint64_t want = (uint64_t)library_max(c) + c->files_more + OWN_FILES +
			      (uint64_t)THREAD_FILES * event_threads(c);
	const uint64_t limit = tw_file_limit_raise(want);
	const uint64_t fit = c->connections_max * limit / want;

	if (limit >= want)
		return;
	c->connections_max = fit > 1 ? (unsigned)fit : 1;
	tw_log_warn("the limit of %" PRIu64 " open files allows connections=%u", limit,
		    c->connections_max);
}

/* The session's pointer is the connection, by which the server is found. */
static int get_certificate(gnutls_session_t session, const gnutls_datum_t *authorities,
			   int authority_count, const gnutls_pk_algorithm_t *algorithms,
			   int algorithm_count, gnutls_pcert_st **chain, unsigned *count,
			   gnutls_privkey_t *key)
{
	struct MHD_Connection *c = gnutls_session_get_ptr(session);
	const struct tw_guarded *connection = c != NULL ? tw_exchange_guarded(c) : NULL;
	const struct tw_httpd *s;

	(void)authorities;
	(void)authority_count;
	(void)algorithms;
	(void)algorithm_count;
	if (connection == NULL)
		return -1;
	s = tw_guard_owner(connection);
	return tw_web_certificate(s->web, chain, count, key);
}

static struct MHD_Daemon *start_daemon(struct tw_httpd *s, int fd)
{
	const struct tw_httpd_config *c = &s->config;
	unsigned flags =
		c->callers_thread ? 0u : MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ITC;
	const bool tls = s->web != NULL && tw_web_tls(s->web);
	const char *ca = tls ? tw_web_client_ca(s->web) : NULL;
	const unsigned pool = event_threads(c);

	if (c->thread_per_connection)
		flags |= MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL;
	else
		flags |= MHD_USE_EPOLL;
	if (tls)
		flags |= MHD_USE_TLS;
	if (s->work != NULL || s->hash != NULL || c->callers_thread)
		flags |= MHD_ALLOW_SUSPEND_RESUME;
	return MHD_start_daemon(
		flags, 0, NULL, NULL, tw_exchange_request, &s->exchange,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, library_max(c),
		MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)((c->idle_timeout_ms + 999) / 1000),
		MHD_OPTION_NOTIFY_COMPLETED, tw_exchange_completed, &s->exchange,
		MHD_OPTION_URI_LOG_CALLBACK, tw_exchange_target, &s->exchange,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
		MHD_OPTION_UNESCAPE_CALLBACK, unescape, s, MHD_OPTION_THREAD_POOL_SIZE,
		pool > 1 ? pool : 0u,
		/* MHD_OPTION_END ends the list at the first unused option. */
		tls ? MHD_OPTION_HTTPS_CERT_CALLBACK : MHD_OPTION_END, get_certificate,
		MHD_OPTION_HTTPS_PRIORITIES, tls ? tw_web_priorities(s->web) : NULL,
		ca != NULL ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, ca,
		MHD_OPTION_END);
}

static void set_defaults(struct tw_httpd_config *c)
{
	if (c->connections_max == 0)
		c->connections_max = CONNECTIONS_MAX;
	if (c->idle_timeout_ms == 0)
		c->idle_timeout_ms = IDLE_TIMEOUT_MS;
	if (c->body_max == 0)
		c->body_max = BODY_MAX;
	fit_file_limit(c);
}

/* Only event threads, which serve several connections, need a queue of slow requests. */
static bool needs_work(const struct tw_httpd_config *c)
{
	bool slow = false;

	for (size_t i = 0; i < c->route_count; i++)
		slow |= c->routes[i].slow;
	return slow && !c->thread_per_connection && !c->callers_thread;
}

static int library_fd(const struct tw_httpd *s)
{
	return MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

static int watch(const struct tw_httpd *s, int fd, struct tw_err *err)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev) < 0
		       ? tw_fail_errno(err, errno, "epoll")
		       : 0;
}

/* The descriptors of tw_httpd_fd(), for a server without threads. */
static int open_epoll(struct tw_httpd *s, struct tw_err *err)
{
	if (!s->config.callers_thread)
		return 0;
	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->wake < 0 || s->epoll < 0)
		return tw_fail_errno(err, errno, "epoll of the HTTP server");
	return watch(s, s->wake, err);
}

static void share_with_requests(struct tw_httpd *s)
{
	struct tw_exchange_server *e = &s->exchange;

	e->routes = s->config.routes;
	e->route_count = s->config.route_count;
	e->app = s->config.app;
	e->body_max = s->config.body_max;
	e->stats = s->config.stats;
	e->work = s->work;
	e->hash = s->hash;
	e->web = s->web;
	e->host_names = s->config.host_names;
	e->loopback = strncmp(s->address, "127.", 4) == 0 ||
		      strncmp(s->address, "[::1]", 5) == 0;
	atomic_init(&e->in_progress, 0);
	atomic_init(&e->closing, false);
}

static int open_web(const struct tw_httpd_config *c, struct tw_web **out,
		    struct tw_err *err)
{
	return c->web_config != NULL
		       ? tw_web_open(c->web_config, c->web_changed, c->app, out, err)
		       : 0;
}

int tw_httpd_check(const struct tw_httpd_config *c, struct tw_err *err)
{
	struct tw_web *web = NULL;
	const int rc = open_web(c, &web, err);

	tw_web_close(web);
	return rc;
}

int tw_httpd_open(const struct tw_httpd_config *c, struct tw_httpd **out,
		  struct tw_err *err)
{
	struct tw_httpd *s;
	int fd;

	if (TW_NEW(s, 1, err) < 0)
		return -1;
	s->config = *c;
	set_defaults(&s->config);
	s->wake = s->epoll = -1;

	if (open_epoll(s, err) < 0)
		goto fail;
	if (open_web(c, &s->web, err) < 0)
		goto fail;
	if (needs_work(c) &&
	    tw_httpd_work_open(TW_HTTPD_WORK_MAX, s->wake, &s->work, err) < 0)
		goto fail;
	/* A thread of its own may wait for a check. */
	if (s->web != NULL && !c->thread_per_connection &&
	    tw_httpd_work_open(s->config.connections_max, s->wake, &s->hash, err) < 0)
		goto fail;
	if (tw_guard_open(!c->callers_thread, c->answer_timeout_ms,
			  s->config.connections_max, &s->guard, err) < 0 ||
	    (c->socket != 0 ? listen_take(c->socket, &fd, s->address, err)
			    : listen_on(c->listen, &fd, s->address, err)) < 0)
		goto fail;
	share_with_requests(s);
	s->daemon = start_daemon(s, fd);
	if (s->daemon == NULL) {
		/* The library has closed fd. */
		tw_fail(err, TW_IO, "cannot start an HTTP server on '%s'", s->address);
		goto fail;
	}
	if (s->epoll >= 0 && watch(s, library_fd(s), err) < 0)
		goto fail;
	*out = s;
	return 0;
fail:
	tw_httpd_close(s);
	return -1;
}

const char *tw_httpd_address(const struct tw_httpd *s)
{
	return s->address;
}

int tw_httpd_fd(const struct tw_httpd *s)
{
	return s->epoll;
}

int tw_httpd_timeout_ms(const struct tw_httpd *s)
{
	const int guard_ms = tw_guard_wait_ms(s->guard);
	unsigned long long ms;

	if (MHD_get_timeout(s->daemon, &ms) != MHD_YES)
		return guard_ms;
	if (guard_ms >= 0 && ms > (unsigned long long)guard_ms)
		return guard_ms;
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

void tw_httpd_end_late(struct tw_httpd *s)
{
	tw_guard_end_late(s->guard);
}

void tw_httpd_run(struct tw_httpd *s)
{
	uint64_t count;

	/* Before the run, which takes up the connections of all jobs that wrote to it. */
	(void)!read(s->wake, &count, sizeof(count));
	tw_guard_end_late(s->guard);
	MHD_run(s->daemon);
}

int tw_httpd_can_reload(const struct tw_httpd *s, struct tw_err *err)
{
	return s->web != NULL ? tw_web_can_reload(s->web, err) : 0;
}

/* Wait until no request is in progress. Polling is enough: it runs once, at the end. */
static void wait_idle(struct tw_httpd *s)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	uint64_t until;

	atomic_store(&s->exchange.closing, true);
	/* The library does not finish suspended connections. */
	tw_httpd_work_stop(s->work);
	tw_httpd_work_stop(s->hash);
	until = tw_now_ns() + CLOSE_WAIT_S * UINT64_C(1000000000);
	while (atomic_load(&s->exchange.in_progress) > 0 && tw_now_ns() < until) {
		/* The caller, whose thread this is, does not poll now. */
		if (s->config.callers_thread)
			MHD_run(s->daemon);
		nanosleep(&pause, NULL);
	}
}

void tw_httpd_close(struct tw_httpd *s)
{
	int fd;

	if (s == NULL)
		return;
	if (s->daemon != NULL) {
		fd = MHD_quiesce_daemon(s->daemon);
		/* Refuse new clients, but not those of a socket that systemd keeps. */
		if (fd >= 0 && s->config.socket == 0)
			shutdown(fd, SHUT_RDWR);
		wait_idle(s);
		MHD_stop_daemon(s->daemon);
		/* Until now the library's threads may have used the descriptor. */
		if (fd >= 0)
			close(fd);
	}
	tw_httpd_work_close(s->work);
	tw_httpd_work_close(s->hash);
	tw_guard_close(s->guard);
	tw_web_close(s->web);
	if (s->wake >= 0)
		close(s->wake);
	if (s->epoll >= 0)
		close(s->epoll);
	free(s);
}
