/* SPDX-License-Identifier: Apache-2.0 */
#include "server/catalog.h"

#include "estimator/predict/certificate.h"
#include "lib/core/err.h"
#include "lib/http/server/httpd_reply.h"
#include "model-db/index/index.h"
#include "model-db/index/index_use.h"

void tw_catalog_take(struct tw_catalog *c, struct tw_index *index)
{
	struct tw_index *old;

	pthread_mutex_lock(&c->lock);
	old = c->index;
	c->index = index;
	pthread_mutex_unlock(&c->lock);
	tw_index_unref(old);
}

struct tw_index *tw_catalog_current(struct tw_catalog *c)
{
	struct tw_index *index;

	pthread_mutex_lock(&c->lock);
	index = c->index != NULL ? tw_index_ref(c->index) : NULL;
	pthread_mutex_unlock(&c->lock);
	return index;
}

struct tw_index *tw_catalog_ref(struct tw_catalog *c, struct tw_http_reply *r)
{
	struct tw_index *index = tw_catalog_current(c);

	if (index != NULL && (tw_index_count(index) > 0 || index->prior.views > 0))
		return index;
	tw_index_unref(index);
	tw_http_reply_problem(r, 503, "there are no models in the model database yet");
	return NULL;
}

size_t tw_catalog_count(struct tw_catalog *c)
{
	struct tw_index *index = tw_catalog_current(c);
	const size_t count = index != NULL ? tw_index_count(index) : 0;

	tw_index_unref(index);
	return count;
}

static void log_unusable(struct tw_catalog *c, const struct tw_err *why)
{
	pthread_mutex_lock(&c->log_lock);
	tw_log_warn_limited(&c->unreadable,
			    "cannot use a model, continuing without it: %s", why->text);
	pthread_mutex_unlock(&c->log_lock);
}

void tw_catalog_give_up(struct tw_catalog *c, struct tw_index *x,
			const struct tw_index_entry *e, const enum tw_client *client,
			const struct tw_err *why)
{
	if (tw_index_given_up(x, e))
		return;
	if (client != NULL)
		tw_index_give_up_weights(x, e, *client);
	else
		tw_index_give_up(x, e);
	atomic_fetch_add(&c->given_up, 1);
	log_unusable(c, why);
}

bool tw_catalog_prove(struct tw_catalog *c, struct tw_index *x,
		      const struct tw_index_entry *e, struct tw_err *why)
{
	if (tw_index_prove(x, e, tw_certify_model, why) == 0)
		return true;
	log_unusable(c, why);
	return false;
}
