/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/scrapes.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/http/httpd_listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS 8

/* A connection. */
struct scrape {
	int fd;
	unsigned long number; /* in order of connecting */
	char head[TW_SCRAPE_HEAD_MAX];
	size_t len;
	struct tw_buf out;
	size_t sent;
};

struct tw_scrapes {
	int epoll, listener;
	char address[TW_LISTEN_TEXT];
	tw_scrapes_write_fn *write;
	void *arg;
	unsigned long accepted;
	struct scrape *at[TW_SCRAPES_MAX];
};

/* ---- a request: RFC 9112, as much as a scraper needs ---- */

/* The length of a line without its end; *next is the offset of the next line. */
static size_t line_length(const char *text, size_t len, size_t *next)
{
	const char *end = memchr(text, '\n', len);
	size_t n = end != NULL ? (size_t)(end - text) : len;

	*next = end != NULL ? n + 1 : len;
	if (n > 0 && text[n - 1] == '\r')
		n--;
	return n;
}

/* Copy a header's value, truncated to size. False: there is no such header. */
static bool find_header(const char *head, size_t len, const char *name, char *out,
			size_t size)
{
	const size_t name_len = strlen(name);
	size_t at, next;

	line_length(head, len, &at);
	for (; at < len; at += next) {
		const char *line = head + at;
		size_t n = line_length(line, len - at, &next), from = name_len + 1;

		if (n == 0)
			return false;
		if (n <= name_len || line[name_len] != ':' ||
		    strncasecmp(line, name, name_len) != 0)
			continue;
		while (from < n && (line[from] == ' ' || line[from] == '\t'))
			from++;
		snprintf(out, size, "%.*s", (int)(n - from), line + from);
		return true;
	}
	return false;
}

static void add_answer(struct tw_buf *out, const char *status, const char *type,
		       const char *more, const char *body, size_t len)
{
	tw_buf_addf(out,
		    "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
		    "%sConnection: close\r\n\r\n",
		    status, type, len, more);
	tw_buf_add(out, body, len);
}

static void refuse(struct tw_buf *out, const char *status, const char *more)
{
	char body[96];
	const int len = snprintf(body, sizeof(body), "%s\n", status);

	add_answer(out, status, "text/plain", more, body, (size_t)len);
}

/* Split "GET /metrics?x HTTP/1.1" into method and target, with single blanks between. */
static bool split_request(const char *line, size_t len, size_t *method, size_t *target)
{
	const char *blank = memchr(line, ' ', len);
	const char *second;

	if (blank == NULL)
		return false;
	*method = (size_t)(blank - line);
	second = memchr(blank + 1, ' ', len - *method - 1);
	if (second == NULL || len - (size_t)(second + 1 - line) != strlen("HTTP/1.1") ||
	    memcmp(second + 1, "HTTP/1.", strlen("HTTP/1.")) != 0)
		return false;
	*target = (size_t)(second - blank - 1);
	return true;
}

void tw_scrape_answer(const char *head, size_t len, tw_scrapes_write_fn *write, void *arg,
		      struct tw_buf *out)
{
	static const char path[] = "/metrics";
	const size_t path_len = sizeof(path) - 1;
	struct tw_buf body = { 0 };
	struct tw_expo e = { .out = &body };
	size_t next, method, target;
	char accept[1024];
	const char *at;

	if (!split_request(head, line_length(head, len, &next), &method, &target)) {
		refuse(out, "400 Bad Request", "");
		return;
	}
	at = head + method + 1;
	if (target < path_len || memcmp(at, path, path_len) != 0 ||
	    (target > path_len && at[path_len] != '?')) {
		refuse(out, "404 Not Found", "");
		return;
	}
	if (method != 3 || memcmp(head, "GET", 3) != 0) {
		refuse(out, "405 Method Not Allowed", "Allow: GET\r\n");
		return;
	}
	e.format = tw_expo_wanted(
		find_header(head, len, "Accept", accept, sizeof(accept)) ? accept : NULL);
	write(arg, &e);
	tw_expo_end(&e);
	if (tw_buf_failed(&body))
		refuse(out, "500 Internal Server Error", "");
	else
		add_answer(out, "200 OK", tw_expo_content_type(e.format), "", body.data,
			   body.len);
	tw_buf_clear(&body);
}

/* ---- connections ---- */

static void end(struct tw_scrapes *s, size_t i)
{
	struct scrape *c = s->at[i];

	if (c == NULL)
		return;
	close(c->fd);
	tw_buf_clear(&c->out);
	free(c);
	s->at[i] = NULL;
}

/* Find a free place; if there is none, close the oldest connection. */
static size_t make_place(struct tw_scrapes *s)
{
	size_t oldest = 0;

	for (size_t i = 0; i < TW_SCRAPES_MAX; i++) {
		if (s->at[i] == NULL)
			return i;
		if (s->at[i]->number < s->at[oldest]->number)
			oldest = i;
	}
	end(s, oldest);
	return oldest;
}

static void take_connection(struct tw_scrapes *s)
{
	const int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct epoll_event e = { .events = EPOLLIN };
	size_t i;

	if (fd < 0)
		return;
	i = make_place(s);
	e.data.u64 = i;
	s->at[i] = calloc(1, sizeof(*s->at[i]));
	if (s->at[i] == NULL || epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) < 0) {
		close(fd);
		free(s->at[i]);
		s->at[i] = NULL;
		return;
	}
	s->at[i]->fd = fd;
	s->at[i]->number = s->accepted++;
}

/* Send the rest of the answer. False: close the connection. */
static bool send_rest(struct tw_scrapes *s, size_t i)
{
	struct scrape *c = s->at[i];
	struct epoll_event e = { .events = EPOLLOUT, .data = { .u64 = i } };

	while (c->sent < c->out.len) {
		const ssize_t n = send(c->fd, c->out.data + c->sent, c->out.len - c->sent,
				       MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return (errno == EAGAIN || errno == EWOULDBLOCK) &&
			       epoll_ctl(s->epoll, EPOLL_CTL_MOD, c->fd, &e) == 0;
		c->sent += (size_t)n;
	}
	return false;
}

static bool has_end(const struct scrape *c)
{
	return memmem(c->head, c->len, "\r\n\r\n", 4) != NULL ||
	       memmem(c->head, c->len, "\n\n", 2) != NULL;
}

/* Read the head of the request, and answer it once it is complete. False: close. */
static bool receive(struct tw_scrapes *s, size_t i)
{
	struct scrape *c = s->at[i];
	const ssize_t n =
		recv(c->fd, c->head + c->len, sizeof(c->head) - c->len, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
	if (n == 0)
		return false;
	c->len += (size_t)n;
	if (!has_end(c) && c->len < sizeof(c->head))
		return true;
	tw_scrape_answer(c->head, c->len, s->write, s->arg, &c->out);
	return !tw_buf_failed(&c->out) && send_rest(s, i);
}

void tw_scrapes_run(struct tw_scrapes *s)
{
	struct epoll_event got[EVENTS];
	const int n = epoll_wait(s->epoll, got, EVENTS, 0);

	for (int k = 0; k < n; k++) {
		const size_t i = (size_t)got[k].data.u64;

		if (i == TW_SCRAPES_MAX)
			take_connection(s);
		else if (s->at[i] != NULL &&
			 !(s->at[i]->out.len > 0 ? send_rest(s, i) : receive(s, i)))
			end(s, i);
	}
}

int tw_scrapes_open(const char *address, tw_scrapes_write_fn *write, void *arg,
		    struct tw_scrapes **out, struct tw_err *err)
{
	struct epoll_event e = { .events = EPOLLIN, .data = { .u64 = TW_SCRAPES_MAX } };
	struct tw_scrapes *s = calloc(1, sizeof(*s));
	int rc = -1;

	if (s == NULL)
		return tw_fail(err, TW_NOMEM, "metrics");
	s->listener = -1;
	s->write = write;
	s->arg = arg;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0) {
		tw_fail_errno(err, errno, "epoll");
		goto out;
	}
	if (tw_listen(address, &s->listener, s->address, err) < 0)
		goto out;
	if (fcntl(s->listener, F_SETFL, O_NONBLOCK) < 0 ||
	    epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->listener, &e) < 0) {
		tw_fail_errno(err, errno, "'%s'", address);
		goto out;
	}
	*out = s;
	s = NULL;
	rc = 0;
out:
	tw_scrapes_close(s);
	return rc;
}

int tw_scrapes_fd(const struct tw_scrapes *s)
{
	return s->epoll;
}

const char *tw_scrapes_address(const struct tw_scrapes *s)
{
	return s->address;
}

void tw_scrapes_close(struct tw_scrapes *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < TW_SCRAPES_MAX; i++)
		end(s, i);
	if (s->listener >= 0)
		close(s->listener);
	if (s->epoll >= 0)
		close(s->epoll);
	free(s);
}
