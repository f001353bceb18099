/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define THREADS_MAX 256

struct pool {
	size_t count;
	tw_pool_fn *fn;
	void *arg;
	atomic_size_t next;
};

static void *work(void *arg)
{
	struct pool *p = arg;
	size_t i;

	while ((i = atomic_fetch_add(&p->next, 1)) < p->count)
		p->fn(p->arg, i);
	return NULL;
}

static unsigned cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	return (unsigned)CPU_COUNT(&set);
}

void tw_pool_run(size_t count, unsigned threads, tw_pool_fn *fn, void *arg)
{
	struct pool p = { .count = count, .fn = fn, .arg = arg };
	pthread_t thread[THREADS_MAX];
	unsigned started = 0;

	atomic_init(&p.next, 0);
	if (threads == 0)
		threads = cpus();
	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	while (started + 1 < threads && started + 1 < count &&
	       pthread_create(&thread[started], NULL, work, &p) == 0)
		started++;
	work(&p);
	for (unsigned i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
}
