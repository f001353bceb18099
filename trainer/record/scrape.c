/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/record/scrape.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "trainer/record/exposition.h"
#include "trainer/record/metric_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The formats that Prometheus accepts. */
#define ACCEPT                                              \
	"application/openmetrics-text;version=1.0.0;q=0.8," \
	"text/plain;version=0.0.4;q=0.5,*/*;q=0.1"

/* Add the default scheme and path. */
static char *complete_url(const char *url)
{
	const char *scheme = strstr(url, "://");
	const char *host = scheme != NULL ? scheme + 3 : url;
	const char *path = host + strcspn(host, "/?");
	struct tw_buf b = { 0 };

	tw_buf_adds(&b, scheme == NULL ? "http://" : "");
	tw_buf_adds(&b, url);
	if (*path == '\0')
		tw_buf_adds(&b, "/metrics");
	else if (strcmp(path, "/") == 0)
		tw_buf_adds(&b, "metrics");
	return tw_buf_detach(&b, NULL);
}

/* Host and port of the URL, without user and password. */
static char *host_of(const char *url)
{
	const char *scheme = strstr(url, "://");
	const char *host = scheme != NULL ? scheme + 3 : url;
	size_t len = strcspn(host, "/?#");
	const char *at = memrchr(host, '@', len);

	if (at != NULL) {
		len -= (size_t)(at + 1 - host);
		host = at + 1;
	}
	return strndup(host, len);
}

int tw_target_parse(const char *text, struct tw_target *out, struct tw_err *err)
{
	const char *url = text;
	size_t name = strcspn(text, "=/");
	struct tw_target t = { 0 };
	int rc = -1;

	if (text[name] == '=')
		url = text + name + 1;
	if (strpbrk(url, " \t\r\n") != NULL || url[0] == '\0' ||
	    (url != text && name == 0)) {
		tw_fail(err, TW_INVALID, "'%.128s' is not [NAME=]URL", text);
		goto out;
	}
	t.name = url != text ? strndup(text, name) : host_of(url);
	t.url = complete_url(url);
	if (t.name == NULL || t.url == NULL) {
		tw_fail(err, TW_NOMEM, "target '%.128s'", text);
		goto out;
	}

	*out = t;
	t = (struct tw_target){ 0 };
	rc = 0;
out:
	tw_target_release(&t);
	return rc;
}

void tw_target_release(struct tw_target *t)
{
	free(t->name);
	free(t->url);
	*t = (struct tw_target){ 0 };
}

/* Context of take_sample(). */
struct taking {
	const struct tw_scrape *scrape;
	int64_t time_ms;
	struct tw_spool *spool;
	struct tw_scrape_count count;
};

/* Change the labels as Prometheus does: drop empty ones, rename `instance` to
 * `exported_instance`, and set `instance` to the target's name. */
static void set_labels(const struct tw_target *target, struct tw_exposition_sample *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->labels; i++) {
		if (s->label[i].value[0] == '\0')
			continue;
		s->label[kept] = s->label[i];
		if (strcmp(s->label[kept].name, "instance") == 0)
			s->label[kept].name = "exported_instance";
		kept++;
	}
	s->label[kept++] = (struct tw_spool_label){ "__name__", s->name };
	s->label[kept++] = (struct tw_spool_label){ "instance", target->name };
	s->labels = kept;
}

static int take_sample(void *arg, struct tw_exposition_sample *s, struct tw_err *err)
{
	struct taking *t = arg;
	int64_t last_ms;
	size_t series;

	if (!tw_metric_choice_has(t->scrape->choice, s->name, strlen(s->name)))
		return 0;
	if (!isfinite(s->value)) {
		t->count.not_finite++;
		return 0;
	}
	set_labels(t->scrape->target, s);
	if (tw_spool_series(t->spool, s->name, s->label, s->labels, &series, err) < 0)
		return tw_err_wrap(err, "%.64s", s->name);
	if (tw_spool_last(t->spool, series, &last_ms) && last_ms == t->time_ms) {
		t->count.repeated++;
		return 0;
	}
	t->count.samples++;
	return tw_spool_add(t->spool, series, t->time_ms, s->value, err);
}

static int take_answer(const struct tw_http_answer *a, struct taking *t,
		       pthread_mutex_t *lock, struct tw_err *err)
{
	bool openmetrics = strcmp(a->content_type, "application/openmetrics-text") == 0;
	int rc = -1;

	if (a->status != 200)
		return tw_fail(err, TW_IO, "the exporter answers %u", a->status);
	if (tw_exposition_parse(a->body, a->len, openmetrics, NULL, NULL, err) < 0)
		return -1;
	pthread_mutex_lock(lock);
	if (tw_exposition_parse(a->body, a->len, openmetrics, take_sample, t, err) == 0)
		rc = 0;
	pthread_mutex_unlock(lock);
	return rc;
}

int tw_scrape_run(const struct tw_scrape *s, int64_t time_ms, struct tw_spool *spool,
		  pthread_mutex_t *lock, struct tw_scrape_count *out, struct tw_err *err)
{
	const struct tw_http_call call = { .url = s->target->url,
					   .accept = ACCEPT,
					   .timeout_ms = s->timeout_ms,
					   .answer_max = s->answer_max,
					   .access = s->access,
					   .session = s->session,
					   .stopped = s->stopped,
					   .stopped_arg = s->stopped_arg };
	struct taking t = { .scrape = s, .time_ms = time_ms, .spool = spool };
	struct tw_http_answer answer = { 0 };
	int rc = -1;

	if (tw_http_call(&call, &answer, err) < 0 ||
	    take_answer(&answer, &t, lock, err) < 0)
		goto out;
	*out = t.count;
	rc = 0;
out:
	tw_http_answer_release(&answer);
	return rc;
}
