/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/listen.h"

#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* A number needs no entry in passwd or group. */
static bool is_number(const char *text, uint32_t *out)
{
	struct tw_err err = { 0 };

	return tw_parse_u32(text, 0, INT_MAX, out, &err) == 0;
}

static int read_user(const char *text, uid_t *out, struct tw_err *err)
{
	const struct passwd *p;
	uint32_t number;

	if (is_number(text, &number)) {
		*out = number;
		return 0;
	}
	p = getpwnam(text);
	if (p == NULL)
		return tw_fail(err, TW_INVALID, "user '%.64s' is not known", text);
	*out = p->pw_uid;
	return 0;
}

static int read_group(const char *text, gid_t *out, struct tw_err *err)
{
	const struct group *g;
	uint32_t number;

	if (is_number(text, &number)) {
		*out = number;
		return 0;
	}
	g = getgrnam(text);
	if (g == NULL)
		return tw_fail(err, TW_INVALID, "group '%.64s' is not known", text);
	*out = g->gr_gid;
	return 0;
}

int tw_users_read(const struct tw_strs *names, struct tw_users *out, struct tw_err *err)
{
	if (names->count == 0)
		return 0;
	out->id = calloc(names->count, sizeof(*out->id));
	if (out->id == NULL)
		return tw_fail(err, TW_NOMEM, "%zu users", names->count);
	for (; out->count < names->count; out->count++)
		if (read_user(names->at[out->count], &out->id[out->count], err) < 0)
			return -1;
	return 0;
}

void tw_users_release(struct tw_users *u)
{
	free(u->id);
	*u = (struct tw_users){ 0 };
}

int tw_owner_read(const char *text, uid_t *user, gid_t *group, struct tw_err *err)
{
	const char *colon = strchr(text, ':');
	const size_t len = colon != NULL ? (size_t)(colon - text) : strlen(text);
	char name[64];
	uid_t u = (uid_t)-1;
	gid_t g = (gid_t)-1;

	if (len >= sizeof(name))
		return tw_fail(err, TW_INVALID, "user '%.64s' is not known", text);
	memcpy(name, text, len);
	name[len] = '\0';
	if (len > 0 && read_user(name, &u, err) < 0)
		return -1;
	if (colon != NULL && read_group(colon + 1, &g, err) < 0)
		return -1;
	*user = u;
	*group = g;
	return 0;
}

int tw_users_check_peer(const struct tw_users *u, int fd, struct tw_err *err)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return tw_fail_errno(err, errno,
				     "cannot read the credentials of the client");
	for (size_t i = 0; i < u->count; i++)
		if (u->id[i] == peer.uid)
			return 0;
	if (peer.uid == 0)
		return 0;
	return tw_fail(err, TW_DENIED, "user %u, process %d", (unsigned)peer.uid,
		       (int)peer.pid);
}

uid_t tw_users_peer(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 ? peer.uid
									 : (uid_t)-1;
}

/* Connections waiting for accept(); net.core.somaxconn may lower the limit. */
#define BACKLOG 4096

static int make_address(const char *path, struct sockaddr_un *a, struct tw_err *err)
{
	const size_t len = strlen(path);

	if (len == 0 || len >= sizeof(a->sun_path))
		return tw_fail(err, TW_INVALID,
			       "socket '%s': expected a path of 1 to %zu bytes", path,
			       sizeof(a->sun_path) - 1);
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(a->sun_path, path, len);
	return 0;
}

static int open_socket(int *fd, struct tw_err *err)
{
	*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return *fd >= 0 ? 0 : tw_fail_errno(err, errno, "cannot make a socket");
}

/* Remove a socket file on which no program answers. */
static int remove_stale(const char *path, const struct sockaddr_un *a, struct tw_err *err)
{
	struct stat st;
	int fd, failure;

	if (lstat(path, &st) < 0)
		return tw_fail_errno(err, errno, "socket '%s'", path);
	if (!S_ISSOCK(st.st_mode))
		return tw_fail(err, TW_INVALID, "'%s' exists and is not a socket", path);
	if (open_socket(&fd, err) < 0)
		return -1;
	failure = connect(fd, (const struct sockaddr *)a, sizeof(*a)) < 0 ? errno : 0;
	close(fd);
	if (failure == 0 || failure == EAGAIN)
		return tw_fail(err, TW_INVALID, "another program answers on '%s'", path);
	if (failure != ECONNREFUSED)
		return tw_fail_errno(err, failure,
				     "cannot see whether a program answers on '%s'",
				     path);
	if (unlink(path) < 0)
		return tw_fail_errno(err, errno, "cannot remove the old socket '%s'",
				     path);
	return 0;
}

static int bind_path(int fd, const char *path, const struct sockaddr_un *a,
		     struct tw_err *err)
{
	if (bind(fd, (const struct sockaddr *)a, sizeof(*a)) == 0)
		return 0;
	if (errno != EADDRINUSE)
		return tw_fail_errno(err, errno, "cannot make socket '%s'", path);
	if (remove_stale(path, a, err) < 0)
		return -1;
	if (bind(fd, (const struct sockaddr *)a, sizeof(*a)) < 0)
		return tw_fail_errno(err, errno, "cannot make socket '%s'", path);
	return 0;
}

/* Call before listen(), so that no client connects with the wrong rights. */
static int set_rights(const char *path, const struct tw_listener_rights *r,
		      struct tw_err *err)
{
	if ((r->user != (uid_t)-1 || r->group != (gid_t)-1) &&
	    lchown(path, r->user, r->group) < 0)
		return tw_fail_errno(err, errno, "cannot change the owner of '%s'", path);
	if (chmod(path, r->mode) < 0)
		return tw_fail_errno(err, errno, "cannot set the mode of '%s'", path);
	return 0;
}

int tw_listener_adopt(int fd, struct tw_listener *out, struct tw_err *err)
{
	struct sockaddr_storage a;
	socklen_t a_len = sizeof(a), len = sizeof(int);
	int listening = 0, type = 0, flags;

	if (getsockname(fd, (struct sockaddr *)&a, &a_len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) < 0 ||
	    (flags = fcntl(fd, F_GETFL)) < 0 ||
	    fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
		tw_fail_errno(err, errno, "passed descriptor %d", fd);
		goto fail;
	}
	if (a.ss_family != AF_UNIX || type != SOCK_STREAM || listening == 0) {
		tw_fail(err, TW_INVALID,
			"passed descriptor %d is not a listening Unix stream socket", fd);
		goto fail;
	}
	*out = (struct tw_listener){ .fd = fd };
	return 0;
fail:
	close(fd);
	return -1;
}

int tw_listener_check(const char *path, struct tw_err *err)
{
	struct sockaddr_un a;

	return make_address(path, &a, err);
}

int tw_listener_open(const char *path, const struct tw_listener_rights *rights,
		     struct tw_listener *out, struct tw_err *err)
{
	struct tw_listener l = { .fd = -1 };
	struct sockaddr_un a;
	struct stat st;
	int rc = -1;

	if (make_address(path, &a, err) < 0 || open_socket(&l.fd, err) < 0)
		goto out;
	if (bind_path(l.fd, path, &a, err) < 0)
		goto out;
	l.path = strdup(path);
	if (l.path == NULL) {
		unlink(path);
		tw_fail(err, TW_NOMEM, "socket '%s'", path);
		goto out;
	}
	if (lstat(path, &st) == 0) {
		l.dev = st.st_dev;
		l.ino = st.st_ino;
	}
	if (set_rights(path, rights, err) < 0)
		goto out;
	if (listen(l.fd, BACKLOG) < 0) {
		tw_fail_errno(err, errno, "cannot listen on '%s'", path);
		goto out;
	}
	*out = l;
	l = (struct tw_listener){ .fd = -1 };
	rc = 0;
out:
	tw_listener_close(&l);
	return rc;
}

void tw_listener_close(struct tw_listener *l)
{
	struct stat st;

	if (l->path != NULL && lstat(l->path, &st) == 0 && st.st_dev == l->dev &&
	    st.st_ino == l->ino)
		unlink(l->path);
	if (l->fd >= 0)
		close(l->fd);
	free(l->path);
	*l = (struct tw_listener){ .fd = -1 };
}
