/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/models_entry.h"
#include "estimator/predict/certificate.h"
#include "estimator/predict/power_model.h"
#include "estimator/predict/predictor.h"
#include "lib/core/buf.h"
#include "lib/core/file.h"
#include "lib/core/hash.h"
#include "lib/http/client/http.h"
#include "lib/http/client/url.h"
#include "lib/json/writer.h"
#include "lib/program/daemon.h"
#include "lib/program/log.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/index/choose.h"
#include "model-db/model_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/*
 * The network thread (estimator/models_entry.h). It asks the model server and the
 * configured URLs. A model that they send is written to the cache on disk. After a start
 * the cached model serves until the server has answered.
 */

/* Time limit of a call. */
#define CALL_MS 4000

#define RETRY_MIN_MS 1000
#define RETRY_MAX_MS 60000
#define RETRY_DOUBLINGS 6
#define RETRY_AFTER_MAX_S UINT64_C(3600)
/* Bytes of a zip; tw_zip_model_limits limits its contents. */
#define ZIP_MAX ((size_t)64 << 20)

/* The model class of a default trainer. */
static const char linear[] = "linear";

/* ---- the cache ---- */

/* A file "<hash of the key>.kept" has the key, a newline and the data. */
#define SUFFIX ".kept"
#define NAME_BYTES (16 + sizeof(SUFFIX))

static void make_name(const char *key, char out[NAME_BYTES])
{
	snprintf(out, NAME_BYTES, "%016" PRIx64 SUFFIX, tw_hash(key, strlen(key)));
}

static int make_path(const char *dir, const char *key, char **out, struct tw_err *err)
{
	char name[NAME_BYTES];

	make_name(key, name);
	return tw_path_join(out, err, dir, name, NULL);
}

static bool is_cache_file(const char *name)
{
	const size_t len = strlen(name);

	return len == NAME_BYTES - 1 && strcmp(name + len - strlen(SUFFIX), SUFFIX) == 0;
}

/* Make room for one more file. Files without access are skipped. */
static void remove_oldest(const char *dir)
{
	char oldest[NAME_BYTES] = "";
	const struct dirent *e;
	DIR *d = opendir(dir);
	struct stat st;
	time_t oldest_s = 0;
	size_t count = 0;

	if (d == NULL)
		return;
	while ((e = readdir(d)) != NULL) {
		if (!is_cache_file(e->d_name) ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		/* A time in the future is a wrong clock's: it must not stay for ever. */
		if (st.st_mtime > time(NULL))
			st.st_mtime = 0;
		if (count++ == 0 || st.st_mtime < oldest_s) {
			memcpy(oldest, e->d_name, NAME_BYTES); /* is_cache_file() */
			oldest_s = st.st_mtime;
		}
	}
	if (count >= TW_MODEL_CACHE_FILES_MAX)
		unlinkat(dirfd(d), oldest, 0);
	closedir(d);
}

int tw_model_cache_write(const char *dir, const char *key, const void *data, size_t len,
			 struct tw_err *err)
{
	struct tw_buf b = { 0 };
	char *path = NULL;
	int rc = -1;

	if (tw_dir_make(dir, err) < 0 || make_path(dir, key, &path, err) < 0)
		goto out;
	tw_buf_adds(&b, key);
	tw_buf_adds(&b, "\n");
	tw_buf_add(&b, data, len);
	if (tw_buf_failed(&b)) {
		tw_fail(err, TW_NOMEM, "'%s'", path);
		goto out;
	}
	remove_oldest(dir);
	if (tw_file_replace(path, b.data, b.len, err) < 0)
		goto out;
	rc = 0;
out:
	tw_buf_clear(&b);
	free(path);
	return rc;
}

int tw_model_cache_read(const char *dir, const char *key, size_t max, char **data,
			size_t *len, int64_t *time_s, struct tw_err *err)
{
	const size_t key_len = strlen(key);
	char *path = NULL, *text = NULL;
	struct stat st;
	size_t n;
	int rc = -1;

	if (make_path(dir, key, &path, err) < 0 ||
	    tw_file_read(path, TW_MODEL_CACHE_KEY_MAX + max, &text, &n, err) < 0)
		goto out;
	if (n <= key_len || memcmp(text, key, key_len) != 0 || text[key_len] != '\n') {
		tw_fail(err, TW_NOTFOUND, "'%s' has another key", path);
		goto out;
	}
	memmove(text, text + key_len + 1, n - key_len); /* with the NUL */

	*time_s = stat(path, &st) == 0 ? (int64_t)st.st_mtime : 0;
	if (*time_s > time(NULL))
		*time_s = time(NULL);
	*len = n - key_len - 1;
	*data = text;
	text = NULL;
	rc = 0;
out:
	free(text);
	free(path);
	return rc;
}

/* ---- models ---- */

struct net {
	struct tw_models *m;
	struct tw_log_limit log;
	uint64_t seed; /* of the random part of pauses */
};

/* A lookup of an entry at an origin. */
struct lookup {
	struct tw_models_entry *e;
	enum tw_origin origin;
	char from[TW_URL_SHOWN]; /* the URL, for logs */
};

static const char *url_of(const struct tw_models *m, const struct lookup *l)
{
	return l->origin == TW_ORIGIN_SERVER
		       ? m->config.server_url
		       : tw_init_urls_find(m->config.init_urls, l->e->wanted.output,
					   l->e->wanted.source);
}

/* The key of a cached model: the whole key of the entry, and the URL. */
static char *make_cache_key(const struct net *n, const struct lookup *l)
{
	const struct tw_wanted *k = &l->e->wanted;
	struct tw_buf b = { .limit = TW_MODEL_CACHE_KEY_MAX };

	tw_buf_addf(&b, "%s %s %s %s", tw_origin_name(l->origin),
		    tw_output_name(k->output), k->source->name, url_of(n->m, l));
	tw_buf_addf(&b, " trainer=%s%s filter=%s", k->trainer != NULL ? k->trainer : "",
		    k->default_trainer ? " or linear" : "",
		    k->filter != NULL ? k->filter : "");
	for (size_t i = 0; i < k->metrics.count; i++)
		if (!k->counters_unproven || !tw_feature_is_counter(k->metrics.at[i]))
			tw_buf_addf(&b, " %s", k->metrics.at[i]);
	for (size_t i = 0; i < b.len; i++)
		if (b.data[i] == '\n')
			b.data[i] = ' ';
	return tw_buf_detach(&b, NULL);
}

static int check_trainer(const struct tw_wanted *k, const struct tw_power_model *p,
			 struct tw_err *err)
{
	const struct tw_model_info *info = tw_power_model_info(p);

	if (k->trainer == NULL || strcmp(k->trainer, info->trainer) == 0 ||
	    (k->default_trainer && strcmp(info->predictor, linear) == 0))
		return 0;
	return tw_fail(err, TW_NOTFOUND, "model '%s' is not of trainer '%.64s'",
		       info->name, k->trainer);
}

/* Reject an unfit model of a server. Warn about one of a URL, which the user chose. */
static int check_fitness(const struct lookup *l, const struct tw_power_model *p,
			 struct tw_err *err)
{
	struct tw_err why = { 0 };

	if (l->e->wanted.trainer != NULL || tw_certify_default(p, &why) == 0)
		return 0;
	if (l->origin == TW_ORIGIN_SERVER || why.code == TW_NOMEM)
		return tw_fail(err, why.code, "%s", why.text);
	tw_log_warn("the model of '%s' is used although it is unfit: %s", l->from,
		    why.text);
	return 0;
}

/* Without memory the zip stays NULL. */
static void keep_zip(struct tw_served *s, const char *data, size_t len)
{
	s->zip = malloc(len);
	if (s->zip == NULL)
		return;
	memcpy(s->zip, data, len);
	s->zip_len = len;
}

/* Load a model from the bytes of a zip, and check that it answers the key. */
static int make_served(const struct net *n, const struct lookup *l, const char *data,
		       size_t len, struct tw_served **out, struct tw_err *err)
{
	struct tw_fileset files = { 0 };
	struct tw_model model = { 0 };
	struct tw_power_model *p = NULL;
	int rc = -1;

	if (tw_zip_read(data, len, &tw_zip_model_limits, &files, err) < 0 ||
	    tw_model_from_files(&files, &model, err) < 0 ||
	    tw_power_model_new(&model, &p, err) < 0 ||
	    tw_models_check(&l->e->wanted, p, err) < 0 ||
	    check_trainer(&l->e->wanted, p, err) < 0 || check_fitness(l, p, err) < 0) {
		tw_err_wrap(err, "answer of '%s'", l->from);
		goto out;
	}
	tw_log_info("model loaded name=%s output=%s source=%s from='%s'",
		    tw_power_model_info(p)->name, tw_output_name(l->e->wanted.output),
		    l->e->wanted.source->name, l->from);
	if (tw_models_serve(n->m, p, l->origin, l->from, 0, out, err) < 0) {
		p = NULL;
		goto out;
	}
	p = NULL;
	if (n->m->config.keep_zips)
		keep_zip(*out, data, len);
	rc = 0;
out:
	tw_power_model_free(p);
	tw_fileset_clear(&files);
	return rc;
}

/* The ETag of the model that serves, or NULL. */
static const char *etag_of(const struct lookup *l)
{
	return l->e->from[l->origin].served != NULL &&
			       l->e->from[l->origin].etag[0] != '\0'
		       ? l->e->from[l->origin].etag
		       : NULL;
}

/* ---- requests ---- */

/* classes: name the model classes that we read. */
static char *make_body(const struct tw_wanted *w, bool classes, size_t *len)
{
	struct tw_buf b = { 0 };
	json_t *spec = tw_machine_spec_to_json(&w->spec);

	tw_json_add_object(&b, NULL);
	tw_json_add_array(&b, "metrics");
	for (size_t i = 0; i < w->metrics.count; i++)
		if (!w->counters_unproven || !tw_feature_is_counter(w->metrics.at[i]))
			tw_json_add_text(&b, NULL, w->metrics.at[i]);
	tw_json_end_array(&b);
	tw_json_add_bool(&b, "weight", false);
	tw_json_add_int(&b, "node_type", -1);
	if (classes) {
		tw_json_add_array(&b, "model_classes");
		if (w->default_trainer)
			tw_json_add_text(&b, NULL, linear);
		for (size_t i = 0; !w->default_trainer && i < tw_predictor_count(); i++)
			tw_json_add_text(&b, NULL, tw_predictor_at(i)->name);
		tw_json_end_array(&b);
	}
	tw_json_add_text(&b, "output_type", tw_output_name(w->output));
	tw_json_add_text(&b, "source", w->source->name);
	tw_json_add_text(&b, "trainer_name", w->trainer != NULL ? w->trainer : "");
	tw_json_add_text(&b, "filter", w->filter != NULL ? w->filter : "");
	if (spec != NULL)
		tw_json_add_value_take(&b, "machine_spec", spec);
	tw_json_end_object(&b);
	return tw_buf_detach(&b, len);
}

/*
 * Append the route to a URL without a path, such as "http://host:8100", and to one that
 * ends with a slash, of a server below a path of a proxy.
 */
static int make_url(const char *url, const char *route, char **out, struct tw_err *err)
{
	const char *scheme = strstr(url, "://");
	const char *path = strchr(scheme != NULL ? scheme + 3 : url, '/');
	struct tw_buf b = { 0 };

	tw_buf_adds(&b, url);
	if (path == NULL)
		tw_buf_addf(&b, "/%s", route + (*route == '/'));
	else if (path[strlen(path) - 1] == '/')
		tw_buf_adds(&b, route + (*route == '/'));
	*out = tw_buf_detach(&b, NULL);
	return *out != NULL ? 0 : tw_fail(err, TW_NOMEM, "URL");
}

/*
 * Send POST /model with "weight":false (docs/wire.md). Any HTTP status is a success.
 * kepler-model-server answers 500 to a key that it does not know, such as model_classes.
 */
static int ask_server(const struct tw_models *m, const struct tw_wanted *wanted,
		      const char *etag, struct tw_http_answer *out, struct tw_err *err)
{
	struct tw_http_call call = { .timeout_ms = CALL_MS };
	char *url = NULL, *body = NULL;
	int rc = -1;

	*out = (struct tw_http_answer){ 0 };
	if (make_url(m->config.server_url, m->config.server_path, &url, err) < 0)
		return -1;
	call.url = url;
	call.etag = etag;
	for (int attempt = 0; attempt == 0 || (attempt == 1 && out->status == 500);
	     attempt++) {
		tw_http_answer_release(out);
		free(body);
		body = make_body(wanted, attempt == 0, &call.body_len);
		call.body = body;
		if (body == NULL) {
			tw_fail(err, TW_NOMEM, "request to the model server");
			goto out;
		}
		if (m->config.http.call(m->config.http.arg, &call, out, err) < 0)
			goto out;
	}
	rc = 0;
out:
	free(body);
	free(url);
	return rc;
}

static int ask(const struct net *n, const struct lookup *l, struct tw_http_answer *out,
	       struct tw_err *err)
{
	const struct tw_models *m = n->m;
	const char *etag = etag_of(l);
	const struct tw_http_call get = { .url = url_of(m, l),
					  .etag = etag,
					  .timeout_ms = CALL_MS,
					  .answer_max = ZIP_MAX };

	if ((l->origin == TW_ORIGIN_SERVER
		     ? ask_server(m, &l->e->wanted, etag, out, err)
		     : m->config.http.call(m->config.http.arg, &get, out, err)) < 0)
		return -1;
	if (out->status == 200 || (out->status == 304 && etag != NULL))
		return 0;
	return tw_fail(err, out->status == 404 ? TW_NOTFOUND : TW_IO,
		       "'%s' answers %u: %.150s", l->from, out->status,
		       out->len > 0 ? out->body : "");
}

/* Write a model to the cache. The model serves even if that fails. */
static void write_cache(struct net *n, const struct lookup *l, const char *data,
			size_t len)
{
	struct tw_err err = { 0 };
	char *key;

	if (n->m->config.keep_dir == NULL)
		return;
	key = make_cache_key(n, l);
	if (key == NULL)
		tw_fail(&err, TW_NOMEM, "key of a cached model");
	if (key == NULL ||
	    tw_model_cache_write(n->m->config.keep_dir, key, data, len, &err) < 0) {
		tw_log_warn_limited(&n->log, "cannot write a model to the cache: %s",
				    err.text);
		pthread_mutex_lock(&n->m->lock);
		n->m->keep_failures++;
		pthread_mutex_unlock(&n->m->lock);
	}
	free(key);
}

/* Serve the cached model of an earlier run, and plan a lookup at once. */
static bool serve_cached(struct net *n, const struct lookup *l)
{
	struct tw_served *served = NULL;
	struct tw_err err = { 0 };
	char *key, *data = NULL;
	int64_t time_s;
	size_t len;
	bool found = false;

	if (n->m->config.keep_dir == NULL || l->e->from[l->origin].tried)
		return false;
	key = make_cache_key(n, l);
	if (key != NULL &&
	    tw_model_cache_read(n->m->config.keep_dir, key, ZIP_MAX, &data, &len, &time_s,
				&err) == 0 &&
	    make_served(n, l, data, len, &served, &err) == 0) {
		atomic_store(&served->confirmed_s, time_s);
		l->e->from[l->origin].hash = tw_hash(data, len);
		tw_models_put(n->m, l->e, l->origin, served, &err, 0);
		found = true;
	} else if (err.code != TW_OK && err.code != TW_NOTFOUND) {
		tw_log_warn_limited(&n->log, "cannot read a cached model: %s", err.text);
	}
	free(data);
	free(key);
	return found;
}

/* Vary a pause by 10 %, so that many machines do not ask at the same time. */
static uint64_t spread(struct net *n, uint64_t ms)
{
	n->seed = n->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return ms - ms / 10 + (n->seed >> 33) % (ms / 5 + 1);
}

/* Respect Retry-After up to RETRY_AFTER_MAX_S; otherwise double the pause. */
static uint64_t pause_ms(struct net *n, unsigned failures, uint64_t retry_after_s)
{
	if (retry_after_s > 0)
		return spread(n, retry_after_s < RETRY_AFTER_MAX_S
					 ? retry_after_s * 1000
					 : RETRY_AFTER_MAX_S * 1000);
	return spread(n, failures < RETRY_DOUBLINGS ? (uint64_t)RETRY_MIN_MS << failures
						    : RETRY_MAX_MS);
}

/* Warn about the first failure in a row only. */
static void log_failure(struct net *n, const struct lookup *l, const struct tw_err *err)
{
	const char *output = tw_output_name(l->e->wanted.output);
	const char *source = l->e->wanted.source->name;

	if (l->e->from[l->origin].failures > 0)
		tw_log_debug("no model from the %s output=%s source=%s: %s",
			     tw_origin_name(l->origin), output, source, err->text);
	else
		tw_log_warn_limited(&n->log,
				    "no model from the %s output=%s source=%s, trying "
				    "again%s: %s",
				    tw_origin_name(l->origin), output, source,
				    l->e->from[l->origin].served != NULL
					    ? ", continuing with the loaded model"
					    : "",
				    err->text);
}

static void serve_fetched(struct net *n, const struct lookup *l)
{
	const uint64_t again_ms = n->m->config.refresh_ms != 0
					  ? spread(n, n->m->config.refresh_ms)
					  : UINT64_MAX;
	struct tw_http_answer answer = { 0 };
	struct tw_served *served = NULL;
	struct tw_err err = { 0 };
	uint64_t hash;

	if (ask(n, l, &answer, &err) < 0)
		goto failed;
	hash = tw_hash(answer.body, answer.len);
	if (answer.status == 304 || (l->e->from[l->origin].served != NULL &&
				     l->e->from[l->origin].hash == hash)) {
		tw_models_confirm(n->m, l->e, l->origin, again_ms);
		goto out;
	}
	if (make_served(n, l, answer.body, answer.len, &served, &err) < 0)
		goto failed;
	write_cache(n, l, answer.body, answer.len);
	l->e->from[l->origin].hash = hash;
	memcpy(l->e->from[l->origin].etag, answer.etag, sizeof(answer.etag));
	tw_models_put(n->m, l->e, l->origin, served, &err, again_ms);
	goto out;
failed:
	log_failure(n, l, &err);
	tw_models_put(n->m, l->e, l->origin, NULL, &err,
		      pause_ms(n, l->e->from[l->origin].failures, answer.retry_after_s));
out:
	tw_http_answer_release(&answer);
}

static void serve(struct net *n, struct tw_models_entry *e, enum tw_origin o)
{
	struct lookup l = { .e = e, .origin = o };

	tw_url_show(url_of(n->m, &l), l.from);
	if (!serve_cached(n, &l))
		serve_fetched(n, &l);
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

void *tw_models_run_net(void *arg)
{
	struct tw_models *m = arg;
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
