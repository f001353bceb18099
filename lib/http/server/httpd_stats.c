/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/server/httpd_stats.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/http/server/httpd_reply.h"
#include "lib/http/server/httpd_route.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* The last, 0, counts all other statuses. */
static const unsigned statuses[] = { 200, 201, 202, 204, 206, 304, 400, 401, 403, 404,
				     405, 409, 412, 413, 416, 500, 501, 503, 0 };

static const double bounds_s[] = { 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
				   0.025,  0.05,    0.1,    0.25,  1,      10 };

enum { BUILD, REQUESTS, SECONDS, CONNECTIONS };

static const struct tw_expo_family families[] = {
	[BUILD] = { "tw_build_info", TW_EXPO_INFO, NULL, "Version of the program." },
	[REQUESTS] = { "tw_http_requests_total", TW_EXPO_COUNTER, NULL,
		       "Requests answered, by route and status." },
	[SECONDS] = { "tw_http_request_seconds", TW_EXPO_HISTOGRAM, "seconds",
		      "Time from the end of a request's headers to the start of its "
		      "answer." },
	[CONNECTIONS] = { "tw_http_connections", TW_EXPO_GAUGE, NULL,
			  "Open connections." },
};

const struct tw_expo_table tw_http_families[] = { TW_EXPO_TABLE(families),
						  { .first = NULL } };

struct route_stats {
	atomic_ullong by_status[TW_COUNT(statuses)];
	atomic_ullong by_time[TW_COUNT(bounds_s) + 1];
	atomic_ullong sum_ns;
};

struct tw_http_stats {
	const struct tw_http_route *routes;
	size_t count;
	atomic_long connections;
	struct route_stats at[]; /* by route; the last one: no route matched */
};

int tw_http_stats_new(const struct tw_http_route *routes, size_t count,
		      struct tw_http_stats **out, struct tw_err *err)
{
	/* C11 has atomic_init() for this; all bits zero work with gcc and clang. */
	struct tw_http_stats *s = calloc(1, sizeof(*s) + (count + 1) * sizeof(s->at[0]));

	if (s == NULL)
		return tw_fail(err, TW_NOMEM, "statistics of %zu routes", count);
	s->routes = routes;
	s->count = count;
	*out = s;
	return 0;
}

void tw_http_stats_free(struct tw_http_stats *s)
{
	free(s);
}

static void add(atomic_ullong *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static uint64_t get(const atomic_ullong *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void tw_http_stats_add(struct tw_http_stats *s, const struct tw_http_route *route,
		       unsigned status, uint64_t ns)
{
	size_t r, code = 0, time = 0;

	if (s == NULL)
		return;
	r = route != NULL ? (size_t)(route - s->routes) : s->count;
	while (code + 1 < TW_COUNT(statuses) && statuses[code] != status)
		code++;
	while (time < TW_COUNT(bounds_s) && (double)ns > bounds_s[time] * 1e9)
		time++;
	add(&s->at[r].by_status[code], 1);
	add(&s->at[r].by_time[time], 1);
	add(&s->at[r].sum_ns, ns);
}

void tw_http_stats_connection(struct tw_http_stats *s, int change)
{
	if (s != NULL)
		atomic_fetch_add_explicit(&s->connections, change, memory_order_relaxed);
}

static const char *route_name(const struct tw_http_stats *s, size_t r)
{
	return r < s->count ? s->routes[r].path : "";
}

static const char *route_method(const struct tw_http_stats *s, size_t r)
{
	return r < s->count ? s->routes[r].method : "";
}

static void write_requests(const struct tw_http_stats *s, size_t r, struct tw_expo *e)
{
	for (size_t i = 0; i < TW_COUNT(statuses); i++) {
		const uint64_t n = get(&s->at[r].by_status[i]);
		char status[16];
		const struct tw_expo_label labels[] = { { "method", route_method(s, r) },
							{ "route", route_name(s, r) },
							{ "status", status } };

		snprintf(status, sizeof(status), "%u", statuses[i]);
		if (n > 0)
			tw_expo_count(e, labels, TW_COUNT(labels), n);
	}
}

static void write_times(const struct tw_http_stats *s, size_t r, struct tw_expo *e)
{
	const struct tw_expo_label labels[] = { { "method", route_method(s, r) },
						{ "route", route_name(s, r) } };
	uint64_t count_of[TW_COUNT(bounds_s) + 1], total = 0;

	for (size_t i = 0; i < TW_COUNT(count_of); i++) {
		count_of[i] = get(&s->at[r].by_time[i]);
		total += count_of[i];
	}
	if (total > 0)
		tw_expo_histogram(e, labels, TW_COUNT(labels), bounds_s,
				  TW_COUNT(bounds_s), count_of,
				  (double)get(&s->at[r].sum_ns) / 1e9);
}

void tw_http_stats_write(const struct tw_http_stats *s, const char *program,
			 struct tw_expo *e)
{
	const struct tw_expo_label version[] = { { "program", program },
						 { "version", TW_VERSION } };

	tw_expo_family(e, &families[BUILD]);
	tw_expo_sample(e, version, TW_COUNT(version), 1);
	if (s == NULL)
		return;
	tw_expo_family(e, &families[REQUESTS]);
	for (size_t r = 0; r <= s->count; r++)
		write_requests(s, r, e);
	tw_expo_family(e, &families[SECONDS]);
	for (size_t r = 0; r <= s->count; r++)
		write_times(s, r, e);
	tw_expo_family(e, &families[CONNECTIONS]);
	tw_expo_sample(
		e, NULL, 0,
		(double)atomic_load_explicit(&s->connections, memory_order_relaxed));
}

void tw_http_reply_metrics(const struct tw_http_request *q, struct tw_http_reply *r,
			   void (*write)(void *arg, struct tw_expo *e), void *arg)
{
	struct tw_buf b = { 0 };
	struct tw_expo e = { .out = &b,
			     .format = tw_expo_wanted(tw_http_header(q, "Accept")) };

	write(arg, &e);
	tw_expo_end(&e);
	tw_http_reply_buf(r, &b);
	r->content_type = tw_expo_content_type(e.format);
	tw_http_reply_header(r, "Vary", "Accept");
}
