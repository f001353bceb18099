/* SPDX-License-Identifier: Apache-2.0 */
#include "web/page.h"

#include "lib/core/err.h"
#include "lib/http/server/http_range.h"
#include "lib/http/server/httpd_reply.h"

#include <string.h>

/*
 * Only this server, no inline script or style, no frame. uPlot and Preact set styles by
 * properties, which the policy does not restrict.
 */
static const char policy[] =
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
	"img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static const struct tw_web_file *find_file(const struct tw_web_file *files, size_t count,
					   const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(files[i].name, name) == 0)
			return &files[i];
	return NULL;
}

static void send_file(const struct tw_web_file *f, const struct tw_http_request *q,
		      struct tw_http_reply *r)
{
	const char *known = tw_http_header(q, "If-None-Match");

	/* Without its "W/". */
	if (known != NULL && tw_http_etag_listed(known, f->etag + 2)) {
		r->status = 304;
	} else {
		tw_http_reply_packed(r, f->gzip, f->len, f->unpacked_len);
		r->content_type = f->type;
	}
	tw_http_reply_header(r, "ETag", f->etag);
	/* A new version of the program has new files below the same names. */
	tw_http_reply_header(r, "Cache-Control", "no-cache");
	tw_http_reply_header(r, "Content-Security-Policy", policy);
	tw_http_reply_header(r, "X-Content-Type-Options", "nosniff");
	tw_http_reply_header(r, "Referrer-Policy", "no-referrer");
}

void tw_page_send(const struct tw_web_file *files, size_t count,
		  const struct tw_http_request *q, struct tw_http_reply *r)
{
	const char *name = tw_http_param(q, "file");
	const struct tw_web_file *f =
		find_file(files, count, name != NULL ? name : q->path + 1);
	struct tw_err err = { 0 };

	if (f != NULL) {
		send_file(f, q, r);
	} else if (name == NULL) {
		static const char note[] =
			"This build has no web pages: make WEB=1 needs "
			"Node. The API answers as documented.\n";

		tw_http_reply_lend(r, note, sizeof(note) - 1, NULL, NULL);
		r->content_type = "text/plain; charset=utf-8";
	} else {
		tw_fail(&err, TW_NOTFOUND, "the pages have no file '%.64s'", name);
		tw_http_reply_error(r, &err);
	}
}
