/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/models_net.h"

#include "estimator/init_urls.h"
#include "estimator/kept.h"
#include "estimator/models_entry.h"
#include "estimator/predict/certificate.h"
#include "estimator/predict/power_model.h"
#include "lib/core/buf.h"
#include "lib/core/hash.h"
#include "lib/http/http.h"
#include "lib/program/daemon.h"
#include "lib/program/log.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * The thread that asks the model server and the configured URLs. What they send is kept
 * on disk once it has proved to be a model; after a start that is served first, until
 * they have been asked.
 */

#define RETRY_MIN_MS 1000
#define RETRY_MAX_MS 60000
#define RETRY_DOUBLINGS 6
#define RETRY_AFTER_MAX_S UINT64_C(3600)
/* A model in a zip; the zip's own limits are about what is in it. */
#define ZIP_MAX ((size_t)64 << 20)

struct net {
	struct tw_models *m;
	struct tw_log_limit log;
	uint64_t seed; /* of the pauses */
};

/* What is asked of whom. */
struct wish {
	struct tw_models_entry *e;
	enum tw_origin origin;
	char *from; /* without a password, for the log */
};

static const char *url_of(const struct tw_models *m, const struct wish *w)
{
	return w->origin == TW_ORIGIN_SERVER
		       ? m->server_url
		       : tw_init_urls_find(m->init_urls, w->e->key.output,
					   w->e->key.source);
}

/* "http://user:secret@host/x" is "http://host/x". */
static char *without_secret(const char *url)
{
	const char *host = strstr(url, "://");
	const char *at;
	struct tw_buf b = { 0 };

	host = host != NULL ? host + 3 : url;
	at = memchr(host, '@', strcspn(host, "/?#"));
	tw_buf_add(&b, url, (size_t)(host - url));
	tw_buf_adds(&b, at != NULL ? at + 1 : host);
	return tw_buf_detach(&b, NULL);
}

/* What a kept copy is found by: all that was asked for, and where. */
static char *make_kept_key(const struct net *n, const struct wish *w)
{
	const struct tw_models_key *k = &w->e->key;
	struct tw_buf b = { .limit = TW_KEPT_KEY_MAX };

	tw_buf_addf(&b, "%s %s %s %s", tw_origin_name(w->origin),
		    tw_output_name(k->output), k->source->name, url_of(n->m, w));
	tw_buf_addf(&b, " trainer=%s filter=%s", k->trainer != NULL ? k->trainer : "",
		    k->filter != NULL ? k->filter : "");
	for (size_t i = 0; i < k->metrics.count; i++)
		if (!k->counters_unproven || !tw_feature_is_counter(k->metrics.at[i]))
			tw_buf_addf(&b, " %s", k->metrics.at[i]);
	for (size_t i = 0; i < b.len; i++)
		if (b.data[i] == '\n')
			b.data[i] = ' ';
	return tw_buf_detach(&b, NULL);
}

static int check_trainer(const struct tw_models_key *k, const struct tw_power_model *p,
			 struct tw_err *err)
{
	const struct tw_model_info *info = tw_power_model_info(p);

	if (k->trainer == NULL || strcmp(k->trainer, info->trainer) == 0)
		return 0;
	return tw_fail(err, TW_NOTFOUND, "model '%s' is not of trainer '%.64s'",
		       info->name, k->trainer);
}

/* A URL is the user's own choice of a model: a warning is enough. */
static int check_fitness(const struct wish *w, const struct tw_power_model *p,
			 struct tw_err *err)
{
	struct tw_err why = { 0 };

	if (w->e->key.trainer != NULL || tw_certify_default(p, &why) == 0)
		return 0;
	if (w->origin == TW_ORIGIN_SERVER || why.code == TW_NOMEM)
		return tw_fail(err, why.code, "%s", why.text);
	tw_log_warn("model of '%s' is used although it is unfit: %s", w->from, why.text);
	return 0;
}

/* Without memory it is as if it had not been kept: whoever wants it sees NULL. */
static void keep_zip(struct tw_served *s, const char *data, size_t len)
{
	s->zip = malloc(len);
	if (s->zip == NULL)
		return;
	memcpy(s->zip, data, len);
	s->zip_len = len;
}

/* A model that answers the wish, from a zip's bytes. */
static int make_served(const struct net *n, const struct wish *w, const char *data,
		       size_t len, struct tw_served **out, struct tw_err *err)
{
	struct tw_fileset files = { 0 };
	struct tw_model model = { 0 };
	struct tw_power_model *p = NULL;
	int rc = -1;

	if (tw_zip_read(data, len, &tw_zip_model_limits, &files, err) < 0 ||
	    tw_model_from_files(&files, &model, err) < 0 ||
	    tw_power_model_new(&model, &p, err) < 0 ||
	    tw_models_check(&w->e->key, p, err) < 0 ||
	    check_trainer(&w->e->key, p, err) < 0 || check_fitness(w, p, err) < 0) {
		tw_err_wrap(err, "answer of '%s'", w->from);
		goto out;
	}
	tw_log_info("model loaded name=%s output=%s source=%s from='%s'",
		    tw_power_model_info(p)->name, tw_output_name(w->e->key.output),
		    w->e->key.source->name, w->from);
	if (tw_models_serve(n->m, p, w->origin, w->from, 0, out, err) < 0) {
		p = NULL;
		goto out;
	}
	p = NULL;
	if (n->m->keep_zips)
		keep_zip(*out, data, len);
	rc = 0;
out:
	tw_power_model_free(p);
	tw_fileset_clear(&files);
	return rc;
}

/* Of the model that is served, or NULL. */
static const char *etag_of(const struct wish *w)
{
	return w->e->from[w->origin].served != NULL &&
			       w->e->from[w->origin].etag[0] != '\0'
		       ? w->e->from[w->origin].etag
		       : NULL;
}

static int ask(const struct net *n, const struct wish *w, struct tw_http_answer *out,
	       struct tw_err *err)
{
	const struct tw_models *m = n->m;
	const char *etag = etag_of(w);
	const struct tw_http_call get = { .url = url_of(m, w),
					  .etag = etag,
					  .timeout_ms = TW_MODELS_CALL_MS,
					  .answer_max = ZIP_MAX };

	if ((w->origin == TW_ORIGIN_SERVER
		     ? tw_models_ask_server(m, &w->e->key, etag, out, err)
		     : m->http.call(m->http.arg, &get, out, err)) < 0)
		return -1;
	if (out->status == 200 || (out->status == 304 && etag != NULL))
		return 0;
	return tw_fail(err, out->status == 404 ? TW_NOTFOUND : TW_IO,
		       "'%s' answers %u: %.150s", w->from, out->status,
		       out->len > 0 ? out->body : "");
}

/* What cannot be kept is served all the same. */
static void keep(struct net *n, const struct wish *w, const char *data, size_t len)
{
	struct tw_err err = { 0 };
	char *key;

	if (n->m->keep_dir == NULL)
		return;
	key = make_kept_key(n, w);
	if (key == NULL)
		tw_fail(&err, TW_NOMEM, "key of a copy");
	if (key == NULL || tw_kept_write(n->m->keep_dir, key, data, len, &err) < 0) {
		tw_log_warn_limited(&n->log, "no copy of the model is kept, going on: %s",
				    err.text);
		pthread_mutex_lock(&n->m->lock);
		n->m->counts.keep_failures++;
		pthread_mutex_unlock(&n->m->lock);
	}
	free(key);
}

/* The copy that an earlier run kept; it is asked for at once all the same. */
static bool serve_kept(struct net *n, const struct wish *w)
{
	struct tw_served *served = NULL;
	struct tw_err err = { 0 };
	char *key, *data = NULL;
	int64_t time_s;
	size_t len;
	bool found = false;

	if (n->m->keep_dir == NULL || w->e->from[w->origin].tried)
		return false;
	key = make_kept_key(n, w);
	if (key != NULL &&
	    tw_kept_read(n->m->keep_dir, key, ZIP_MAX, &data, &len, &time_s, &err) == 0 &&
	    make_served(n, w, data, len, &served, &err) == 0) {
		atomic_store(&served->confirmed_s, time_s);
		w->e->from[w->origin].sum = tw_hash(data, len);
		tw_models_put(n->m, w->e, w->origin, served, &err, 0);
		found = true;
	} else if (err.code != TW_OK && err.code != TW_NOTFOUND) {
		tw_log_warn_limited(&n->log, "kept copy: %s", err.text);
	}
	free(data);
	free(key);
	return found;
}

/* A tenth more or less, so that many machines do not ask all at once. */
static uint64_t spread(struct net *n, uint64_t ms)
{
	n->seed = n->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return ms - ms / 10 + (n->seed >> 33) % (ms / 5 + 1);
}

/* A server that says when it wants to be asked again is heard, within reason. */
static uint64_t pause_ms(struct net *n, unsigned failures, uint64_t retry_after_s)
{
	if (retry_after_s > 0)
		return spread(n, retry_after_s < RETRY_AFTER_MAX_S
					 ? retry_after_s * 1000
					 : RETRY_AFTER_MAX_S * 1000);
	return spread(n, failures < RETRY_DOUBLINGS ? (uint64_t)RETRY_MIN_MS << failures
						    : RETRY_MAX_MS);
}

/* What fails is said at the first attempt, not at each. */
static void tell_failure(struct net *n, const struct wish *w, const struct tw_err *err)
{
	const char *output = tw_output_name(w->e->key.output);
	const char *source = w->e->key.source->name;

	if (w->e->from[w->origin].failures > 0)
		tw_log_debug("no model from the %s output=%s source=%s: %s",
			     tw_origin_name(w->origin), output, source, err->text);
	else
		tw_log_warn_limited(&n->log,
				    "no model from the %s output=%s source=%s, trying "
				    "again%s: %s",
				    tw_origin_name(w->origin), output, source,
				    w->e->from[w->origin].served != NULL
					    ? ", continuing with the one there is"
					    : "",
				    err->text);
}

static void serve_asked(struct net *n, const struct wish *w)
{
	const uint64_t again_ms =
		n->m->refresh_ms != 0 ? spread(n, n->m->refresh_ms) : UINT64_MAX;
	struct tw_http_answer answer = { 0 };
	struct tw_served *served = NULL;
	struct tw_err err = { 0 };
	uint64_t sum;

	if (ask(n, w, &answer, &err) < 0)
		goto failed;
	sum = tw_hash(answer.body, answer.len);
	if (answer.status == 304 ||
	    (w->e->from[w->origin].served != NULL && w->e->from[w->origin].sum == sum)) {
		tw_models_confirm(n->m, w->e, w->origin, again_ms);
		goto out;
	}
	if (make_served(n, w, answer.body, answer.len, &served, &err) < 0)
		goto failed;
	keep(n, w, answer.body, answer.len);
	w->e->from[w->origin].sum = sum;
	memcpy(w->e->from[w->origin].etag, answer.etag, sizeof(answer.etag));
	tw_models_put(n->m, w->e, w->origin, served, &err, again_ms);
	goto out;
failed:
	tell_failure(n, w, &err);
	tw_models_put(n->m, w->e, w->origin, NULL, &err,
		      pause_ms(n, w->e->from[w->origin].failures, answer.retry_after_s));
out:
	tw_http_answer_release(&answer);
}

static void serve(struct net *n, struct tw_models_entry *e, enum tw_origin o)
{
	struct wish w = { .e = e, .origin = o };

	w.from = without_secret(url_of(n->m, &w));
	if (w.from == NULL) {
		const struct tw_err err = { .code = TW_NOMEM, .text = "out of memory" };

		tw_models_put(n->m, e, o, NULL, &err, pause_ms(n, 0, 0));
	} else if (!serve_kept(n, &w)) {
		serve_asked(n, &w);
	}
	free(w.from);
	tw_daemon_trim();
}

static void wait_until(struct tw_models *m, uint64_t ms)
{
	const struct timespec t = { .tv_sec = (time_t)(ms / 1000),
				    .tv_nsec = (long)(ms % 1000 * 1000000) };

	if (ms == UINT64_MAX)
		pthread_cond_wait(&m->net_work, &m->lock);
	else
		pthread_cond_timedwait(&m->net_work, &m->lock, &t);
}

void *tw_models_run_net(void *models)
{
	struct tw_models *m = models;
	struct net n = { .m = m, .seed = (uint64_t)time(NULL) };

	pthread_mutex_lock(&m->lock);
	while (!m->stop) {
		uint64_t server_ms, url_ms = UINT64_MAX;
		enum tw_origin o = TW_ORIGIN_SERVER;
		struct tw_models_entry *e = tw_models_due(m, o, &server_ms);

		if (e == NULL) {
			o = TW_ORIGIN_URL;
			e = tw_models_due(m, o, &url_ms);
		}
		if (e == NULL) {
			wait_until(m, server_ms < url_ms ? server_ms : url_ms);
			continue;
		}
		pthread_mutex_unlock(&m->lock);
		serve(&n, e, o);
		pthread_mutex_lock(&m->lock);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}
