/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/record/prom_client.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/http/client/url.h"
#include "lib/json/jsax.h"
#include "lib/json/json.h"
#include "trainer/record/series_reader.h"
#include "trainer/record/stop.h"
#include "trainer/response/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WAIT_MIN_MS 250
#define WAIT_MAX_MS 15000
#define STALL_MS 60000

/* Limit of matching metrics. */
#define METRICS_MAX 10000

/* Limit of times, in seconds since the epoch: the year 5138. */
#define TIME_MAX_S 1e11

struct tw_prom_client {
	struct tw_prom_client_config config;
	struct tw_http *http;
	char *base; /* URL up to "/api/v1" */
	uint64_t answered_ms;
	/* End of the last range that failed: a spool may have samples up to it. */
	int64_t failed_to_ms;
	bool refused; /* the last answer rejects the request, or does not fit it */
};

static int make_base(const char *url, char **out, struct tw_err *err)
{
	struct tw_buf b = { 0 };
	size_t len = strlen(url);

	if (len == 0 || strpbrk(url, "?# \t\r\n") != NULL)
		return tw_fail(err, TW_INVALID, "'%.128s' is not the URL of a server",
			       url);
	while (len > 0 && url[len - 1] == '/')
		len--;
	tw_buf_adds(&b, strstr(url, "://") == NULL ? "http://" : "");
	tw_buf_add(&b, url, len);
	tw_buf_adds(&b, "/api/v1");
	*out = tw_buf_detach(&b, NULL);
	return *out != NULL ? 0 : tw_fail(err, TW_NOMEM, "URL");
}

int tw_prom_client_new(const struct tw_prom_client_config *config,
		       struct tw_prom_client **out, struct tw_err *err)
{
	struct tw_prom_client *c = NULL;
	int rc = -1;

	if (TW_NEW(c, 1, err) < 0)
		goto out;
	c->config = *config;
	c->failed_to_ms = INT64_MIN;
	if (make_base(config->url, &c->base, err) < 0 || tw_http_open(&c->http, err) < 0)
		goto out;
	c->answered_ms = tw_now_ms();

	*out = c;
	c = NULL;
	rc = 0;
out:
	tw_prom_client_free(c);
	return rc;
}

void tw_prom_client_free(struct tw_prom_client *c)
{
	if (c == NULL)
		return;
	tw_http_close(c->http);
	free(c->base);
	free(c);
}

/* Result of one attempt. */
enum outcome { DONE, FAILED, AGAIN };

/* End an answer of status 200. Its JSON may be incomplete even if HTTP reports success.
 */
static enum outcome finish_answer(const struct tw_prom_client *c,
				  struct tw_prom_answer *answer, struct tw_err *err)
{
	char text[TW_ERR_TEXT];

	if (tw_prom_answer_end(answer, err) < 0)
		return answer->cut_short ? AGAIN : FAILED;
	if (answer->partial[0] == '\0')
		return DONE;
	snprintf(text, sizeof(text), "the answer is partial, series may be missing: %.*s",
		 (int)strcspn(answer->partial, "\r\n"), answer->partial);
	if (!c->config.accept_partial) {
		tw_fail(err, TW_INVALID, "%s (--partial accept takes it)", text);
		return FAILED;
	}
	if (c->config.say != NULL)
		c->config.say(text);
	return DONE;
}

static enum outcome attempt(struct tw_prom_client *c, const char *url,
			    struct tw_prom_answer *answer, uint64_t *wait_ms,
			    struct tw_err *err)
{
	const struct tw_http_call call = {
		.url = url,
		.accept = "application/json",
		.timeout_ms = c->config.timeout_ms,
		.stall_ms = STALL_MS,
		.answer_max = c->config.answer_max,
		.access = &c->config.access,
		.session = c->http,
		.sink = tw_prom_answer_feed,
		.sink_arg = answer,
		.stopped = c->config.stop != NULL ? tw_stop_requested : NULL,
		.stopped_arg = c->config.stop,
	};
	struct tw_http_answer http = { 0 };
	enum outcome outcome;

	if (tw_http_call(&call, &http, err) < 0) {
		if (http.over_limit)
			err->code = TW_UNSUPPORTED;
		c->refused = err->code == TW_PARSE;
		return err->code == TW_IO && !answer->refused ? AGAIN : FAILED;
	}
	if (http.status == 200) {
		outcome = finish_answer(c, answer, err);
		c->refused = outcome == FAILED && answer->partial[0] == '\0';
	} else {
		outcome = http.status == 429 || http.status >= 500 ? AGAIN : FAILED;
		c->refused = outcome == FAILED || http.status == 501;
		tw_prom_answer_fail(&http, err);
	}
	if (http.retry_after_s > 0 && http.retry_after_s < UINT32_MAX)
		*wait_ms = http.retry_after_s * 1000;
	tw_http_answer_release(&http);
	return outcome;
}

static void say_again(const struct tw_prom_client *c, const struct tw_err *why,
		      uint64_t wait_ms)
{
	char text[TW_ERR_TEXT + 64];

	if (c->config.say == NULL)
		return;
	snprintf(text, sizeof(text), "%s; trying again in %" PRIu64 ".%" PRIu64 " s",
		 why->text, wait_ms / 1000, wait_ms / 100 % 10);
	c->config.say(text);
}

static int pause_for(struct tw_prom_client *c, uint64_t wait_ms, const struct tw_err *why,
		     struct tw_err *err)
{
	uint64_t silent_ms = tw_now_ms() - c->answered_ms;

	if (silent_ms + wait_ms > c->config.retry_ms) {
		*err = *why;
		return tw_err_wrap(err, "gave up after %" PRIu64 " s", silent_ms / 1000);
	}
	say_again(c, why, wait_ms);
	if (c->config.stop == NULL) {
		nanosleep(&(const struct timespec){ (time_t)(wait_ms / 1000),
						    (long)(wait_ms % 1000) * 1000000 },
			  NULL);
		return 0;
	}
	return tw_stop_wait(c->config.stop, wait_ms) ? tw_fail(err, TW_IO, "interrupted")
						     : 0;
}

/* Repeat a request until it succeeds, fails for good, or the client gives up.
 * restart(arg) is called before each repetition. */
static int ask(struct tw_prom_client *c, const struct tw_buf *url, bool nested,
	       tw_jsax_fn *fn, void *arg, void (*restart)(void *arg), struct tw_err *err)
{
	uint64_t backoff_ms = WAIT_MIN_MS;

	if (tw_buf_failed(url))
		return tw_fail(err, TW_NOMEM, "request to Prometheus");
	for (;;) {
		struct tw_prom_answer answer = { .nested = nested, .fn = fn, .arg = arg };
		uint64_t wait_ms = backoff_ms;
		enum outcome outcome = FAILED;
		struct tw_err why = { 0 };

		if (tw_prom_answer_open(&answer, &why) == 0)
			outcome = attempt(c, url->data, &answer, &wait_ms, &why);
		tw_prom_answer_release(&answer);
		if (outcome == DONE) {
			c->answered_ms = tw_now_ms();
			return 0;
		}
		if (c->config.stop != NULL && tw_stop_requested(c->config.stop))
			return tw_fail(err, TW_IO, "interrupted");
		if (outcome == FAILED) {
			*err = why;
			return -1;
		}
		if (pause_for(c, wait_ms, &why, err) < 0)
			return -1;
		backoff_ms = 2 * backoff_ms < WAIT_MAX_MS ? 2 * backoff_ms : WAIT_MAX_MS;
		restart(arg);
	}
}

static void add_time(struct tw_buf *b, const char *name, int64_t ms)
{
	tw_buf_addf(b, "&%s=%" PRId64 ".%03" PRId64, name, ms / 1000, ms % 1000);
}

/* Append the escaped selector of the metrics: {__name__="metric",..} accepts any UTF-8
 * name; metric{..} does not. length_ms: of a range of samples as scraped; 0: no range. */
static void add_selector(struct tw_buf *url, const char *operator, const char * name,
			 const struct tw_strs *match, int64_t length_ms)
{
	struct tw_buf b = { 0 };

	tw_buf_addf(&b, "{__name__%s", operator);
	tw_buf_add_json_text(&b, name, strlen(name));
	for (size_t i = 0; i < match->count; i++)
		tw_buf_addf(&b, ",%s", match->at[i]);
	tw_buf_adds(&b, "}");
	if (length_ms > 0)
		tw_buf_addf(&b, "[%" PRId64 "ms]", length_ms);
	if (tw_buf_failed(&b))
		url->failed = true;
	else
		tw_url_escape(url, b.data);
	tw_buf_clear(&b);
}

struct names {
	const struct tw_metric_choice *choice;
	struct tw_strs *list;
};

/* A name may come twice, if an answer was cut short. */
static int take_name(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	const struct names *n = arg;

	if (e->depth == 1)
		return e->type == TW_JSAX_ARRAY || e->type == TW_JSAX_ARRAY_END
			       ? 0
			       : tw_fail(err, TW_PARSE, "data is not a list of names");
	if (e->type != TW_JSAX_TEXT)
		return tw_fail(err, TW_PARSE, "byte %" PRIu64 ": expected a name",
			       e->offset);
	if (!tw_metric_choice_has(n->choice, e->text, e->len))
		return 0;
	if (n->list->count == METRICS_MAX)
		return tw_fail(err, TW_INVALID, "more than %d metrics match",
			       METRICS_MAX);
	return tw_strs_add(n->list, e->text, e->len, err);
}

static void restart_names(void *arg)
{
	tw_strs_clear(((struct names *)arg)->list);
}

/* Sort and remove duplicates. */
static void sort_names(struct tw_strs *names)
{
	size_t kept = 0;

	tw_strs_sort(names);
	for (size_t i = 0; i < names->count; i++) {
		if (kept > 0 && strcmp(names->at[kept - 1], names->at[i]) == 0)
			free(names->at[i]);
		else
			names->at[kept++] = names->at[i];
	}
	names->count = kept;
}

int tw_prom_client_names(struct tw_prom_client *c, const struct tw_strs *match,
			 const struct tw_prom_range *range,
			 const struct tw_metric_choice *choice, struct tw_strs *out,
			 struct tw_err *err)
{
	struct names names = { choice, out };
	struct tw_buf url = { 0 };
	int rc = -1;

	tw_strs_clear(out);
	tw_buf_addf(&url, "%s/label/__name__/values?match%%5B%%5D=", c->base);
	add_selector(&url, "!=", "", match, 0);
	add_time(&url, "start", range->start_ms);
	add_time(&url, "end", range->end_ms);
	if (ask(c, &url, false, take_name, &names, restart_names, err) == 0) {
		sort_names(out);
		rc = 0;
	}
	tw_buf_clear(&url);
	return rc;
}

static int take_series(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	return tw_series_reader_event(arg, e, err);
}

/* Keep the samples of an answer that was cut short; the next one repeats them. */
static void restart_series(void *arg)
{
	struct tw_series_reader *r = arg, fresh = { .spool = r->spool,
						    .metric = r->metric,
						    .taken = r->taken,
						    .after_ms = r->after_ms,
						    .again = true };

	tw_series_reader_release(r);
	*r = fresh;
}

/* Without a step: an instant query of a range selector, which has the samples as they
 * were scraped. */
static void make_range_url(const struct tw_prom_client *c, const char *metric,
			   const struct tw_strs *match, const struct tw_prom_range *range,
			   struct tw_buf *url)
{
	if (range->step_ms == 0) {
		tw_buf_addf(url, "%s/query?query=", c->base);
		add_selector(url, "=", metric, match, range->end_ms - range->start_ms);
		add_time(url, "time", range->end_ms);
		return;
	}
	tw_buf_addf(url, "%s/query_range?query=", c->base);
	add_selector(url, "=", metric, match, 0);
	add_time(url, "start", range->start_ms);
	add_time(url, "end", range->end_ms);
	add_time(url, "step", range->step_ms);
}

/* Servers round times. */
#define ROUNDED_MS 1000

int tw_prom_client_range(struct tw_prom_client *c, const char *metric,
			 const struct tw_strs *match, const struct tw_prom_range *range,
			 struct tw_spool *spool, struct tw_prom_count *count,
			 struct tw_err *err)
{
	struct tw_series_reader reader = {
		.spool = spool,
		.metric = metric,
		.again = range->start_ms <= c->failed_to_ms,
		.after_ms = range->step_ms == 0 ? range->start_ms : 0,
		.to_ms = range->end_ms + range->step_ms + ROUNDED_MS
	};
	struct tw_buf url = { 0 };
	int rc;

	make_range_url(c, metric, match, range, &url);
	rc = ask(c, &url, true, take_series, &reader, restart_series, err);
	if (rc == 0) {
		count->samples += reader.taken;
		count->not_finite += reader.not_finite;
	} else {
		c->failed_to_ms = range->end_ms;
		/* Some servers reject range selectors, or answer with a vector. */
		if (range->step_ms == 0 && c->refused && err->code != TW_UNSUPPORTED &&
		    err->code != TW_DENIED)
			tw_err_wrap(err, "query with a range selector "
					 "(tallywatt query --step needs none)");
	}
	tw_series_reader_release(&reader);
	tw_buf_clear(&url);
	return rc;
}

/* The first number of [seconds, "value"]. */
static int take_time(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	double *now_s = arg;

	if (e->type != TW_JSAX_NUMBER || *now_s > 0)
		return 0;
	if (!(e->number > 0) || e->number > TIME_MAX_S)
		return tw_fail(err, TW_PARSE, "the server's time is not a number");
	*now_s = e->number;
	return 0;
}

static void restart_time(void *arg)
{
	*(double *)arg = 0;
}

int tw_prom_client_time(struct tw_prom_client *c, int64_t *now_ms, struct tw_err *err)
{
	struct tw_buf url = { 0 };
	double now_s = 0;
	int rc = -1;

	tw_buf_addf(&url, "%s/query?query=time()", c->base);
	if (ask(c, &url, true, take_time, &now_s, restart_time, err) < 0)
		goto out;
	if (now_s <= 0) {
		tw_fail(err, TW_PARSE, "the server does not tell its time");
		goto out;
	}
	*now_ms = (int64_t)(now_s * 1e3);
	rc = 0;
out:
	tw_buf_clear(&url);
	return rc;
}
