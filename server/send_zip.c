/* SPDX-License-Identifier: Apache-2.0 */
#include "server/send_zip.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/http/client/http_range.h"
#include "lib/http/server/httpd.h"
#include "model-db/index/index.h"
#include "model-db/index/index_use.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* The tag is of the content: equal on all servers with the same file. */
static void format_etag(const struct tw_index_entry *e, char etag[TW_ETAG_TEXT])
{
	snprintf(etag, TW_ETAG_TEXT, "\"%016" PRIx64 "-%" PRIx64 "\"", e->zip_sum,
		 e->zip_bytes);
}

static void add_range(struct tw_http_reply *r, const struct tw_http_range *range,
		      uint64_t size)
{
	char text[80];

	snprintf(text, sizeof(text), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
		 range->from, range->from + range->len - 1, size);
	tw_http_reply_header(r, "Content-Range", text);
	r->status = 206;
}

static void refuse_range(struct tw_http_reply *r, uint64_t size)
{
	char text[40];

	snprintf(text, sizeof(text), "bytes */%" PRIu64, size);
	tw_http_reply_problem(r, 416, "the range begins behind the file's end");
	tw_http_reply_header(r, "Content-Range", text);
}

static void let_go(void *index)
{
	tw_index_unref(index);
}

static int send_file(struct tw_index *x, const struct tw_index_entry *e,
		     const struct tw_http_range *range, struct tw_http_reply *r,
		     struct tw_err *err)
{
	struct tw_index_text text = { 0 };
	struct tw_buf name = { 0 };
	int fd;

	if (tw_index_zip(x, e, &text, &fd, err) < 0)
		return -1;
	if (fd >= 0)
		tw_http_reply_file(r, fd, range->from, (size_t)range->len);
	else
		tw_http_reply_lend(r, text.text + range->from, (size_t)range->len, let_go,
				   tw_index_ref(x));
	r->content_type = "application/zip";
	tw_buf_addf(&name, "%s.zip", e->name);
	r->attachment = tw_buf_detach(&name, NULL);
	r->failed |= r->attachment == NULL;
	return 0;
}

enum tw_http_wants tw_send_wants(const struct tw_http_request *q, const char *etag,
				 uint64_t size, struct tw_http_range *range)
{
	*range = (struct tw_http_range){ .len = size };
	if (q == NULL)
		return TW_HTTP_WHOLE;
	return tw_http_wants(tw_http_header(q, "If-None-Match"),
			     tw_http_header(q, "If-Range"), tw_http_header(q, "Range"),
			     etag, size, range);
}

bool tw_send_head(struct tw_http_reply *r, enum tw_http_wants wants, const char *etag,
		  uint64_t size, const struct tw_http_range *range)
{
	if (wants == TW_HTTP_NOTHING)
		r->status = 304;
	else if (wants == TW_HTTP_BEHIND)
		refuse_range(r, size);
	else if (wants == TW_HTTP_PART)
		add_range(r, range, size);
	tw_http_reply_header(r, "ETag", etag);
	return wants == TW_HTTP_WHOLE || wants == TW_HTTP_PART;
}

void tw_send_cacheable(struct tw_http_reply *r)
{
	tw_http_reply_header(r, "Accept-Ranges", "bytes");
	tw_http_reply_header(r, "Cache-Control", "no-cache");
}

int tw_send_zip(struct tw_index *x, const struct tw_index_entry *e,
		const struct tw_http_request *q, struct tw_http_reply *r,
		struct tw_err *err)
{
	enum tw_http_wants wants;
	struct tw_http_range range;
	char etag[TW_ETAG_TEXT];

	format_etag(e, etag);
	wants = tw_send_wants(q, etag, e->zip_bytes, &range);
	/*
	 * Open the file before the head is set, so that a failure leaves the reply
	 * unchanged.
	 */
	if ((wants == TW_HTTP_WHOLE || wants == TW_HTTP_PART) &&
	    send_file(x, e, &range, r, err) < 0)
		return -1;
	tw_send_head(r, wants, etag, e->zip_bytes, &range);
	if (q != NULL)
		tw_send_cacheable(r);
	return 0;
}
