/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/index_use.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/index/index.h"
#include "model-db/model.h"
#include "model-db/model_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Limits of the cache: one text, and all texts of an index. */
#define CACHED_BYTES_MAX ((size_t)64 << 10)
#define CACHED_BYTES_ALL ((size_t)16 << 20)

static struct tw_index_state *state_of(const struct tw_index *x,
				       const struct tw_index_entry *e)
{
	return &x->state[e - x->entry];
}

void tw_index_text_release(struct tw_index_text *t)
{
	free(t->own);
	*t = (struct tw_index_text){ 0 };
}

/* ---- the whole model ---- */

static int changed(struct tw_err *err)
{
	return tw_fail(err, TW_NOTFOUND, "it has changed since the index was made");
}

/* The archive must be the one that the index was made from. */
static int check_sum(const struct tw_index_entry *e, const char *data, size_t len,
		     struct tw_err *err)
{
	struct tw_zip_list zip = { 0 };
	struct tw_err why = { 0 };
	int rc = -1;

	if (len == e->zip_bytes &&
	    tw_zip_list_read(data, len, &tw_zip_model_limits, &zip, &why) == 0 &&
	    tw_zip_list_sum(&zip) == e->zip_sum)
		rc = 0;
	else if (why.code == TW_NOMEM)
		tw_fail(err, TW_NOMEM, "model");
	else
		changed(err);
	tw_zip_list_release(&zip);
	return rc;
}

/* Read and check the whole archive. *data is the caller's; *out must be all zero. */
static int read_zip(const struct tw_index_entry *e, char **data, size_t *len,
		    struct tw_model *out, struct tw_err *err)
{
	char *d;

	if (tw_file_read(e->zip_path, TW_INDEX_ZIP_BYTES_MAX, &d, len, err) < 0)
		return -1;
	if (check_sum(e, d, *len, err) < 0 || tw_model_from_zip(d, *len, out, err) < 0) {
		free(d);
		return tw_err_wrap(err, "'%s'", e->zip_path);
	}
	*data = d;
	return 0;
}

int tw_index_read_model(const struct tw_index_entry *e, struct tw_model *out,
			struct tw_err *err)
{
	char *data;
	size_t len;

	if (read_zip(e, &data, &len, out, err) < 0)
		return -1;
	free(data);
	return 0;
}

/* ---- weights ---- */

/* True if the index took the text over. */
static bool cache(struct tw_index *x, _Atomic(struct tw_index_cached *) *place,
		  struct tw_index_cached *text)
{
	struct tw_index_cached *expected = NULL;
	const size_t size = sizeof(*text) + text->len + 1;

	if (text->len > CACHED_BYTES_MAX)
		return false;
	if (atomic_fetch_add_explicit(&x->cached_bytes, size, memory_order_relaxed) +
			    size <=
		    CACHED_BYTES_ALL &&
	    atomic_compare_exchange_strong_explicit(
		    place, &expected, text, memory_order_acq_rel, memory_order_acquire))
		return true;
	/* The cache is full, or another request was faster. */
	atomic_fetch_sub_explicit(&x->cached_bytes, size, memory_order_relaxed);
	return false;
}

static int write_weights(const struct tw_index_entry *e, enum tw_client client,
			 struct tw_buf *b, struct tw_err *err)
{
	struct tw_model m = { 0 };
	int rc = -1;

	if (tw_index_read_model(e, &m, err) < 0)
		goto out;
	if (tw_weights_write(&m, client, b, err) < 0) {
		tw_err_wrap(err, "'%s'", e->zip_path);
		goto out;
	}
	if (tw_buf_failed(b)) {
		tw_fail(err, TW_NOMEM, "weights");
		goto out;
	}
	rc = 0;
out:
	tw_model_release(&m);
	return rc;
}

int tw_index_weights(struct tw_index *x, const struct tw_index_entry *e,
		     enum tw_client client, struct tw_index_text *out, struct tw_err *err)
{
	struct tw_index_state *s = state_of(x, e);
	struct tw_index_cached *text =
		atomic_load_explicit(&s->weights[client], memory_order_acquire);
	const struct tw_index_cached none = { 0 };
	struct tw_buf b = { 0 };
	size_t len;
	char *own;

	if (text != NULL) {
		*out = (struct tw_index_text){ .text = text->text, .len = text->len };
		return 0;
	}
	tw_buf_add(&b, &none, sizeof(none));
	if (write_weights(e, client, &b, err) < 0) {
		tw_buf_clear(&b);
		return -1;
	}
	own = tw_buf_detach(&b, &len);
	text = (struct tw_index_cached *)(void *)own;
	text->len = len - sizeof(none);
	*out = (struct tw_index_text){ .text = text->text, .len = text->len, .own = own };
	if (cache(x, &s->weights[client], text))
		out->own = NULL;
	return 0;
}

/* ---- zips ---- */

static void cache_zip(struct tw_index *x, struct tw_index_state *s, const char *data,
		      size_t len)
{
	struct tw_index_cached *text;

	/* Without memory the zip is not cached. */
	if (len > CACHED_BYTES_MAX || (text = malloc(sizeof(*text) + len + 1)) == NULL)
		return;
	text->len = len;
	memcpy(text->text, data, len);
	if (!cache(x, &s->zip, text))
		free(text);
}

/* Check at the first use that the zip holds a model that loads. */
static int check_zip(struct tw_index *x, const struct tw_index_entry *e,
		     struct tw_err *err)
{
	struct tw_index_state *s = state_of(x, e);
	struct tw_model m = { 0 };
	char *data;
	size_t len;

	if (atomic_load_explicit(&s->checked, memory_order_acquire))
		return 0;
	if (read_zip(e, &data, &len, &m, err) < 0)
		return -1;
	cache_zip(x, s, data, len);
	tw_model_release(&m);
	free(data);
	atomic_store_explicit(&s->checked, true, memory_order_release);
	return 0;
}

static int open_zip(const struct tw_index_entry *e, int *fd, struct tw_err *err)
{
	struct stat st;
	int f = open(e->zip_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (f < 0)
		return tw_fail_errno(err, errno, "cannot open '%s'", e->zip_path);
	if (fstat(f, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size != e->zip_bytes) {
		close(f);
		changed(err);
		return tw_err_wrap(err, "'%s'", e->zip_path);
	}
	*fd = f;
	return 0;
}

int tw_index_zip(struct tw_index *x, const struct tw_index_entry *e,
		 struct tw_index_text *out, int *fd, struct tw_err *err)
{
	const struct tw_index_cached *text;

	if (check_zip(x, e, err) < 0)
		return -1;
	text = atomic_load_explicit(&state_of(x, e)->zip, memory_order_acquire);
	if (text == NULL)
		return open_zip(e, fd, err);
	*out = (struct tw_index_text){ .text = text->text, .len = text->len };
	*fd = -1;
	return 0;
}

/* ---- models that failed in use ---- */

#define WHOLE (1u << TW_CLIENT_COUNT)
#define DEFAULT (WHOLE << 1)

static bool has_failed(const struct tw_index *x, const struct tw_index_entry *e,
		       unsigned bits)
{
	return atomic_load_explicit(&x->any_given_up, memory_order_acquire) &&
	       (atomic_load_explicit(&state_of(x, e)->given_up, memory_order_relaxed) &
		bits) != 0;
}

static void note_failure(struct tw_index *x, const struct tw_index_entry *e,
			 unsigned bits)
{
	atomic_fetch_or_explicit(&state_of(x, e)->given_up, bits, memory_order_relaxed);
	atomic_store_explicit(&x->any_given_up, true, memory_order_release);
}

void tw_index_give_up(struct tw_index *x, const struct tw_index_entry *e)
{
	note_failure(x, e, WHOLE);
}

void tw_index_give_up_weights(struct tw_index *x, const struct tw_index_entry *e,
			      enum tw_client client)
{
	note_failure(x, e, 1u << client);
}

void tw_index_give_up_default(struct tw_index *x, const struct tw_index_entry *e)
{
	note_failure(x, e, DEFAULT);
}

bool tw_index_given_up_default(const struct tw_index *x, const struct tw_index_entry *e)
{
	return has_failed(x, e, WHOLE | DEFAULT);
}

bool tw_index_given_up(const struct tw_index *x, const struct tw_index_entry *e)
{
	return has_failed(x, e, WHOLE);
}

bool tw_index_given_up_weights(const struct tw_index *x, const struct tw_index_entry *e,
			       enum tw_client client)
{
	return has_failed(x, e, WHOLE | 1u << client);
}

/* ---- fitness ---- */

int tw_index_prove(struct tw_index *x, const struct tw_index_entry *e,
		   tw_index_prove_fn *prove, struct tw_err *err)
{
	struct tw_index_state *s = state_of(x, e);
	struct tw_model m = { 0 };

	if (e->fitness == TW_FIT ||
	    atomic_load_explicit(&s->proved, memory_order_acquire))
		return 0;
	if (e->fitness == TW_UNFIT)
		return tw_fail(err, TW_INVALID, "model '%s': %s", e->name, e->unfit_why);
	if (tw_index_read_model(e, &m, err) < 0) {
		if (err->code != TW_NOMEM)
			tw_index_give_up(x, e);
		return -1;
	}
	if (prove(&m, err) < 0) {
		if (err->code != TW_NOMEM)
			tw_index_give_up_default(x, e);
		return tw_err_wrap(err, "'%s'", e->zip_path);
	}
	atomic_store_explicit(&s->proved, true, memory_order_release);
	return 0;
}
