/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_collector.h"

#include "cli/memory.h"
#include "lib/http/client/http.h"

#include <stdlib.h>
#include <string.h>

#define WAIT_MS 1000

/* A request; `left` is shared by all requests of a round. */
struct request {
	struct tw_top_collector *from;
	char **to;
	char *url;
	struct tw_http_call call;
	size_t *left;
};

void tw_top_collector_clear(struct tw_top_collector *c)
{
	free(c->node);
	free(c->rows);
	c->node = NULL;
	c->rows = NULL;
	tw_err_clear(&c->failed);
}

/* The body is text: nothing after a NUL belongs to JSON. */
static void end_request(void *arg, const struct tw_http_answer *answer,
			const struct tw_err *why)
{
	struct request *r = arg;

	(*r->left)--;
	if (answer == NULL)
		tw_fail(&r->from->failed, why->code, "%s", why->text);
	else if (answer->status != 200)
		tw_fail(&r->from->failed, TW_IO, "'%s' answers %u", r->url,
			answer->status);
	else
		*r->to = tw_must(strdup(answer->body));
}

static char *url_of(const char *base, const char *level)
{
	size_t len = strlen(base);

	while (len > 0 && base[len - 1] == '/')
		len--;
	return tw_must_printf("%.*s/api/v1/power?level=%s", (int)len, base, level);
}

static int start_request(struct tw_http_many *m, struct request *r, const char *level,
			 uint64_t timeout_ms, struct tw_err *err)
{
	r->url = url_of(r->from->url, level);
	r->call = (struct tw_http_call){ .url = r->url, .timeout_ms = timeout_ms };
	return tw_http_many_start(m, &r->call, end_request, r, err);
}

/* Calls that have begun must end before their requests are freed. */
static int wait_for_all(struct tw_http_many *m, const size_t *left, struct tw_err *err)
{
	while (*left > 0)
		if (tw_http_many_run(m, -1, WAIT_MS, err) < 0)
			return -1;
	return 0;
}

int tw_top_ask(struct tw_http_many *m, struct tw_top_collector *c, size_t count,
	       const char *level, uint64_t timeout_ms, struct tw_err *err)
{
	struct request *request = tw_must(calloc(2 * count, sizeof(*request)));
	struct tw_err why = { 0 };
	size_t left = 0;
	int rc;

	for (size_t i = 0; i < 2 * count; i++) {
		struct request *r = &request[i];
		const bool node = i % 2 == 0;

		r->from = &c[i / 2];
		r->left = &left;
		if (node)
			tw_top_collector_clear(r->from);
		r->to = node ? &r->from->node : &r->from->rows;
		tw_err_clear(&why);
		if (start_request(m, r, node ? "node" : level, timeout_ms, &why) < 0)
			tw_fail(&r->from->failed, why.code, "%s", why.text);
		else
			left++;
	}
	rc = wait_for_all(m, &left, err);
	for (size_t i = 0; i < 2 * count; i++)
		free(request[i].url);
	free(request);
	return rc;
}
