/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/server/httpd_growing.h"

#include "lib/core/err.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <unistd.h>

/* Bytes that libmicrohttpd asks for at a time. */
#define PIECE ((size_t)32 << 10)

struct reader {
	struct tw_growing *g;
	struct MHD_Connection *connection;
	bool waiting; /* suspended, and in the list */
	struct reader *next;
};

struct tw_growing {
	int fd;
	unsigned refs;
	uint64_t bytes;
	bool ended, whole;
	struct reader *waiting;
};

int tw_growing_new(int fd, struct tw_growing **out, struct tw_err *err)
{
	struct tw_growing *g = calloc(1, sizeof(*g));

	if (g == NULL) {
		close(fd);
		return tw_fail(err, TW_NOMEM, "answer");
	}
	g->fd = fd;
	g->refs = 1;
	*out = g;
	return 0;
}

struct tw_growing *tw_growing_ref(struct tw_growing *g)
{
	g->refs++;
	return g;
}

void tw_growing_free(struct tw_growing *g)
{
	if (g == NULL || --g->refs > 0)
		return;
	close(g->fd);
	free(g);
}

bool tw_growing_is_shared(const struct tw_growing *g)
{
	return g->refs > 1;
}

static void wake(struct tw_growing *g)
{
	struct reader *r = g->waiting;

	g->waiting = NULL;
	while (r != NULL) {
		struct reader *next = r->next;

		r->waiting = false;
		MHD_resume_connection(r->connection);
		r = next;
	}
}

void tw_growing_grow(struct tw_growing *g, uint64_t bytes)
{
	if (bytes <= g->bytes)
		return;
	g->bytes = bytes;
	wake(g);
}

void tw_growing_end(struct tw_growing *g, bool whole)
{
	if (g->ended)
		return;
	g->ended = true;
	g->whole = whole;
	wake(g);
}

static void wait_for_more(struct reader *r)
{
	r->waiting = true;
	r->next = r->g->waiting;
	r->g->waiting = r;
	MHD_suspend_connection(r->connection);
}

static ssize_t read_piece(void *cls, uint64_t at, char *out, size_t max)
{
	struct reader *r = cls;
	const struct tw_growing *g = r->g;
	ssize_t n;

	if (g->ended && !g->whole)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (at >= g->bytes) {
		if (g->ended)
			return MHD_CONTENT_READER_END_OF_STREAM;
		wait_for_more(r);
		return 0;
	}
	if (max > g->bytes - at)
		max = (size_t)(g->bytes - at);
	do
		n = pread(g->fd, out, max, (off_t)at);
	while (n < 0 && errno == EINTR);
	return n > 0 ? n : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void free_reader(void *cls)
{
	struct reader *r = cls;

	if (r->waiting)
		for (struct reader **at = &r->g->waiting; *at != NULL; at = &(*at)->next)
			if (*at == r) {
				*at = r->next;
				break;
			}
	tw_growing_free(r->g);
	free(r);
}

struct MHD_Response *tw_growing_response(struct tw_growing *g, struct MHD_Connection *c)
{
	struct reader *r = calloc(1, sizeof(*r));
	struct MHD_Response *m;

	if (r == NULL)
		return NULL;
	r->g = tw_growing_ref(g);
	r->connection = c;
	m = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, read_piece, r,
					      free_reader);
	if (m == NULL)
		free_reader(r);
	return m;
}
