/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/web/web.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/http/web/web_config.h"
#include "lib/http/web/web_tls.h"
#include "lib/http/web/web_users.h"
#include "lib/program/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CHECK_MS 1000
#define PEM_BYTES_MAX ((size_t)1 << 20)
#define CHAIN_MAX 16
#define FILES 3

/* State of a file when it was read; size -1: it could not be found. */
struct stamp {
	struct timespec mtime;
	off_t size;
	ino_t ino;
};

/* A certificate with its key. Old ones stay, because handshakes may still use them. */
struct identity {
	struct identity *before;
	gnutls_pcert_st chain[CHAIN_MAX];
	unsigned count;
	gnutls_privkey_t key;
};

struct tw_web {
	char *path;
	tw_web_changed_fn *changed;
	void *arg;
	bool tls;
	char *client_ca;
	char *priorities;
	struct tw_web_guesses *guesses;

	atomic_ullong checked_ms; /* time of the last check for changes */
	pthread_mutex_t lock;     /* guards the members below */
	struct tw_web_config config;
	struct stamp stamp[FILES];
	struct identity *identity;
	struct tw_web_users *users;
};

/* ---- files ---- */

static struct stamp stamp_of(const char *path)
{
	struct stamp s = { .size = -1 };
	struct stat st;

	if (path != NULL && stat(path, &st) == 0)
		s = (struct stamp){ .mtime = st.st_mtim,
				    .size = st.st_size,
				    .ino = st.st_ino };
	return s;
}

static void stamp_all(const struct tw_web *w, const struct tw_web_config *c,
		      struct stamp out[FILES])
{
	out[0] = stamp_of(w->path);
	out[1] = stamp_of(c->cert_file);
	out[2] = stamp_of(c->key_file);
}

static bool same_stamp(const struct stamp *a, const struct stamp *b)
{
	return a->mtime.tv_sec == b->mtime.tv_sec &&
	       a->mtime.tv_nsec == b->mtime.tv_nsec && a->size == b->size &&
	       a->ino == b->ino;
}

/* ---- certificates ---- */

static void free_identity(struct identity *i)
{
	if (i == NULL)
		return;
	for (unsigned c = 0; c < i->count; c++)
		gnutls_pcert_deinit(&i->chain[c]);
	if (i->key != NULL)
		gnutls_privkey_deinit(i->key);
	free(i);
}

static int fail_tls(int e, const char *path, struct tw_err *err)
{
	return tw_fail(err, e == GNUTLS_E_MEMORY_ERROR ? TW_NOMEM : TW_INVALID,
		       "'%s': %s", path, gnutls_strerror(e));
}

static int read_chain(const char *path, struct identity *i, struct tw_err *err)
{
	unsigned count = CHAIN_MAX;
	gnutls_datum_t pem;
	char *data;
	size_t len;
	int e;

	if (tw_file_read(path, PEM_BYTES_MAX, &data, &len, err) < 0)
		return -1;
	pem = (gnutls_datum_t){ (unsigned char *)data, (unsigned)len };
	e = gnutls_pcert_list_import_x509_raw(i->chain, &count, &pem, GNUTLS_X509_FMT_PEM,
					      GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);
	free(data);
	if (e < 0)
		return fail_tls(e, path, err);
	i->count = count;
	return 0;
}

static int read_key(const char *path, struct identity *i, struct tw_err *err)
{
	gnutls_datum_t pem;
	char *data;
	size_t len;
	int e;

	if (tw_file_read(path, PEM_BYTES_MAX, &data, &len, err) < 0)
		return -1;
	pem = (gnutls_datum_t){ (unsigned char *)data, (unsigned)len };
	e = gnutls_privkey_init(&i->key);
	if (e >= 0)
		e = gnutls_privkey_import_x509_raw(i->key, &pem, GNUTLS_X509_FMT_PEM,
						   NULL, 0);
	gnutls_memset(data, 0, len);
	free(data);
	return e < 0 ? fail_tls(e, path, err) : 0;
}

static int read_identity(const struct tw_web_config *c, struct identity **out,
			 struct tw_err *err)
{
	struct identity *i = NULL;
	int rc = -1;

	if (TW_NEW(i, 1, err) < 0 || read_chain(c->cert_file, i, err) < 0 ||
	    read_key(c->key_file, i, err) < 0)
		goto out;

	*out = i;
	i = NULL;
	rc = 0;
out:
	free_identity(i);
	return rc;
}

/* ---- the configuration ---- */

/* All files are read before anything is replaced. Needs the lock once w is shared. */
static int load(struct tw_web *w, struct tw_err *err)
{
	struct tw_web_config c = { 0 };
	struct tw_web_users *users = NULL;
	struct identity *identity = NULL;
	/* Before the reading, so that a change during it is seen at the next check. */
	const struct stamp own = stamp_of(w->path);
	struct stamp stamp[FILES];
	int rc = -1;

	if (tw_web_config_read(w->path, &c, err) < 0)
		goto out;
	stamp_all(w, &c, stamp);
	stamp[0] = own;
	if (c.cert_file != NULL && read_identity(&c, &identity, err) < 0)
		goto out;
	if (tw_web_users_new(&c.users, &users, err) < 0)
		goto out;
	if (w->identity != NULL && identity == NULL) {
		tw_fail(err, TW_UNSUPPORTED,
			"TLS cannot be switched off while the server runs");
		goto out;
	}
	if (w->config.users.count > 0 && c.users.count == 0) {
		tw_fail(err, TW_INVALID,
			"'%s' has no users any more; restart the server to let everybody "
			"in",
			w->path);
		goto out;
	}

	tw_web_config_release(&w->config);
	w->config = c;
	c = (struct tw_web_config){ 0 };
	memcpy(w->stamp, stamp, sizeof(stamp));
	tw_web_users_free(w->users);
	w->users = users;
	users = NULL;
	if (identity != NULL) {
		identity->before = w->identity;
		w->identity = identity;
		identity = NULL;
	}
	rc = 0;
out:
	free_identity(identity);
	tw_web_users_free(users);
	tw_web_config_release(&c);
	return rc;
}

/* If several threads call at a time, only the first checks. */
static void reload_if_changed(struct tw_web *w)
{
	unsigned long long checked = atomic_load(&w->checked_ms);
	const uint64_t now = tw_now_ms();
	struct stamp stamp[FILES];
	struct tw_err err = { 0 };
	bool same = true;

	if (now - checked < CHECK_MS ||
	    !atomic_compare_exchange_strong(&w->checked_ms, &checked, now))
		return;
	pthread_mutex_lock(&w->lock);
	stamp_all(w, &w->config, stamp);
	for (size_t i = 0; i < FILES; i++)
		same = same && same_stamp(&stamp[i], &w->stamp[i]);
	if (!same) {
		const int rc = load(w, &err);

		/* Report an invalid file once, not once a second. */
		if (rc < 0)
			memcpy(w->stamp, stamp, sizeof(stamp));
		if (w->changed != NULL)
			w->changed(w->arg, rc < 0 ? &err : NULL);
	}
	pthread_mutex_unlock(&w->lock);
}

static int set_priorities(struct tw_web *w, struct tw_err *err)
{
	struct tw_buf b = { 0 };

	if (tw_web_tls_priorities(&w->config, &b, err) < 0) {
		tw_buf_clear(&b);
		return tw_err_wrap(err, "%s", w->path);
	}
	w->priorities = tw_buf_detach(&b, NULL);
	return 0;
}

int tw_web_open(const char *path, tw_web_changed_fn *changed, void *arg,
		struct tw_web **out, struct tw_err *err)
{
	struct tw_web *w = calloc(1, sizeof(*w));
	size_t len;

	if (w == NULL)
		return tw_fail(err, TW_NOMEM, "web configuration");
	pthread_mutex_init(&w->lock, NULL);
	w->changed = changed;
	w->arg = arg;
	atomic_init(&w->checked_ms, tw_now_ms());
	if (tw_text_copy(path, strlen(path), &w->path, err) < 0 ||
	    tw_web_guesses_new(&w->guesses, err) < 0 || load(w, err) < 0)
		goto fail;
	if (w->config.client_ca_file != NULL &&
	    tw_file_read(w->config.client_ca_file, PEM_BYTES_MAX, &w->client_ca, &len,
			 err) < 0)
		goto fail;
	w->tls = w->identity != NULL;
	if (set_priorities(w, err) < 0)
		goto fail;
	*out = w;
	return 0;
fail:
	tw_web_close(w);
	return -1;
}

void tw_web_close(struct tw_web *w)
{
	if (w == NULL)
		return;
	while (w->identity != NULL) {
		struct identity *before = w->identity->before;

		free_identity(w->identity);
		w->identity = before;
	}
	tw_web_users_free(w->users);
	tw_web_guesses_free(w->guesses);
	tw_web_config_release(&w->config);
	pthread_mutex_destroy(&w->lock);
	free(w->priorities);
	free(w->client_ca);
	free(w->path);
	free(w);
}

static int check_readable(const char *path, struct tw_err *err)
{
	if (path != NULL && faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) < 0)
		return tw_fail_errno(err, errno, "cannot read '%s'", path);
	return 0;
}

int tw_web_can_reload(struct tw_web *w, struct tw_err *err)
{
	int rc;

	pthread_mutex_lock(&w->lock);
	rc = check_readable(w->path, err) < 0 ||
			     check_readable(w->config.cert_file, err) < 0 ||
			     check_readable(w->config.key_file, err) < 0
		     ? -1
		     : 0;
	pthread_mutex_unlock(&w->lock);
	return rc;
}

bool tw_web_tls(const struct tw_web *w)
{
	return w->tls;
}

const char *tw_web_client_ca(const struct tw_web *w)
{
	return w->client_ca;
}

const char *tw_web_priorities(const struct tw_web *w)
{
	return w->priorities;
}

int tw_web_certificate(struct tw_web *w, gnutls_pcert_st **chain, unsigned *count,
		       gnutls_privkey_t *key)
{
	reload_if_changed(w);
	pthread_mutex_lock(&w->lock);
	*chain = w->identity->chain;
	*count = w->identity->count;
	*key = w->identity->key;
	pthread_mutex_unlock(&w->lock);
	return 0;
}

static struct tw_web_users *current_users(struct tw_web *w)
{
	struct tw_web_users *users;

	pthread_mutex_lock(&w->lock);
	users = tw_web_users_ref(w->users);
	pthread_mutex_unlock(&w->lock);
	return users;
}

enum tw_web_access tw_web_access(struct tw_web *w, struct tw_web_client *c,
				 uint64_t *wait_ms)
{
	struct tw_web_users *users;
	enum tw_web_access access;

	reload_if_changed(w);
	users = current_users(w);
	access = tw_web_users_known(users, c->authorization);
	if (access == TW_WEB_UNCHECKED) {
		c->took =
			tw_web_guesses_take(w->guesses, c->address, tw_now_ms(), wait_ms);
		if (!c->took)
			tw_web_users_skip(users, c->authorization);
		access = c->took ? TW_WEB_CHECKING : TW_WEB_LIMITED;
	}
	tw_web_users_free(users);
	return access;
}

enum tw_web_access tw_web_check(struct tw_web *w, const struct tw_web_client *c)
{
	struct tw_web_users *users = current_users(w);
	const enum tw_web_access access = tw_web_users_check(users, c->authorization);

	if (access == TW_WEB_ALLOWED && c->took)
		tw_web_guesses_give_back(w->guesses, c->address);
	tw_web_users_free(users);
	return access;
}

bool tw_web_user(struct tw_web *w, const char *authorization, char out[TW_WEB_USER])
{
	struct tw_web_users *users = current_users(w);
	const bool found = tw_web_users_name(users, authorization, out);

	tw_web_users_free(users);
	return found;
}

int tw_web_headers(struct tw_web *w,
		   int (*fn)(void *arg, const char *name, const char *value), void *arg)
{
	int rc = 0;

	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i + 1 < w->config.headers.count && rc == 0; i += 2)
		rc = fn(arg, w->config.headers.at[i], w->config.headers.at[i + 1]);
	pthread_mutex_unlock(&w->lock);
	return rc;
}

void tw_web_log_changed(void *app, const struct tw_err *why)
{
	(void)app;
	if (why == NULL)
		tw_log_info("web configuration taken");
	else
		tw_log_error("cannot take the web configuration, continuing with the "
			     "previous one: %s",
			     why->text);
}
