/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/scrapes.h"

#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/http/server/httpd.h"
#include "lib/http/server/httpd_stats.h"
#include "lib/http/web/web_log.h"

#include <stdlib.h>

/* As the other daemons: a scraper may keep its connection, others are closed when idle.
 */
#define CONNECTIONS_MAX 64
#define ANSWER_TIMEOUT_MS 30000

struct tw_scrapes {
	struct tw_httpd *httpd;
	tw_scrapes_write_fn *write;
	void *arg;
	uint64_t due_ms;
};

static void get_metrics(void *app, const struct tw_http_request *q,
			struct tw_http_reply *r)
{
	const struct tw_scrapes *s = app;

	tw_http_reply_metrics(q, r, s->write, s->arg);
}

static const struct tw_http_route metrics = {
	.method = "GET",
	.path = "/metrics",
	.handle = get_metrics,
};

static const struct tw_http_route *const routes[] = { &metrics };

static void set_due(struct tw_scrapes *s)
{
	const int wait_ms = tw_httpd_timeout_ms(s->httpd);

	s->due_ms = wait_ms < 0 ? UINT64_MAX : tw_now_ms() + (uint64_t)wait_ms;
}

int tw_scrapes_open(const char *address, const char *web_config,
		    tw_scrapes_write_fn *write, void *arg, struct tw_scrapes **out,
		    struct tw_err *err)
{
	struct tw_scrapes *s = calloc(1, sizeof(*s));
	const struct tw_httpd_config c = { .listen = address,
					   .routes = routes,
					   .route_count = 1,
					   .app = s,
					   .callers_thread = true,
					   .connections_max = CONNECTIONS_MAX,
					   .answer_timeout_ms = ANSWER_TIMEOUT_MS,
					   .web_config = web_config,
					   .web_changed = tw_web_log_changed };

	if (s == NULL)
		return tw_fail(err, TW_NOMEM, "GET /metrics");
	s->write = write;
	s->arg = arg;
	if (tw_httpd_open(&c, &s->httpd, err) < 0) {
		free(s);
		return -1;
	}
	set_due(s);
	*out = s;
	return 0;
}

int tw_scrapes_fd(const struct tw_scrapes *s)
{
	return tw_httpd_fd(s->httpd);
}

uint64_t tw_scrapes_due_ms(const struct tw_scrapes *s)
{
	return s->due_ms;
}

void tw_scrapes_run(struct tw_scrapes *s)
{
	tw_httpd_run(s->httpd);
	set_due(s);
}

const char *tw_scrapes_address(const struct tw_scrapes *s)
{
	return tw_httpd_address(s->httpd);
}

void tw_scrapes_close(struct tw_scrapes *s)
{
	if (s == NULL)
		return;
	tw_httpd_close(s->httpd);
	free(s);
}
