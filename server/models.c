/* SPDX-License-Identifier: Apache-2.0 */
#include "server/models.h"

#include "lib/err.h"
#include "lib/httpd.h"
#include "model-db/index.h"

void tw_models_take(struct tw_models *m, struct tw_index *index)
{
	struct tw_index *before;

	pthread_mutex_lock(&m->lock);
	before = m->index;
	m->index = index;
	pthread_mutex_unlock(&m->lock);
	tw_index_unref(before);
}

/* A reference to what is there, or NULL. */
static struct tw_index *current(struct tw_models *m)
{
	struct tw_index *index;

	pthread_mutex_lock(&m->lock);
	index = m->index != NULL ? tw_index_ref(m->index) : NULL;
	pthread_mutex_unlock(&m->lock);
	return index;
}

struct tw_index *tw_models_ref(struct tw_models *m, struct tw_http_reply *r)
{
	struct tw_index *index = current(m);

	if (index != NULL && tw_index_count(index) > 0)
		return index;
	tw_index_unref(index);
	tw_http_reply_problem(r, 503, "there are no models in the model database yet");
	return NULL;
}

size_t tw_models_count(struct tw_models *m)
{
	struct tw_index *index = current(m);
	size_t count = index != NULL ? tw_index_count(index) : 0;

	tw_index_unref(index);
	return count;
}

void tw_models_log_unreadable(struct tw_models *m, const struct tw_err *why)
{
	pthread_mutex_lock(&m->log_lock);
	tw_log_warn_limited(&m->unreadable, "cannot read a model: %s", why->text);
	pthread_mutex_unlock(&m->log_lock);
}
