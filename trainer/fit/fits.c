/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/fits.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/sha256.h"
#include "trainer/fit/rest.h"
#include "trainer/fit/trainer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct kept {
	char key[TW_SHA256_TEXT];
	bool done; /* false: a thread is fitting */
	struct tw_buf text;
};

struct tw_fits {
	pthread_mutex_t lock;
	pthread_cond_t ended; /* a fit has ended */
	struct kept *at;
	size_t count, size;
	size_t shared;
};

struct tw_fits *tw_fits_new(void)
{
	struct tw_fits *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->ended, NULL);
	return f;
}

void tw_fits_free(struct tw_fits *f)
{
	if (f == NULL)
		return;
	for (size_t i = 0; i < f->count; i++)
		tw_buf_clear(&f->at[i].text);
	free(f->at);
	pthread_cond_destroy(&f->ended);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* ---- keys ---- */

static void add_rest(struct tw_sha256 *h, const struct tw_rest *r)
{
	const double watts[] = { (double)r->load, r->watts,    r->low,
				 r->high,         r->low_load, r->low_watts };
	const bool facts[] = { r->rested, r->shown, r->contradicted };

	tw_sha256_add(h, watts, sizeof(watts));
	tw_sha256_add(h, facts, sizeof(facts));
}

/* Hash all inputs of a fit, except time stamps, which AutoTrainer's learners lack. */
static void find_key(const struct tw_trainer *t, const struct tw_samples *s,
		     uint64_t seed, char out[TW_SHA256_TEXT])
{
	const uint64_t numbers[] = {
		(uint64_t)(uintptr_t)t, seed,           s->rows,          s->cols,
		(uint64_t)s->component, s->from_zero,   s->unconstrained, s->overlap,
		s->rest != NULL,        s->work != NULL
	};
	struct tw_sha256 h;

	tw_sha256_start(&h);
	tw_sha256_add(&h, numbers, sizeof(numbers));
	tw_sha256_add(&h, s->x, s->rows * s->cols * sizeof(*s->x));
	tw_sha256_add(&h, s->y, s->rows * sizeof(*s->y));
	for (size_t c = 0; c < s->cols; c++)
		tw_sha256_add(&h, s->features[c], strlen(s->features[c]) + 1);
	if (s->work != NULL)
		tw_sha256_add(&h, s->work, s->cols * sizeof(*s->work));
	if (s->rest != NULL)
		add_rest(&h, s->rest);
	tw_sha256_end(&h, out);
}

/* ---- fits ---- */

static struct kept *find(struct tw_fits *f, const char *key)
{
	for (size_t i = 0; i < f->count; i++)
		if (strcmp(f->at[i].key, key) == 0)
			return &f->at[i];
	return NULL;
}

static void forget(struct tw_fits *f, struct kept *k)
{
	tw_buf_clear(&k->text);
	*k = f->at[--f->count];
}

/*
 * Move the kept text of this key to *out, if there is one. Wait for a thread that is
 * fitting it. Otherwise note that this thread fits it; if there is no memory for the
 * note, the text will not be kept.
 */
static bool take(struct tw_fits *f, const char *key, struct tw_buf *out)
{
	struct kept *k;
	bool found;

	pthread_mutex_lock(&f->lock);
	while ((k = find(f, key)) != NULL && !k->done)
		pthread_cond_wait(&f->ended, &f->lock);
	found = k != NULL;
	if (found) {
		*out = k->text;
		k->text = (struct tw_buf){ 0 };
		forget(f, k);
		f->shared++;
	} else if (tw_grow(&f->at, &f->size, f->count, sizeof(*f->at))) {
		k = &f->at[f->count++];
		*k = (struct kept){ 0 };
		memcpy(k->key, key, sizeof(k->key));
	}
	pthread_mutex_unlock(&f->lock);
	return found;
}

/* Keep a copy of the text for the second fit, or forget a fit that failed. */
static void keep(struct tw_fits *f, const char *key, bool fitted,
		 const struct tw_buf *text)
{
	struct kept *k;

	pthread_mutex_lock(&f->lock);
	k = find(f, key);
	if (k != NULL && !k->done && fitted) {
		tw_buf_add(&k->text, text->data, text->len);
		k->done = !tw_buf_failed(&k->text);
	}
	if (k != NULL && !k->done)
		forget(f, k);
	pthread_cond_broadcast(&f->ended);
	pthread_mutex_unlock(&f->lock);
}

int tw_fits_fit(struct tw_fits *f, const struct tw_trainer *t, const struct tw_samples *s,
		uint64_t seed, struct tw_buf *text, struct tw_err *err)
{
	char key[TW_SHA256_TEXT];
	struct tw_buf own = { 0 };
	int rc = 0;

	if (f == NULL)
		return t->fit(t, s, seed, text, err);
	find_key(t, s, seed, key);
	if (!take(f, key, &own)) {
		rc = t->fit(t, s, seed, &own, err);
		keep(f, key, rc == 0, &own);
	}
	if (rc == 0)
		tw_buf_add(text, own.data, own.len);
	if (rc == 0 && tw_buf_failed(text))
		rc = tw_fail(err, TW_NOMEM, "model of %zu bytes", own.len);
	tw_buf_clear(&own);
	return rc;
}

size_t tw_fits_shared(struct tw_fits *f)
{
	size_t n;

	pthread_mutex_lock(&f->lock);
	n = f->shared;
	pthread_mutex_unlock(&f->lock);
	return n;
}
