/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ask/ask.h"

#include "lib/ask/helper.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Time for the helper to close a session. */
#define GOODBYE_MS 2000

/*
 * Invalid messages to skip in one call: a helper that sends garbage must not block the
 * tick.
 */
#define INVALID_MAX 64

struct tw_ask {
	struct tw_helper helper;
	char why[TW_ASK_WHY]; /* with the socket closed: why */
};

static int start(struct tw_ask *a, const struct tw_ask_config *c, const char *job,
		 json_t *settings, struct tw_err *err)
{
	json_t *more = json_pack("{s:s,s:b,s:i,s:s?}", "job", job, "filter", c->filter,
				 "log_format", c->log_format, "user", c->user);
	struct tw_helper_program program = { .path = NULL };
	int rc = -1;

	if (more == NULL || json_object_update(settings, more) < 0) {
		tw_fail(err, TW_NOMEM, "settings");
		goto out;
	}
	if (tw_helper_program_open(c->program, &program, err) < 0 ||
	    tw_helper_start(&program, settings, -1, &a->helper, err) < 0)
		goto out;

	rc = 0;
out:
	tw_helper_program_close(&program);
	json_decref(more);
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
	a->helper.fd = -1;
	if (start(a, c, job, settings, err) < 0)
		goto out;

	*out = a;
	a = NULL;
	rc = 0;
out:
	tw_ask_close(a);
	json_decref(settings);
	return rc;
}

/*
 * The helper will not return. Shut the socket down, too: a child with a copy of it then
 * fails to write and exits. Its copy would keep the socket readable in an epoll.
 */
static void mark_gone(struct tw_ask *a, const char *why)
{
	shutdown(a->helper.fd, SHUT_RDWR);
	close(a->helper.fd);
	a->helper.fd = -1;
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

/* Limits of a message, so that sums of many do not wrap. */
#define ENERGY_MAX_UJ (UINT64_C(1) << 60)
#define SAMPLES_MAX (UINT64_C(1) << 40)
#define BYTES_MAX (UINT64_C(1) << 50)

static bool is_valid_row(const struct tw_ask_row *r)
{
	if (r->energies > TW_ASK_ENERGIES)
		return false;
	for (uint32_t i = 0; i < r->energies; i++)
		if (!IS_TEXT(r->energy[i].zone) || !IS_TEXT(r->energy[i].source) ||
		    !(r->energy[i].watts >= 0) ||
		    r->energy[i].dynamic_uj >= ENERGY_MAX_UJ ||
		    r->energy[i].idle_uj >= ENERGY_MAX_UJ)
			return false;
	return IS_TEXT(r->level) && IS_TEXT(r->id) && IS_TEXT(r->name) &&
	       IS_TEXT(r->name_space) && IS_TEXT(r->container) && IS_TEXT(r->runtime);
}

/* The helper may be compromised: validate every message. */
static bool is_valid(const struct tw_ask_message *m)
{
	switch (m->kind) {
	case TW_ASK_ZONE:
		return IS_TEXT(m->of.zone.name) && IS_TEXT(m->of.zone.path);
	case TW_ASK_NAMES:
		return IS_TEXT(m->of.names.id) && IS_TEXT(m->of.names.pod) &&
		       IS_TEXT(m->of.names.name_space) && IS_TEXT(m->of.names.container);
	case TW_ASK_MISSING:
	case TW_ASK_FAILED:
	case TW_ASK_AGENT_FAILED:
		return IS_TEXT(m->why);
	case TW_ASK_AGENT:
		return IS_TEXT(m->of.url);
	case TW_ASK_LOOKUP:
		return IS_TEXT(m->of.url) && IS_TEXT(m->why);
	case TW_ASK_AGENT_ROW:
		return is_valid_row(&m->of.row);
	case TW_ASK_AGENT_ANSWER:
		return IS_TEXT(m->of.answer.node) && IS_TEXT(m->of.answer.instance) &&
		       IS_TEXT(m->of.answer.vm_id);
	case TW_ASK_POWER:
		return m->input_w >= 0 && m->output_w >= 0;
	case TW_ASK_ENERGY:
	case TW_ASK_ALL_NAMES:
	case TW_ASK_AGENT_GONE:
	case TW_ASK_WANT:
		return true;
	case TW_ASK_PUSHED:
		return IS_TEXT(m->why) && m->of.pushed.samples < SAMPLES_MAX &&
		       m->of.pushed.bytes < BYTES_MAX;
	default:
		return false;
	}
}

bool tw_ask_next(struct tw_ask *a, struct tw_ask_message *out)
{
	for (int i = 0; a->helper.fd >= 0; i++) {
		const ssize_t n =
			recv(a->helper.fd, out, sizeof(*out), MSG_DONTWAIT | MSG_TRUNC);

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
	struct pollfd p = { .fd = a->helper.fd, .events = POLLIN };

	if (a->helper.fd >= 0)
		poll(&p, 1, (int)ms);
}

void tw_ask_again(struct tw_ask *a)
{
	if (a->helper.fd >= 0)
		(void)!send(a->helper.fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

int tw_ask_fd(const struct tw_ask *a)
{
	return a->helper.fd;
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
	if (a->helper.fd >= 0) {
		shutdown(a->helper.fd, SHUT_WR);
		over = wait_for_end(a->helper.fd);
		close(a->helper.fd);
	}
	if (a->helper.pid > 0)
		waitpid(a->helper.pid, NULL, over ? 0 : WNOHANG);
	free(a);
}
