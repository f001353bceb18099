/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/texts.h"

#include "collector/system/privilege.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/http/server/httpd_growing.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

/* Bytes in a child's buffer that are worth a write. */
#define PIECE ((size_t)128 << 10)

/* A child that takes longer gives up. */
#define CHILD_MS 60000

/* Limit of a text, in bytes. */
#define TEXT_MAX TW_TEXTS_BYTES_MAX

/* Reports of a child: bytes were written; the text is whole. */
#define MORE 'm'
#define WHOLE 'w'

/* 16 asks zlib for gzip's header. */
#define GZIP_BITS (MAX_WBITS + 16)
#define MEM_LEVEL 8

struct text {
	uint64_t tick;
	unsigned kind;
	bool gzip;
	uint64_t began_ms;
	uint64_t bytes;
	struct tw_growing *growing; /* NULL: the slot is free */
	int file;                   /* of growing, while the child runs */
	int reports;                /* -1: the child has exited */
	pid_t child;
};

struct tw_texts {
	int epoll; /* of the reports of running children */
	struct text of[TW_TEXTS_MAX];
};

/* ---- in the child ---- */

struct tw_text_sink {
	int file, reports;
	uint64_t bytes, until_ms;
	bool gzip;
	z_stream z;
	unsigned char packed[PIECE];
};

/* The parent takes a missing WHOLE for a failure. */
__attribute__((noreturn)) static void give_up(void)
{
	_exit(1);
}

static void put(struct tw_text_sink *s, const void *data, size_t len)
{
	const char *p = data;

	s->bytes += len;
	if (s->bytes > TEXT_MAX || tw_now_ms() > s->until_ms)
		give_up();
	while (len > 0) {
		const ssize_t n = write(s->file, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			give_up();
		p += n;
		len -= (size_t)n;
	}
}

static void pack(struct tw_text_sink *s, const char *data, size_t len, int flush)
{
	s->z.next_in = (Bytef *)(uintptr_t)data;
	s->z.avail_in = (uInt)len;
	do {
		s->z.next_out = s->packed;
		s->z.avail_out = sizeof(s->packed);
		if (deflate(&s->z, flush) == Z_STREAM_ERROR)
			give_up();
		put(s, s->packed, sizeof(s->packed) - s->z.avail_out);
	} while (s->z.avail_out == 0);
}

static void report(const struct tw_text_sink *s, char what)
{
	/* The parent closes its end to end the child. */
	if (write(s->reports, &what, 1) != 1)
		give_up();
}

static void pour(struct tw_text_out *o, bool last)
{
	struct tw_text_sink *s = o->sink;

	if (tw_buf_failed(&o->buf))
		give_up();
	if (s->gzip)
		pack(s, o->buf.data, o->buf.len, last ? Z_FINISH : Z_SYNC_FLUSH);
	else
		put(s, o->buf.data, o->buf.len);
	o->buf.len = 0;
	report(s, last ? WHOLE : MORE);
}

void tw_text_drain(struct tw_text_out *o)
{
	if (o->sink != NULL && (o->buf.len >= PIECE || tw_buf_failed(&o->buf)))
		pour(o, false);
}

__attribute__((noreturn)) static void run_child(const struct tw_text_wanted *wanted,
						int file, int reports)
{
	struct tw_text_sink *s = calloc(1, sizeof(*s));
	struct tw_text_out o = { .sink = s };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	tw_close_copies(file, reports);
	if (s == NULL)
		give_up();
	s->file = file;
	s->reports = reports;
	s->gzip = wanted->gzip;
	s->until_ms = tw_now_ms() + CHILD_MS;
	if (s->gzip && deflateInit2(&s->z, Z_BEST_SPEED, Z_DEFLATED, GZIP_BITS, MEM_LEVEL,
				    Z_DEFAULT_STRATEGY) != Z_OK)
		give_up();
	wanted->write(wanted->arg, &o);
	pour(&o, true);
	_exit(0);
}

/* ---- in the collector ---- */

int tw_texts_open(struct tw_texts **out, struct tw_err *err)
{
	struct tw_texts *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return tw_fail(err, TW_NOMEM, "texts");
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll < 0) {
		free(t);
		return tw_fail_errno(err, errno, "epoll");
	}
	for (size_t i = 0; i < TW_TEXTS_MAX; i++)
		t->of[i].reports = -1;
	*out = t;
	return 0;
}

int tw_texts_fd(const struct tw_texts *t)
{
	return t->epoll;
}

static void update_size(struct text *x)
{
	struct stat st;

	if (fstat(x->file, &st) < 0)
		return;
	x->bytes = (uint64_t)st.st_size;
	tw_growing_grow(x->growing, x->bytes);
}

/* The child has exited, or exits at its next report. */
static void end_child(const struct tw_texts *t, struct text *x, bool whole)
{
	if (x->reports < 0)
		return;
	update_size(x);
	/* A younger child may have a copy, which would keep it in the set. */
	(void)epoll_ctl(t->epoll, EPOLL_CTL_DEL, x->reports, NULL);
	close(x->reports);
	x->reports = -1;
	tw_growing_end(x->growing, whole);
}

static void drop(const struct tw_texts *t, struct text *x)
{
	end_child(t, x, false);
	tw_growing_end(x->growing, false);
	tw_growing_free(x->growing);
	x->growing = NULL;
}

void tw_texts_close(struct tw_texts *t)
{
	if (t == NULL)
		return;
	for (size_t i = 0; i < TW_TEXTS_MAX; i++)
		if (t->of[i].growing != NULL)
			drop(t, &t->of[i]);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	close(t->epoll);
	free(t);
}

static void hear(const struct tw_texts *t, struct text *x)
{
	char reports[256];
	bool more = false;
	ssize_t n;

	while ((n = read(x->reports, reports, sizeof(reports))) > 0) {
		if (reports[n - 1] == WHOLE) {
			end_child(t, x, true);
			return;
		}
		more = true;
	}
	if (n == 0 || errno != EAGAIN)
		end_child(t, x, false);
	else if (more)
		update_size(x);
}

static void reap(struct tw_texts *t)
{
	for (size_t i = 0; i < TW_TEXTS_MAX; i++)
		if (t->of[i].child > 0 && waitpid(t->of[i].child, NULL, WNOHANG) != 0)
			t->of[i].child = 0;
}

void tw_texts_hear(struct tw_texts *t)
{
	for (size_t i = 0; i < TW_TEXTS_MAX; i++)
		if (t->of[i].growing != NULL && t->of[i].reports >= 0)
			hear(t, &t->of[i]);
	reap(t);
}

static bool is_idle(const struct text *x)
{
	return x->growing != NULL && !tw_growing_is_shared(x->growing);
}

void tw_texts_tidy(struct tw_texts *t, uint64_t tick)
{
	for (size_t i = 0; i < TW_TEXTS_MAX; i++)
		if (is_idle(&t->of[i]) && t->of[i].tick != tick)
			drop(t, &t->of[i]);
	reap(t);
}

struct tw_growing *tw_texts_find(const struct tw_texts *t,
				 const struct tw_text_wanted *wanted)
{
	for (size_t i = 0; i < TW_TEXTS_MAX; i++) {
		const struct text *x = &t->of[i];

		if (x->growing != NULL && x->tick == wanted->tick &&
		    x->kind == wanted->kind && x->gzip == wanted->gzip)
			return x->growing;
	}
	return NULL;
}

/* The finished text that a new one may replace; NULL: none. */
static struct text *replaceable(struct tw_texts *t)
{
	const uint64_t now = tw_now_ms();
	struct text *oldest = NULL;

	for (size_t i = 0; i < TW_TEXTS_MAX; i++) {
		struct text *x = &t->of[i];

		if (x->growing == NULL || x->child > 0 ||
		    (!is_idle(x) && now - x->began_ms < TW_TEXTS_SLOW_MS))
			continue;
		if (oldest == NULL || is_idle(x) > is_idle(oldest) ||
		    (is_idle(x) == is_idle(oldest) && x->began_ms < oldest->began_ms))
			oldest = x;
	}
	return oldest;
}

/* A slot for a new text within all limits; NULL: none. A slot keeps its child. */
static struct text *find_room(struct tw_texts *t)
{
	for (;;) {
		struct text *room = NULL, *old;
		unsigned running = 0;
		uint64_t bytes = 0;

		reap(t);
		for (size_t i = 0; i < TW_TEXTS_MAX; i++) {
			struct text *x = &t->of[i];

			running += x->child > 0;
			bytes += x->growing != NULL ? x->bytes : 0;
			if (x->growing == NULL && x->child == 0)
				room = x;
		}
		if (running == TW_TEXTS_RUNNING)
			return NULL;
		if (room != NULL && bytes < TW_TEXTS_BYTES_MAX)
			return room;
		old = replaceable(t);
		if (old == NULL)
			return NULL;
		drop(t, old);
	}
}

static int start(struct text *x, const struct tw_text_wanted *wanted, const int pipe[2],
		 struct tw_err *err)
{
	const pid_t pid = fork();

	if (pid < 0)
		return tw_fail(err, TW_UNSUPPORTED, "no child process");
	if (pid == 0)
		run_child(wanted, x->file, pipe[1]);
	x->child = pid;
	x->reports = pipe[0];
	return 0;
}

static int watch(const struct tw_texts *t, int fd, struct tw_err *err)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &ev) < 0
		       ? tw_fail_errno(err, errno, "epoll")
		       : 0;
}

int tw_texts_make(struct tw_texts *t, const struct tw_text_wanted *wanted,
		  struct tw_growing **out, struct tw_err *err)
{
	struct text *room = find_room(t);
	int ends[2] = { -1, -1 }, rc = -1;
	struct text x = { .tick = wanted->tick,
			  .kind = wanted->kind,
			  .gzip = wanted->gzip,
			  .began_ms = tw_now_ms() };

	if (room == NULL)
		return tw_fail(err, TW_NOMEM, "too many answers at a time");
	x.file = tw_file_in_memory("tallywatt-text", false);
	if (x.file < 0 || pipe2(ends, O_CLOEXEC) < 0 ||
	    fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0) {
		if (x.file >= 0)
			close(x.file);
		tw_fail(err, TW_UNSUPPORTED, "no file in memory, or no pipe");
		goto out;
	}
	if (tw_growing_new(x.file, &x.growing, err) < 0)
		goto out;
	if (watch(t, ends[0], err) < 0 || start(&x, wanted, ends, err) < 0) {
		tw_growing_free(x.growing);
		goto out;
	}
	ends[0] = -1;
	*room = x;
	*out = room->growing;
	rc = 0;
out:
	if (ends[0] >= 0)
		close(ends[0]);
	if (ends[1] >= 0)
		close(ends[1]);
	return rc;
}

static bool any_writes(const struct tw_texts *t)
{
	for (size_t i = 0; i < TW_TEXTS_MAX; i++)
		if (t->of[i].growing != NULL && t->of[i].reports >= 0)
			return true;
	return false;
}

/* A child exits a moment after its last report. */
static bool any_exits(const struct tw_texts *t)
{
	for (size_t i = 0; i < TW_TEXTS_MAX; i++)
		if (t->of[i].growing != NULL && t->of[i].child > 0)
			return true;
	return false;
}

void tw_texts_finish(struct tw_texts *t, int wait_ms)
{
	const uint64_t until = tw_now_ms() + (uint64_t)wait_ms;

	while (any_writes(t) && tw_now_ms() < until) {
		struct pollfd p = { .fd = t->epoll, .events = POLLIN };

		poll(&p, 1, (int)(until - tw_now_ms()));
		tw_texts_hear(t);
	}
	for (reap(t); any_exits(t) && tw_now_ms() < until; reap(t))
		poll(NULL, 0, 1);
	for (size_t i = 0; i < TW_TEXTS_MAX; i++)
		if (t->of[i].growing != NULL)
			end_child(t, &t->of[i], false);
}
