/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/ask_job.h"

#include "lib/core/array.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/http/client/http.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define DOUBLINGS_MAX 6
#define RETRY_MAX_MS 60000

static const struct tw_ask_job *const jobs[] = {
#if TW_FLEET
	&tw_ask_agents,
#endif
	&tw_ask_command, &tw_ask_containers, &tw_ask_fetch,      &tw_ask_file,
	&tw_ask_ipmi,    &tw_ask_pods,       &tw_ask_prometheus, &tw_ask_push,
	&tw_ask_redfish, &tw_ask_series,
};

const struct tw_ask_job *tw_ask_job_find(const char *name)
{
	for (size_t i = 0; i < TW_COUNT(jobs); i++)
		if (strcmp(jobs[i]->name, name) == 0)
			return jobs[i];
	return NULL;
}

int tw_ask_job_open(const struct tw_ask_job *j, const json_t *settings, void **state,
		    struct tw_err *err)
{
	void *s = calloc(1, j->settings->size);

	if (s == NULL)
		return tw_fail(err, TW_NOMEM, "%s", j->name);
	if (tw_fields_read(j->settings, settings, "settings", s, err) < 0) {
		free(s);
		return -1;
	}
	if (j->open != NULL && j->open(s, err) < 0) {
		tw_ask_job_close(j, s);
		return -1;
	}
	*state = s;
	return 0;
}

void tw_ask_job_close(const struct tw_ask_job *j, void *state)
{
	if (state == NULL)
		return;
	if (j->close != NULL)
		j->close(state);
	tw_fields_release(j->settings, state);
	free(state);
}

static uint64_t retry_in_ms(const struct tw_ask_job *j, const struct tw_ask_state *s)
{
	const uint64_t each_ms = s->interval_ms;
	const uint64_t min_ms = j->retry_min_ms != 0 && j->retry_min_ms < each_ms
					? j->retry_min_ms
					: each_ms;
	const uint64_t max_ms = j->retry_max_ms != 0     ? j->retry_max_ms
				: each_ms > RETRY_MAX_MS ? each_ms
							 : RETRY_MAX_MS;
	const uint64_t ms = tw_ask_backoff_ms(s->failures, min_ms, max_ms);

	return ms > s->wait_ms ? ms : s->wait_ms;
}

uint64_t tw_ask_job_poll(const struct tw_ask_job *j, void *state)
{
	struct tw_ask_state *s = state;
	struct tw_err why = { 0 };

	s->wait_ms = 0;
	if (j->poll(state, &why) == 0) {
		s->failures = 0;
		return s->wait_ms != 0 ? s->wait_ms : s->interval_ms;
	}
	s->failures++;
	if (j->report != NULL)
		j->report(state, &why);
	else
		tw_ask_send_failure(s->fd, &why, false);
	return retry_in_ms(j, s);
}

void tw_ask_job_run(const struct tw_ask_job *j, void *state, int fd)
{
	struct tw_ask_state *s = state;
	struct tw_err err = { 0 };
	uint64_t wait_ms;

	s->fd = fd;
	if (j->run != NULL) {
		j->run(state);
		return;
	}
	if (j->net && (tw_http_init(&err) < 0 || tw_http_open(&s->http, &err) < 0)) {
		tw_ask_send_failure(fd, &err, false);
		return;
	}
	do
		wait_ms = tw_ask_job_poll(j, state);
	while (tw_ask_pause(fd, wait_ms, j->least_ms != 0 ? j->least_ms : wait_ms));
	if (j->leave != NULL)
		j->leave(state);
	tw_http_close(s->http);
}

struct tw_ask_message tw_ask_message(enum tw_ask_kind kind)
{
	return (struct tw_ask_message){ .kind = kind, .taken_ns = tw_now_ns() };
}

bool tw_ask_send(int fd, const struct tw_ask_message *m)
{
	ssize_t n;

	do
		n = send(fd, m, sizeof(*m), MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*m);
}

bool tw_ask_send_failure(int fd, const struct tw_err *why, bool lasting)
{
	struct tw_ask_message m = tw_ask_message(TW_ASK_FAILED);

	m.lasting = lasting || why->code == TW_UNSUPPORTED || why->code == TW_DENIED ||
		    why->code == TW_NOTFOUND;
	snprintf(m.why, sizeof(m.why), "%.*s", (int)sizeof(m.why) - 1, why->text);
	return tw_ask_send(fd, &m);
}

int tw_ask_send_names(void *state, const struct tw_ask_names *names, struct tw_err *err)
{
	const struct tw_ask_state *s = state;
	struct tw_ask_message m = tw_ask_message(TW_ASK_NAMES);

	m.of.names = *names;
	return tw_ask_send(s->fd, &m) ? 0 : tw_fail(err, TW_IO, "stopped");
}

int tw_ask_call(struct tw_ask_state *s, struct tw_http_call *call,
		struct tw_http_answer *out, struct tw_err *err)
{
	call->session = s->http;
	call->stopped = tw_ask_is_closed;
	call->stopped_arg = &s->fd;
	return tw_http_call(call, out, err);
}

void tw_ask_copy_reason(char *to, size_t size, const char *why)
{
	size_t len = 0;

	while (*why != '\0' && len + 1 < size) {
		int used = 0;

		if (strncmp(why, " after ", 7) == 0)
			sscanf(why, " after %*u ms%n", &used);
		if (used > 0) {
			why += used;
			continue;
		}
		to[len++] = (char)(*why >= 0x20 && *why <= 0x7e ? *why : '?');
		why++;
	}
	to[len] = '\0';
}

/* The other end is closed, at least for sending. */
static bool is_closed(short events)
{
	return (events & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)) != 0;
}

bool tw_ask_is_closed(void *arg)
{
	struct pollfd p = { .fd = *(int *)arg, .events = POLLRDHUP };

	return poll(&p, 1, 0) > 0 && is_closed(p.revents);
}

/* Read all pending requests: one poll serves them all. */
static bool take_bytes(int fd)
{
	bool any = false;
	char byte;

	while (recv(fd, &byte, 1, MSG_DONTWAIT) > 0)
		any = true;
	return any;
}

/*
 * Wait until then, or until input if events has POLLIN. False if the other end is closed.
 */
static bool wait_for(int fd, short events, uint64_t until_ns)
{
	for (;;) {
		struct pollfd p = { .fd = fd, .events = events | POLLRDHUP };
		const uint64_t now = tw_now_ns();
		int n;

		if (now >= until_ns)
			return true;
		n = poll(&p, 1, (int)((until_ns - now) / 1000000 + 1));
		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0 && is_closed(p.revents))
			return false;
		if (n > 0 && (p.revents & POLLIN) != 0 && take_bytes(fd))
			return true;
	}
}

bool tw_ask_pause(int fd, uint64_t ms, uint64_t least_ms)
{
	const uint64_t began_ns = tw_now_ns();
	const uint64_t least_ns = (least_ms < ms ? least_ms : ms) * 1000000;

	/* Requests during the least wait are handled after it. */
	return wait_for(fd, 0, began_ns + least_ns) &&
	       wait_for(fd, POLLIN, began_ns + ms * 1000000);
}

uint64_t tw_ask_backoff_ms(unsigned failures, uint64_t min_ms, uint64_t max_ms)
{
	const unsigned doublings = failures < 1                   ? 0
				   : failures - 1 < DOUBLINGS_MAX ? failures - 1
								  : DOUBLINGS_MAX;
	const uint64_t ms = min_ms << doublings;

	return ms < max_ms ? ms : max_ms;
}
