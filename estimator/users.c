/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/users.h"

#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

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
