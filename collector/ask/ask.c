/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/ask.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "lib/program/helper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "tw-ask"

/* Time for the helper to close a session. */
#define GOODBYE_MS 2000

/*
 * Invalid messages to skip in one call: a helper that sends garbage must not block the
 * tick.
 */
#define INVALID_MAX 64

struct tw_ask {
	int fd; /* -1: the helper has exited */
	pid_t pid;
	char why[TW_ASK_WHY];
};

static int send_settings(const struct tw_ask *a, const json_t *settings,
			 struct tw_err *err)
{
	struct tw_buf b = { 0 };
	char *text;
	size_t len;
	int rc = -1;

	tw_buf_add_json(&b, settings);
	text = tw_buf_detach(&b, &len);
	if (text == NULL) {
		tw_fail(err, TW_NOMEM, "settings");
		goto out;
	}
	if (len > TW_ASK_SETTINGS_MAX) {
		tw_fail(err, TW_INVALID, "settings of %zu bytes", len);
		goto out;
	}
	if (send(a->fd, text, len, MSG_NOSIGNAL) != (ssize_t)len) {
		tw_fail_errno(err, errno, "cannot send settings to '%s'", PROGRAM);
		goto out;
	}

	rc = 0;
out:
	free(text);
	return rc;
}

static int start(struct tw_ask *a, const char *program, struct tw_err *err)
{
	int ends[2], e;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return tw_fail_errno(err, errno, "cannot make a socket");
	a->fd = ends[0];
	e = tw_helper_start(program, PROGRAM, (const int[]){ ends[1], ends[1] }, 2,
			    &a->pid);
	close(ends[1]);
	if (e != 0)
		return tw_fail_errno(err, e, "cannot start '%s'", program);
	return 0;
}

static int open_helper(struct tw_ask *a, const struct tw_ask_config *c, const char *job,
		       json_t *settings, struct tw_err *err)
{
	char *found = NULL;
	const char *program = c->program;
	int rc = -1;

	if (settings == NULL ||
	    json_object_set_new(settings, "job", json_string(job)) < 0 ||
	    json_object_set_new(settings, "filter", json_boolean(c->filter)) < 0 ||
	    json_object_set_new(settings, "log_format", json_integer(c->log_format)) <
		    0 ||
	    (c->user != NULL &&
	     json_object_set_new(settings, "user", json_string(c->user)) < 0)) {
		tw_fail(err, TW_NOMEM, "settings");
		goto out;
	}
	if (program == NULL) {
		if (tw_helper_find(PROGRAM, &found, err) < 0)
			goto out;
		program = found;
	}
	if (start(a, program, err) < 0 || send_settings(a, settings, err) < 0)
		goto out;

	rc = 0;
out:
	free(found);
	return rc;
}

int tw_ask_open(const struct tw_ask_config *c, const char *job, json_t *settings,
		struct tw_ask **out, struct tw_err *err)
{
	struct tw_ask *a = calloc(1, sizeof(*a));
	int rc = -1;

	if (a == NULL) {
		tw_fail(err, TW_NOMEM, "%s", job);
		goto out;
	}
	a->fd = -1;
	if (open_helper(a, c, job, settings, err) < 0)
		goto out;

	*out = a;
	a = NULL;
	rc = 0;
out:
	tw_ask_close(a);
	json_decref(settings);
	return rc;
}

/* The helper closed its end of the socket and will not return. */
static void mark_gone(struct tw_ask *a, const char *why)
{
	close(a->fd);
	a->fd = -1;
	snprintf(a->why, sizeof(a->why), "%s", why);
}

static bool is_text(const char *text, size_t size)
{
	const size_t len = strnlen(text, size);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || (unsigned char)text[i] > 0x7e)
			return false;
	return len < size;
}

#define IS_TEXT(array) is_text(array, sizeof(array))

static bool is_valid_row(const struct tw_ask_row *r)
{
	if (r->energies > TW_ASK_ENERGIES)
		return false;
	for (uint32_t i = 0; i < r->energies; i++)
		if (!IS_TEXT(r->energy[i].zone) || !IS_TEXT(r->energy[i].source) ||
		    !(r->energy[i].watts >= 0))
			return false;
	return IS_TEXT(r->level) && IS_TEXT(r->id) && IS_TEXT(r->name) &&
	       IS_TEXT(r->name_space) && IS_TEXT(r->container) && IS_TEXT(r->runtime);
}

/* The helper may be compromised: validate every message. */
static bool is_valid(const struct tw_ask_message *m)
{
	switch (m->kind) {
	case TW_ASK_ZONE:
		return is_text(m->of.zone.name, sizeof(m->of.zone.name)) &&
		       is_text(m->of.zone.path, sizeof(m->of.zone.path));
	case TW_ASK_NAMES:
		return is_text(m->of.names.id, sizeof(m->of.names.id)) &&
		       is_text(m->of.names.pod, sizeof(m->of.names.pod)) &&
		       is_text(m->of.names.name_space, sizeof(m->of.names.name_space)) &&
		       is_text(m->of.names.container, sizeof(m->of.names.container));
	case TW_ASK_MISSING:
	case TW_ASK_FAILED:
		return is_text(m->why, sizeof(m->why));
	case TW_ASK_AGENT:
		return IS_TEXT(m->of.url);
	case TW_ASK_LOOKUP:
		return IS_TEXT(m->of.url) && IS_TEXT(m->why);
	case TW_ASK_AGENT_ROW:
		return is_valid_row(&m->of.row);
	case TW_ASK_AGENT_ANSWER:
		return IS_TEXT(m->of.answer.node) && IS_TEXT(m->of.answer.instance) &&
		       IS_TEXT(m->of.answer.vm_id);
	case TW_ASK_AGENT_FAILED:
		return IS_TEXT(m->why);
	case TW_ASK_POWER:
	case TW_ASK_ENERGY:
	case TW_ASK_ALL_NAMES:
	case TW_ASK_AGENT_GONE:
		return true;
	default:
		return false;
	}
}

bool tw_ask_next(struct tw_ask *a, struct tw_ask_message *out)
{
	for (int i = 0; a->fd >= 0; i++) {
		const ssize_t n =
			recv(a->fd, out, sizeof(*out), MSG_DONTWAIT | MSG_TRUNC);

		if (n == (ssize_t)sizeof(*out) && is_valid(out))
			return true;
		if (i == INVALID_MAX ||
		    (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)))
			return false;
		if (n == 0 || (n < 0 && errno != EINTR))
			mark_gone(a, "the helper tw-ask has exited");
		else if (n > 0 && n != (ssize_t)sizeof(*out))
			mark_gone(a, "the helper tw-ask is of another version");
	}
	memset(out, 0, sizeof(*out));
	out->kind = TW_ASK_FAILED;
	memcpy(out->why, a->why, sizeof(out->why));
	return true;
}

void tw_ask_wait(const struct tw_ask *a, unsigned ms)
{
	struct pollfd p = { .fd = a->fd, .events = POLLIN };

	if (a->fd >= 0)
		poll(&p, 1, (int)ms);
}

void tw_ask_again(struct tw_ask *a)
{
	if (a->fd >= 0)
		(void)!send(a->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

int tw_ask_fd(const struct tw_ask *a)
{
	return a->fd;
}

/* Skip the remaining messages. False: timeout. */
static bool wait_for_end(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char rest[1];

	while (poll(&p, 1, GOODBYE_MS) > 0)
		if (recv(fd, rest, sizeof(rest), 0) <= 0)
			return true;
	return false;
}

/* Under a system call filter waitpid() may fail; then init reaps the helper. */
void tw_ask_close(struct tw_ask *a)
{
	bool over = true;

	if (a == NULL)
		return;
	if (a->fd >= 0) {
		shutdown(a->fd, SHUT_WR);
		over = wait_for_end(a->fd);
		close(a->fd);
	}
	if (a->pid > 0)
		waitpid(a->pid, NULL, over ? 0 : WNOHANG);
	free(a);
}
