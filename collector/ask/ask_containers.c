/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job "containers": the names of containers, from the API sockets of Docker and
 * podman. It polls when the collector asks, and else once an hour: a socket may start its
 * engine, which costs power.
 */
#include "collector/ask/ask_job.h"
#include "collector/ask/connector.h"
#include "collector/ask/containers_parse.h"
#include "collector/system/aside.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#define TIMEOUT_NS UINT64_C(30000000000)
#define ANSWER_MAX ((size_t)64 << 20)
#define CHUNK 16384

/* Shortest time between two requests, however many containers are new. */
#define LEAST_MS 10000

struct job {
	struct tw_ask_state state;
	struct tw_strs sockets; /* paths */
	bool filter;
	struct tw_aside connector;
};

/* Wait until there is more to read. */
static int wait_for_more(const struct job *j, int answer, uint64_t until_ns,
			 struct tw_err *err)
{
	struct pollfd p[] = { { .fd = answer, .events = POLLIN },
			      { .fd = j->state.fd, .events = POLLRDHUP } };
	const uint64_t now = tw_now_ns();

	if (now >= until_ns)
		return tw_fail(err, TW_IO, "no whole answer in %d s",
			       (int)(TIMEOUT_NS / 1000000000));
	if (poll(p, 2, (int)((until_ns - now) / 1000000 + 1)) < 0 && errno != EINTR)
		return tw_fail_errno(err, errno, "cannot wait");
	return p[1].revents == 0 ? 0 : tw_fail(err, TW_IO, "stopped");
}

static int read_answer(struct job *j, int answer, struct tw_containers_parser *parser,
		       struct tw_err *err)
{
	const uint64_t until_ns = tw_now_ns() + TIMEOUT_NS;
	size_t all = 0;
	char data[CHUNK];

	for (;;) {
		const ssize_t n = read(answer, data, sizeof(data));

		if (n == 0)
			return tw_containers_parser_end(parser, err);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return tw_fail_errno(err, errno, "cannot read");
		if (n < 0 && wait_for_more(j, answer, until_ns, err) < 0)
			return -1;
		if (n < 0)
			continue;
		all += (size_t)n;
		if (all > ANSWER_MAX)
			return tw_fail(err, TW_INVALID, "an answer of over %d MiB",
				       (int)(ANSWER_MAX >> 20));
		if (tw_containers_parser_feed(parser, data, (size_t)n, err) < 0)
			return -1;
	}
}

static int ask_one(struct job *j, size_t place, struct tw_err *err)
{
	const char *path = j->sockets.at[place];
	struct tw_containers_parser *parser = NULL;
	int answer = -1, rc = -1;

	if (tw_connector_ask(&j->connector, &j->sockets, place, &answer, err) < 0)
		return -1;
	if (tw_containers_parser_new(tw_ask_send_names, &j->state, &parser, err) < 0 ||
	    read_answer(j, answer, parser, err) < 0)
		tw_err_wrap(err, "'%s'", path);
	else
		rc = 0;
	tw_containers_parser_free(parser);
	close(answer);
	return rc;
}

/* An engine that fails hides no other: its own names stay as they were. */
static int poll_engines(void *state, struct tw_err *err)
{
	const struct tw_ask_message all = tw_ask_message(TW_ASK_ALL_NAMES);
	struct job *j = state;
	int rc = 0;

	for (size_t i = 0; i < j->sockets.count; i++) {
		struct tw_err why = { 0 };

		if (ask_one(j, i, &why) == 0)
			continue;
		if (rc == 0)
			*err = why;
		rc = -1;
	}
	if (rc == 0)
		tw_ask_send(j->state.fd, &all);
	return rc;
}

static int open_job(void *state, struct tw_err *err)
{
	struct job *j = state;

	return tw_connector_open(&j->sockets, TW_CONTAINERS_REQUEST, j->filter,
				 &j->connector, err);
}

static void close_job(void *state)
{
	struct job *j = state;

	tw_aside_close(&j->connector);
}

#define AT(member) TW_FIELD_AT(struct job, member)
static const struct tw_field fields[] = {
	TW_ASK_INTERVAL(struct job),
	{ "sockets", TW_FIELD_STRS, AT(sockets), .least = 1, .most = 8 },
	{ "filter", TW_FIELD_BOOL, AT(filter) },
};
static const struct tw_fields settings = TW_FIELDS(fields, struct job);

const struct tw_ask_job tw_ask_containers = {
	.name = "containers",
	.settings = &settings,
	.least_ms = LEAST_MS,
	.open = open_job,
	.poll = poll_engines,
	.retry_min_ms = 10000,
	.retry_max_ms = 300000,
	.close = close_job,
};
