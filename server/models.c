/* SPDX-License-Identifier: Apache-2.0 */
#include "server/models.h"

#include "estimator/predict/certificate.h"
#include "lib/core/err.h"
#include "lib/http/httpd.h"
#include "model-db/index/index.h"
#include "model-db/index/index_use.h"

#include <sched.h>

/* Some instructions, unless a reader was put to sleep between them. */
static void wait_for_readers(struct tw_models *m, unsigned slot)
{
	while (atomic_load(&m->slot[slot].readers) > 0)
		sched_yield();
}

/*
 * A reader marks a slot and then looks whether it is still the active one; only then does
 * it look into it. So a slot that is not active and has no mark is nobody's but the
 * writer's: whoever marks it from here on sees that it is not active.
 */
void tw_models_take(struct tw_models *m, struct tw_index *index)
{
	const unsigned before = atomic_load(&m->active), next = 1 - before;
	struct tw_index *old;

	wait_for_readers(m, next);
	m->slot[next].index = index;
	atomic_store(&m->active, next);
	wait_for_readers(m, before);
	old = m->slot[before].index;
	m->slot[before].index = NULL;
	tw_index_unref(old);
}

struct tw_index *tw_models_current(struct tw_models *m)
{
	struct tw_index *index = NULL;
	bool taken = false;

	while (!taken) {
		const unsigned i = atomic_load(&m->active);

		atomic_fetch_add(&m->slot[i].readers, 1);
		taken = atomic_load(&m->active) == i;
		if (taken && m->slot[i].index != NULL)
			index = tw_index_ref(m->slot[i].index);
		atomic_fetch_sub(&m->slot[i].readers, 1);
	}
	return index;
}

struct tw_index *tw_models_ref(struct tw_models *m, struct tw_http_reply *r)
{
	struct tw_index *index = tw_models_current(m);

	if (index != NULL && tw_index_count(index) > 0)
		return index;
	tw_index_unref(index);
	tw_http_reply_problem(r, 503, "there are no models in the model database yet");
	return NULL;
}

size_t tw_models_served(struct tw_models *m)
{
	struct tw_index *index = tw_models_current(m);
	size_t count = index != NULL ? tw_index_count(index) : 0;

	tw_index_unref(index);
	return count;
}

static void tell(struct tw_models *m, const struct tw_err *why)
{
	pthread_mutex_lock(&m->log_lock);
	tw_log_warn_limited(&m->unreadable,
			    "cannot use a model, continuing without it: %s", why->text);
	pthread_mutex_unlock(&m->log_lock);
}

void tw_models_give_up(struct tw_models *m, struct tw_index *x,
		       const struct tw_index_entry *e, const enum tw_client *client,
		       const struct tw_err *why)
{
	if (tw_index_given_up(x, e))
		return;
	if (client != NULL)
		tw_index_give_up_weights(x, e, *client);
	else
		tw_index_give_up(x, e);
	atomic_fetch_add(&m->given_up, 1);
	tell(m, why);
}

bool tw_models_prove(struct tw_models *m, struct tw_index *x,
		     const struct tw_index_entry *e, struct tw_err *why)
{
	if (tw_index_prove(x, e, tw_certify_model, why) == 0)
		return true;
	tell(m, why);
	return false;
}
