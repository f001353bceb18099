/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_server READY_FILE: the project's HTTP server with routes that do nothing: what
 * there is to be had at most. GET /plain answers 200 bytes from memory, POST /plain/{n}
 * takes a body and answers n.
 */
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/http/server/httpd.h"
#include "lib/program/daemon.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BYTES 200
#define BYTES_MAX 1000000

static char text[BYTES_MAX];

static void get_plain(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	(void)app;
	(void)q;
	tw_http_reply_lend(r, text, BYTES, NULL, NULL);
}

static void post_plain(void *app, const struct tw_http_request *q,
		       struct tw_http_reply *r)
{
	struct tw_err err = { 0 };
	uint32_t n;

	(void)app;
	if (tw_parse_u32(tw_http_param(q, "n"), 0, BYTES_MAX, &n, &err) < 0) {
		tw_http_reply_error(r, &err);
		return;
	}
	tw_http_reply_lend(r, text, n, NULL, NULL);
	r->content_type = "application/octet-stream";
}

static const struct tw_http_route routes[] = {
	{ "GET", "/plain", .handle = get_plain },
	{ "POST", "/plain/{n}", .handle = post_plain },
};

int main(int argc, char **argv)
{
	const struct tw_httpd_config c = { .listen = "127.0.0.1:0",
					   .routes = routes,
					   .route_count = 2 };
	struct tw_httpd *httpd = NULL;
	struct tw_err err = { 0 };
	struct pollfd p = { .fd = -1, .events = POLLIN };

	if (argc != 2) {
		fprintf(stderr, "usage: plain_server READY_FILE\n");
		return 2;
	}
	memset(text, 'x', sizeof(text));
	if (tw_signals_open(&p.fd, &err) < 0 || tw_httpd_open(&c, &httpd, &err) < 0 ||
	    tw_daemon_ready(argv[1], tw_httpd_address(httpd), &err) < 0) {
		fprintf(stderr, "plain_server: %s\n", err.text);
		return 1;
	}
	poll(&p, 1, -1);
	tw_httpd_close(httpd);
	unlink(argv[1]);
	close(p.fd);
	return 0;
}
