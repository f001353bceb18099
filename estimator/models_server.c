/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/models_entry.h"
#include "estimator/power_model.h"
#include "lib/buf.h"
#include "lib/daemon.h"
#include "lib/fileset.h"
#include "lib/http.h"
#include "lib/json.h"
#include "lib/log.h"
#include "lib/zip.h"
#include "model-db/choose.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The model server's thread: POST /model, weight false (docs/wire.md). */

#define CALL_MS 4000
#define RETRY_MIN_MS 1000
#define RETRY_MAX_MS 60000

static void add_text(struct tw_buf *b, const char *key, const char *text)
{
	tw_buf_addf(b, ",\"%s\":", key);
	tw_buf_add_json_text(b, text, strlen(text));
}

static char *make_body(const struct tw_wanted *w, size_t *len)
{
	struct tw_buf b = { 0 };
	json_t *spec = tw_machine_spec_to_json(&w->spec);

	tw_buf_adds(&b, "{\"metrics\":[");
	for (size_t i = 0; i < w->metrics.count; i++) {
		tw_buf_adds(&b, i > 0 ? "," : "");
		tw_buf_add_json_text(&b, w->metrics.at[i], strlen(w->metrics.at[i]));
	}
	tw_buf_adds(&b, "],\"weight\":false,\"node_type\":-1");
	add_text(&b, "output_type", tw_output_name(w->output));
	add_text(&b, "source", w->source->name);
	add_text(&b, "trainer_name", w->trainer != NULL ? w->trainer : "");
	add_text(&b, "filter", w->filter != NULL ? w->filter : "");
	if (spec != NULL) {
		tw_buf_adds(&b, ",\"machine_spec\":");
		tw_buf_add_json(&b, spec);
	}
	tw_buf_adds(&b, "}");
	json_decref(spec);
	return tw_buf_detach(&b, len);
}

/* "http://host:8100" is the server, anything with a path the very place to ask. */
static int make_url(const char *url, char **out, struct tw_err *err)
{
	const char *scheme = strstr(url, "://");
	const char *path = strchr(scheme != NULL ? scheme + 3 : url, '/');
	struct tw_buf b = { 0 };

	tw_buf_adds(&b, url);
	if (path == NULL)
		tw_buf_adds(&b, "/model");
	else if (path[1] == '\0')
		tw_buf_adds(&b, "model");
	*out = tw_buf_detach(&b, NULL);
	return *out != NULL ? 0 : tw_fail(err, TW_NOMEM, "URL");
}

static int ask(const struct tw_models *m, const struct tw_wanted *w,
	       struct tw_http_answer *out, struct tw_err *err)
{
	struct tw_http_call call = { .timeout_ms = CALL_MS };
	char *url = NULL, *body = NULL;
	int rc = -1;

	if (make_url(m->server_url, &url, err) < 0)
		goto out;
	body = make_body(w, &call.body_len);
	if (body == NULL) {
		tw_fail(err, TW_NOMEM, "request to the model server");
		goto out;
	}
	call.url = url;
	call.body = body;
	if (m->http.call(m->http.arg, &call, out, err) < 0)
		goto out;
	if (out->status != 200) {
		tw_fail(err, out->status == 404 ? TW_NOTFOUND : TW_IO,
			"'%s' answers %u: %.150s", url, out->status,
			out->len > 0 ? out->body : "");
		goto out;
	}
	rc = 0;
out:
	free(body);
	free(url);
	return rc;
}

static int fetch(const struct tw_models *m, const struct tw_models_key *k,
		 struct tw_power_model **out, struct tw_err *err)
{
	struct tw_wanted wanted = { 0 };
	struct tw_http_answer answer = { 0 };
	struct tw_fileset files = { 0 };
	struct tw_model model = { 0 };
	struct tw_power_model *p = NULL;
	int rc = -1;

	if (tw_models_wanted(m, k, &wanted, err) < 0 || ask(m, &wanted, &answer, err) < 0)
		goto out;
	if (tw_zip_read(answer.body, answer.len, &tw_zip_model_limits, &files, err) < 0 ||
	    tw_model_from_files(&files, &model, err) < 0 ||
	    tw_power_model_new(&model, &p, err) < 0 || tw_models_check(k, p, err) < 0) {
		tw_err_wrap(err, "answer of '%s'", m->server_url);
		goto out;
	}
	tw_log_info("model loaded name=%s output=%s source=%s from='%s'",
		    tw_power_model_info(p)->name, tw_output_name(k->output),
		    k->source->name, m->server_url);
	*out = p;
	p = NULL;
	rc = 0;
out:
	tw_power_model_free(p);
	tw_fileset_clear(&files);
	tw_http_answer_release(&answer);
	tw_wanted_release(&wanted);
	return rc;
}

static uint64_t pause_ms(unsigned failures)
{
	return failures < 6 ? (uint64_t)RETRY_MIN_MS << failures : RETRY_MAX_MS;
}

/* What fails is said at the first attempt, not at each. */
static void serve(struct tw_models *m, struct tw_models_entry *e, unsigned failures,
		  struct tw_log_limit *log)
{
	struct tw_power_model *model = NULL;
	struct tw_served *served = NULL;
	struct tw_err err = { 0 };
	uint64_t retry_ms = UINT64_MAX;

	if (fetch(m, &e->key, &model, &err) < 0 ||
	    tw_models_serve(m, model, NULL, 0, &served, &err) < 0) {
		retry_ms = pause_ms(failures);
		if (failures == 0)
			tw_log_warn_limited(
				log,
				"no model from the server output=%s source=%s, "
				"trying again: %s",
				tw_output_name(e->key.output), e->key.source->name,
				err.text);
		else
			tw_log_debug("no model from the server output=%s source=%s: %s",
				     tw_output_name(e->key.output), e->key.source->name,
				     err.text);
	}
	tw_models_put(m, e, TW_ORIGIN_SERVER, served, &err, retry_ms);
	tw_daemon_trim();
}

static void wait_until(struct tw_models *m, uint64_t ms)
{
	const struct timespec t = { .tv_sec = (time_t)(ms / 1000),
				    .tv_nsec = (long)(ms % 1000 * 1000000) };

	if (ms == UINT64_MAX)
		pthread_cond_wait(&m->server_work, &m->lock);
	else
		pthread_cond_timedwait(&m->server_work, &m->lock, &t);
}

void *tw_models_run_server(void *models)
{
	struct tw_models *m = models;
	struct tw_log_limit log = { 0 };

	pthread_mutex_lock(&m->lock);
	while (!m->stop) {
		uint64_t next_ms;
		struct tw_models_entry *e = tw_models_due(m, TW_ORIGIN_SERVER, &next_ms);
		unsigned failures;

		if (e == NULL) {
			wait_until(m, next_ms);
			continue;
		}
		failures = e->from[TW_ORIGIN_SERVER].failures;
		pthread_mutex_unlock(&m->lock);
		serve(m, e, failures, &log);
		pthread_mutex_lock(&m->lock);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}
