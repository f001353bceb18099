/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/expose/answer.h"

#include "collector/agents/agents.h"
#include "collector/collector.h"
#include "collector/workloads/workload.h"
#include "lib/core/err.h"
#include "lib/http/server/accept.h"
#include "lib/http/server/httpd_reply.h"
#include "lib/http/server/httpd_route.h"

#include <string.h>

/*
 * Workloads, once for each set of metrics, of a text that is large: some 10 ms on the
 * thread of the ticks.
 */
#define LARGE 2000

/* With a limit, as many workloads that had a series before may follow. */
static size_t exported(const struct tw_collector *c, enum tw_level level)
{
	const size_t count = tw_workloads_count(c->workloads, level), top = c->show.top;

	if (!c->show.level[level])
		return 0;
	return top != 0 && top < count / 2 ? 2 * top : count;
}

#if TW_FLEET
static size_t rows_of_agents(const struct tw_agents *agents)
{
	struct tw_agent_state s;
	size_t place = 0, count = 0;

	while (tw_agents_next(agents, &place, &s)) {
		count += s.rows;
		place++;
	}
	return count;
}
#endif

static bool is_large(const struct tw_collector *c, const struct tw_answer *a)
{
	const size_t sets = 1u + c->show.kepler + c->show.kepler_legacy;
	size_t count = 0;

	for (int level = 0; c->workloads != NULL && level < TW_LEVEL_COUNT; level++)
		count += sets * exported(c, (enum tw_level)level);
#if TW_FLEET
	if (c->agents != NULL && a->kind < TW_ANSWER_POWER)
		count += rows_of_agents(c->agents);
#endif
	return c->texts != NULL && !a->small && count > LARGE;
}

static struct tw_text_wanted wanted(const struct tw_collector *c,
				    const struct tw_http_request *q,
				    const struct tw_answer *a)
{
	return (struct tw_text_wanted){
		.tick = tw_collector_tick_number(c),
		.kind = a->kind,
		.gzip = tw_accept_coding(tw_http_header(q, "Accept-Encoding"), "gzip") >
			0,
		.write = a->write,
		.arg = a->arg
	};
}

static void reply_growing(struct tw_http_reply *r, struct tw_growing *g, bool gzip,
			  const struct tw_answer *a)
{
	r->content_type = a->content_type;
	tw_http_reply_growing(r, g);
	tw_http_reply_header(r, "Vary", "Accept-Encoding");
	if (gzip)
		tw_http_reply_header(r, "Content-Encoding", "gzip");
}

bool tw_answer_again(const struct tw_collector *c, const struct tw_http_request *q,
		     struct tw_http_reply *r, const struct tw_answer *a)
{
	struct tw_text_wanted w;
	struct tw_growing *g;

	if (!is_large(c, a))
		return false;
	if (strcmp(q->method, "HEAD") == 0) {
		tw_http_reply_header(r, "Content-Type", a->content_type);
		return true;
	}
	w = wanted(c, q, a);
	g = tw_texts_find(c->texts, &w);
	if (g != NULL)
		reply_growing(r, g, w.gzip, a);
	return g != NULL;
}

static bool write_here(struct tw_http_reply *r, const struct tw_answer *a)
{
	struct tw_text_out o = { .sink = NULL };
	bool failed;

	a->write(a->arg, &o);
	failed = tw_buf_failed(&o.buf);
	r->content_type = a->content_type;
	tw_http_reply_buf(r, &o.buf);
	return !failed;
}

bool tw_answer(const struct tw_collector *c, const struct tw_http_request *q,
	       struct tw_http_reply *r, const struct tw_answer *a)
{
	struct tw_text_wanted w;
	struct tw_err err = { 0 };
	struct tw_growing *g;

	if (!is_large(c, a))
		return write_here(r, a);
	w = wanted(c, q, a);
	if (tw_texts_make(c->texts, &w, &g, &err) == 0) {
		reply_growing(r, g, w.gzip, a);
		return true;
	}
	if (err.code == TW_UNSUPPORTED)
		return write_here(r, a);
	tw_http_reply_error(r, &err);
	return false;
}
