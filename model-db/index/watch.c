/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/watch.h"

#include "lib/core/err.h"

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

#define NAMES (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)
#define DIRECTORY (IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

int tw_watch_open(struct tw_watch *w, struct tw_err *err)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	if (fd < 0)
		return tw_fail_errno(err, errno, "cannot watch directories");
	w->fd = fd;
	w->wd = -1;
	return 0;
}

bool tw_watch_directory(struct tw_watch *w, const char *dir)
{
	int wd = inotify_add_watch(w->fd, dir, NAMES | DIRECTORY);

	/* A directory that replaced another one has a new watch descriptor. */
	if (w->wd >= 0 && w->wd != wd)
		inotify_rm_watch(w->fd, w->wd);
	w->wd = wd;
	return wd >= 0;
}

/* Whether the event concerns the directory that is watched now. */
static bool take_event(struct tw_watch *w, const struct inotify_event *e)
{
	if ((e->mask & IN_Q_OVERFLOW) != 0)
		return true;
	if (e->wd != w->wd)
		return false;
	if ((e->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT)) != 0) {
		/* inotify still watches a directory that was moved away. */
		inotify_rm_watch(w->fd, w->wd);
		w->wd = -1;
		return true;
	}
	return e->len > 0 && e->name[0] != '.';
}

bool tw_watch_changed(struct tw_watch *w)
{
	_Alignas(struct inotify_event) char events[4096];
	bool changed = false;
	ssize_t n;

	while ((n = read(w->fd, events, sizeof(events))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *e = (const void *)(events + at);

			changed |= take_event(w, e);
			at += (ssize_t)(sizeof(*e) + e->len);
		}
	}
	return changed;
}

void tw_watch_close(struct tw_watch *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
	w->wd = -1;
}
