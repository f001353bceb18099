/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/connector.h"

#include "collector/ask/ask_filter.h"
#include "collector/system/aside.h"
#include "collector/system/privilege.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The connector answers at once: it never waits for a service. */
#define PATIENCE_MS 5000

/* ---- the connector's process ---- */

struct order {
	const struct tw_strs *paths;
	const char *request;
	bool filter;
};

/* A socket with the request sent, or -1 and errno. */
static int connect_to(const char *path, const char *request)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int e;

	if (fd < 0)
		return -1;
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0 &&
	    send(fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request))
		return fd;
	e = errno;
	close(fd);
	errno = e;
	return -1;
}

static void serve(int fd, const struct order *o)
{
	unsigned char place;

	while (recv(fd, &place, 1, 0) == 1 && place < o->paths->count) {
		const int answer = connect_to(o->paths->at[place], o->request);
		const int failure = errno;

		tw_aside_send(fd, &failure, sizeof(failure), (int[]){ answer, -1 });
		if (answer >= 0)
			close(answer);
	}
}

static void become_connector(int fd, const void *arg)
{
	const struct tw_privilege p = { .user = NULL };
	const struct order *o = arg;
	struct tw_err err = { 0 };

	if (tw_privilege_drop(&p, &err) < 0 ||
	    (o->filter && tw_ask_filter_install(TW_ASK_ASKS, true, &err) < 0))
		fprintf(stderr, "tw-ask: %s\n", err.text);
	else
		serve(fd, o);
}

/* ---- the other end ---- */

int tw_connector_open(const struct tw_strs *paths, const char *request, bool filter,
		      struct tw_aside *out, struct tw_err *err)
{
	const struct order o = { paths, request, filter };

	return tw_aside_open(become_connector, &o, out, err);
}

/* Answers to a process that has crashed since. */
static void skip_old(int fd)
{
	int failure, files[TW_ASIDE_FILES];

	while (tw_aside_next(fd, &failure, sizeof(failure), files) == TW_ASIDE_MESSAGE)
		if (files[0] >= 0)
			close(files[0]);
}

int tw_connector_ask(const struct tw_aside *c, const struct tw_strs *paths, size_t place,
		     int *answer, struct tw_err *err)
{
	const char *path = paths->at[place];
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	const unsigned char byte = (unsigned char)place;
	int failure, files[TW_ASIDE_FILES];

	skip_old(c->fd);
	if (send(c->fd, &byte, 1, MSG_NOSIGNAL) != 1 || poll(&p, 1, PATIENCE_MS) <= 0 ||
	    tw_aside_next(c->fd, &failure, sizeof(failure), files) != TW_ASIDE_MESSAGE)
		return tw_fail(err, TW_IO, "cannot connect to '%s': no connector", path);
	if (files[0] < 0)
		return tw_fail_errno(err, failure, "cannot connect to '%s'", path);
	*answer = files[0];
	return 0;
}
