/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/powercap_keeper.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The longest path of a zone (powercap.c) and a file in it. */
#define PATH_BYTES (1024 + 32)

void tw_powercap_retire_zone(const char *zone_dir)
{
	char from[PATH_BYTES], to[PATH_BYTES];

	if ((size_t)snprintf(from, sizeof(from), "%s/" TW_POWERCAP_COUNTER, zone_dir) >=
		    sizeof(from) ||
	    (size_t)snprintf(to, sizeof(to), "%s/" TW_POWERCAP_LAST, zone_dir) >=
		    sizeof(to))
		return;
	/* A failure leaves the counter: there is nobody to tell. */
	(void)rename(from, to);
}

/* ---- in the keeper ---- */

/* Call run for each path in dir. */
static void for_each(const char *dir, void (*run)(const char *path))
{
	struct tw_strs names = { 0 };
	struct tw_err ignored = { 0 };
	char path[PATH_BYTES];

	if (tw_dir_list(dir, &names, &ignored) == 0)
		for (size_t i = 0; i < names.count; i++)
			if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir,
					     names.at[i]) < sizeof(path))
				run(path);
	tw_strs_clear(&names);
}

static void retire_tree(const char *dir)
{
	char zones[PATH_BYTES];

	if ((size_t)snprintf(zones, sizeof(zones), "%s/class/powercap", dir) <
	    sizeof(zones))
		for_each(zones, tw_powercap_retire_zone);
}

static void retire(const struct tw_powercap_keeper_config *c)
{
	if (c->node_dir != NULL)
		retire_tree(c->node_dir);
	if (c->vm_dir != NULL)
		for_each(c->vm_dir, retire_tree);
}

/* Wait for a tick. Return false if the collector has ended. */
static bool hear(int fd, int patience_ms, bool *late)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	const int ready = poll(&p, 1, patience_ms);
	char beats[64];

	*late = ready == 0;
	if (ready <= 0)
		return ready == 0 || errno == EINTR;
	return read(fd, beats, sizeof(beats)) > 0;
}

static void keep(int fd, const void *arg)
{
	const struct tw_powercap_keeper_config *c = arg;
	/* systemd and terminals signal all processes: the collector's end is awaited. */
	static const int ignored[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
	struct tw_err err = { 0 };
	bool late = false;

	for (size_t i = 0; i < TW_COUNT(ignored); i++)
		signal(ignored[i], SIG_IGN);
	/* Trees of a collector that was killed together with its keeper. */
	if (tw_privilege_drop(&c->privilege, &err) == 0)
		retire(c);
	(void)!write(fd, err.text, strlen(err.text) + 1);
	if (err.code != TW_OK)
		return;
	while (hear(fd, late ? -1 : c->patience_ms, &late))
		if (late)
			retire(c);
	retire(c);
}

/* ---- in the collector ---- */

/* Wait until the keeper has begun. Its answer is the text of an error, or empty. */
static int await(int fd, struct tw_err *err)
{
	struct tw_err why = { 0 };

	if (read(fd, why.text, sizeof(why.text) - 1) <= 0)
		return tw_fail(err, TW_IO, "the keeper of powercap trees has ended");
	return why.text[0] != '\0' ? tw_fail(err, TW_DENIED, "%s", why.text) : 0;
}

int tw_powercap_keeper_start(const struct tw_powercap_keeper_config *c,
			     struct tw_aside *out, struct tw_err *err)
{
	if (c->node_dir == NULL && c->vm_dir == NULL)
		return 0;
	if (tw_aside_open(keep, c, out, err) < 0)
		return tw_err_wrap(err, "the keeper of powercap trees");
	return await(out->fd, err);
}

void tw_powercap_keeper_beat(const struct tw_aside *k)
{
	/* A full queue has beats enough. */
	if (k->pid > 0)
		(void)!send(k->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}
