/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ask/fetch.h"

#include "lib/ask/ask.h"
#include "lib/ask/helper.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/http/client/http.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIMEOUT_MS 10000
/* The time to start and to end the helper, besides the time of the call. */
#define GRACE_MS 2000
#define ANSWER_MAX ((size_t)64 << 20)

struct tw_fetch {
	struct tw_helper_program program; /* path NULL: each call looks for it again */
	char *path;                       /* as given, or NULL */
	int stop_fd;                      /* eventfd; readable: calls fail */
};

/* A call in progress. */
struct running {
	const struct tw_fetch *f;
	const char *program; /* its path, for errors */
	struct tw_helper helper;
	uint64_t until_ms; /* deadline */
};

static int open_program(const char *path, struct tw_helper_program *out,
			struct tw_err *err)
{
	return tw_helper_program_open(path, out, err) < 0
		       ? tw_err_wrap(err, "HTTP client")
		       : 0;
}

int tw_fetch_open(const char *program, struct tw_fetch **out, struct tw_err *err)
{
	struct tw_fetch *f = calloc(1, sizeof(*f));
	struct tw_err missing = { 0 };

	if (f == NULL)
		return tw_fail(err, TW_NOMEM, "HTTP client");
	f->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->stop_fd < 0) {
		free(f);
		return tw_fail_errno(err, errno, "cannot make an eventfd");
	}
	f->path = program != NULL ? strdup(program) : NULL;
	if (program != NULL && f->path == NULL) {
		tw_fetch_close(f);
		return tw_fail(err, TW_NOMEM, "HTTP client");
	}
	/* Each call reports a missing program. */
	(void)open_program(program, &f->program, &missing);
	*out = f;
	return 0;
}

void tw_fetch_stop(void *fetch)
{
	static const uint64_t one = 1;
	const struct tw_fetch *f = fetch;

	/* A write fails only if the counter is full, and then stop_fd is readable. */
	(void)!write(f->stop_fd, &one, sizeof(one));
}

void tw_fetch_resume(struct tw_fetch *f)
{
	uint64_t stops;

	/* A read fails only if there was no stop. */
	(void)!read(f->stop_fd, &stops, sizeof(stops));
}

void tw_fetch_close(struct tw_fetch *f)
{
	if (f == NULL)
		return;
	close(f->stop_fd);
	tw_helper_program_close(&f->program);
	free(f->path);
	free(f);
}

/* Wait until the helper is ready for events; fail at the deadline or on tw_fetch_stop().
 */
static int wait_for(const struct running *r, short events, struct tw_err *err)
{
	for (;;) {
		struct pollfd p[] = { { .fd = r->helper.fd, .events = events },
				      { .fd = r->f->stop_fd, .events = POLLIN } };
		const uint64_t now_ms = tw_now_ms();
		int ready;

		if (now_ms >= r->until_ms)
			return tw_fail(err, TW_IO, "'%s' did not answer in time",
				       r->program);
		ready = poll(p, 2, (int)(r->until_ms - now_ms));
		if (ready < 0 && errno != EINTR)
			return tw_fail_errno(err, errno, "'%s'", r->program);
		if (ready > 0 && p[1].revents != 0)
			return tw_fail(err, TW_IO, "stopping");
		if (ready > 0 && p[0].revents != 0)
			return 0;
	}
}

/* A helper may answer and end before it has read the call; its answer says why. */
static int send_body(const struct running *r, const char *data, size_t len,
		     struct tw_err *err)
{
	while (len > 0) {
		const size_t part = len < TW_ASK_PACKET ? len : TW_ASK_PACKET;
		ssize_t n;

		if (wait_for(r, POLLOUT, err) < 0)
			return -1;
		n = send(r->helper.fd, data, part, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			return 0;
		if (n < 0)
			return tw_fail_errno(err, errno, "cannot write the call to '%s'",
					     r->program);
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Receive a packet of at most size bytes; a longer one is not this build's. */
static int receive(const struct running *r, void *data, size_t size, size_t *len,
		   struct tw_err *err)
{
	ssize_t n;

	do {
		if (wait_for(r, POLLIN, err) < 0)
			return -1;
		n = recv(r->helper.fd, data, size, MSG_DONTWAIT | MSG_TRUNC);
		/* ECONNRESET comes once, before the answer of a helper that has not read
		 * all. */
	} while (n < 0 && (errno == EINTR || errno == EAGAIN || errno == ECONNRESET));
	if (n < 0)
		return tw_fail_errno(err, errno, "cannot read the answer of '%s'",
				     r->program);
	if (n == 0)
		return tw_fail(err, TW_IO, "'%s' ended without an answer", r->program);
	if ((size_t)n > size)
		return tw_fail(err, TW_PARSE, "'%s' is of another version", r->program);
	*len = (size_t)n;
	return 0;
}

static int read_head(const struct running *r, struct tw_ask_fetched *out,
		     struct tw_err *err)
{
	struct tw_ask_message m;
	size_t len;

	if (receive(r, &m, sizeof(m), &len, err) < 0)
		return -1;
	m.why[sizeof(m.why) - 1] = '\0';
	if (len == sizeof(m) && m.kind == TW_ASK_FAILED)
		return tw_fail(err, TW_IO, "%s", m.why);
	if (len != sizeof(m) || m.kind != TW_ASK_FETCHED)
		return tw_fail(err, TW_PARSE, "'%s' is of another version", r->program);
	*out = m.of.fetched;
	out->content_type[sizeof(out->content_type) - 1] = '\0';
	out->etag[sizeof(out->etag) - 1] = '\0';
	out->failure[sizeof(out->failure) - 1] = '\0';
	if (out->failed != TW_OK)
		return tw_fail(err,
			       out->failed < TW_CODE_COUNT ? (enum tw_code)out->failed
							   : TW_IO,
			       "%s", out->failure);
	return 0;
}

static int read_answer(const struct running *r, size_t max, struct tw_http_answer *out,
		       struct tw_err *err)
{
	struct tw_ask_fetched head;
	struct tw_http_answer a;
	size_t len, n;

	if (read_head(r, &head, err) < 0)
		return -1;
	if (head.len > max)
		return tw_fail(err, TW_INVALID, "the answer is over %zu bytes", max);
	len = (size_t)head.len;
	a = (struct tw_http_answer){ .status = head.status,
				     .body = malloc(len + 1),
				     .len = len,
				     .retry_after_s = head.retry_after_s,
				     .from = head.from };
	if (a.body == NULL)
		return tw_fail(err, TW_NOMEM, "answer of %zu bytes", len);
	for (size_t got = 0; got < len; got += n)
		if (receive(r, a.body + got, len - got, &n, err) < 0) {
			free(a.body);
			return -1;
		}
	a.body[len] = '\0';
	memcpy(a.content_type, head.content_type, sizeof(a.content_type));
	memcpy(a.etag, head.etag, sizeof(a.etag));
	*out = a;
	return 0;
}

static json_t *make_settings(const struct tw_http_call *c, bool save)
{
	return json_pack("{s:s,s:s,s:s?,s:s?,s:I,s:I,s:I,s:b,s:b,s:I}", "job", "fetch",
			 "url", c->url, "content_type", c->content_type, "etag", c->etag,
			 "timeout_ms", (json_int_t)c->timeout_ms, "stall_ms",
			 (json_int_t)c->stall_ms, "answer_max", (json_int_t)c->answer_max,
			 "save", save, "post", c->body != NULL, "body_len",
			 (json_int_t)c->body_len);
}

static int run(const struct tw_fetch *f, const struct tw_http_call *call, int file,
	       struct tw_http_answer *out, struct tw_err *err)
{
	const uint64_t timeout_ms = call->timeout_ms != 0 ? call->timeout_ms : TIMEOUT_MS;
	struct tw_helper_program found = { .path = NULL };
	const struct tw_helper_program *program = &f->program;
	struct running r = { .f = f, .until_ms = tw_now_ms() + timeout_ms + GRACE_MS };
	struct tw_err lingers = { 0 };
	json_t *settings;
	int rc = -1;

	if (program->path == NULL) {
		if (open_program(f->path, &found, err) < 0)
			return -1;
		program = &found;
	}
	r.program = program->path;
	settings = make_settings(call, file >= 0);
	if (tw_helper_start(program, settings, file, &r.helper, err) == 0 &&
	    send_body(&r, call->body, call->body != NULL ? call->body_len : 0, err) ==
		    0 &&
	    read_answer(&r, call->answer_max != 0 ? call->answer_max : ANSWER_MAX, out,
			err) == 0)
		rc = 0;
	/* Its socket ends with the helper, which tidies up until the deadline. */
	if (rc == 0)
		(void)wait_for(&r, POLLIN, &lingers);
	tw_helper_end(&r.helper);
	tw_helper_program_close(&found);
	json_decref(settings);
	return rc;
}

int tw_fetch_call(void *fetch, const struct tw_http_call *call,
		  struct tw_http_answer *out, struct tw_err *err)
{
	return run(fetch, call, -1, out, err);
}

#if TW_FLEET
int tw_fetch_save(void *fetch, const struct tw_http_call *call, int fd,
		  struct tw_http_answer *out, struct tw_err *err)
{
	return run(fetch, call, fd, out, err);
}
#endif
