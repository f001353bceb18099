/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/server/httpd_listen.h"

#include "lib/core/err.h"
#include "lib/core/num.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

static int format_bound(int fd, char text[TW_LISTEN_TEXT], struct tw_err *err)
{
	char host[TW_LISTEN_TEXT - 16], port[8];
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);
	int e;

	if (getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		return tw_fail_errno(err, errno, "getsockname");
	e = getnameinfo((struct sockaddr *)&a, len, host, sizeof(host), port,
			sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	if (e != 0)
		return tw_fail(err, TW_IO, "getnameinfo: %s", gai_strerror(e));
	snprintf(text, TW_LISTEN_TEXT, a.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s",
		 host, port);
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

int tw_listen(const char *address, int *out, char text[TW_LISTEN_TEXT],
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

int tw_listen_take(int fd, int *out, char text[TW_LISTEN_TEXT], struct tw_err *err)
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
