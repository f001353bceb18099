/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/team.h"

#include "tests/unit/tw_test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct team {
	unsigned size;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned waiting;
	unsigned long turn;
	bool left; /* a worker has ended */
	void *slot[TEAM_MAX];
};

struct member {
	struct team *team;
	struct tw_workers workers;
	team_fn *fn;
	void *arg;
	pthread_t thread;
};

/* Wait for all. False: one has left. */
static bool meet(struct team *t)
{
	unsigned long turn;
	bool met;

	pthread_mutex_lock(&t->lock);
	turn = t->turn;
	if (++t->waiting == t->size) {
		t->waiting = 0;
		t->turn++;
		pthread_cond_broadcast(&t->changed);
	}
	while (t->turn == turn && !t->left)
		pthread_cond_wait(&t->changed, &t->lock);
	met = t->turn != turn;
	pthread_mutex_unlock(&t->lock);
	return met;
}

static int lost(struct tw_err *err)
{
	return tw_fail(err, TW_IO, "a worker has left");
}

#define REDUCE(type)                                                                  \
	static int reduce_##type(void *arg, type *v, size_t count, enum tw_reduce op, \
				 struct tw_err *err)                                  \
	{                                                                             \
		struct member *m = arg;                                               \
		struct team *t = m->team;                                             \
		type *all = malloc((count + 1) * sizeof(*all));                       \
                                                                                      \
		assert_non_null(all);                                                 \
		t->slot[m->workers.rank] = v;                                         \
		if (!meet(t)) {                                                       \
			free(all);                                                    \
			return lost(err);                                             \
		}                                                                     \
		for (size_t i = 0; i < count; i++) {                                  \
			all[i] = ((type *)t->slot[0])[i];                             \
			for (unsigned k = 1; k < t->size; k++) {                      \
				const type one = ((type *)t->slot[k])[i];             \
                                                                                      \
				if (op == TW_REDUCE_SUM)                              \
					all[i] += one;                                \
				else if (one > all[i])                                \
					all[i] = one;                                 \
			}                                                             \
		}                                                                     \
		if (!meet(t)) {                                                       \
			free(all);                                                    \
			return lost(err);                                             \
		}                                                                     \
		memcpy(v, all, count * sizeof(*all));                                 \
		free(all);                                                            \
		return 0;                                                             \
	}

REDUCE(double)
REDUCE(int64_t)

static int broadcast(void *arg, void *v, size_t bytes, unsigned root, struct tw_err *err)
{
	struct member *m = arg;
	struct team *t = m->team;

	t->slot[m->workers.rank] = v;
	if (!meet(t))
		return lost(err);
	if (m->workers.rank != root)
		memcpy(v, t->slot[root], bytes);
	return meet(t) ? 0 : lost(err);
}

static const struct tw_workers_link threads = {
	.doubles = reduce_double,
	.integers = reduce_int64_t,
	.broadcast = broadcast,
};

static void *run(void *arg)
{
	struct member *m = arg;
	struct team *t = m->team;

	m->fn(&m->workers, m->arg);
	pthread_mutex_lock(&t->lock);
	t->left = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

void team_run(unsigned size, team_fn *fn, void *arg)
{
	struct team team = { .size = size };
	struct member member[TEAM_MAX];

	pthread_mutex_init(&team.lock, NULL);
	pthread_cond_init(&team.changed, NULL);
	for (unsigned i = 0; i < size; i++) {
		member[i] = (struct member){ .team = &team, .fn = fn, .arg = arg };
		member[i].workers = (struct tw_workers){
			.rank = i, .size = size, .link = &threads, .arg = &member[i]
		};
		assert_int_equal(pthread_create(&member[i].thread, NULL, run, &member[i]),
				 0);
	}
	for (unsigned i = 0; i < size; i++)
		pthread_join(member[i].thread, NULL);
	pthread_cond_destroy(&team.changed);
	pthread_mutex_destroy(&team.lock);
}
