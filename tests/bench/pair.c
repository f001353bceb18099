/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/pair.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

_Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

void pair_stay_on_one_cpu(void)
{
	cpu_set_t set, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		die("sched_getaffinity");
	for (int i = CPU_SETSIZE - 1; i >= 0; i--)
		if (CPU_ISSET(i, &set)) {
			CPU_SET(i, &one);
			break;
		}
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		die("sched_setaffinity");
}

/* Until nobody has the other end. */
static void *pass_back(void *arg)
{
	const struct pair_ends *e = arg;
	char byte;

	while (read(e->in, &byte, 1) == 1)
		if (write(e->out, &byte, 1) != 1)
			die("pipe");
	return NULL;
}

void pair_open(struct pair *p, int with_threads)
{
	int there[2], back[2];

	if (pipe(there) < 0 || pipe(back) < 0)
		die("pipe");
	p->ours = (struct pair_ends){ back[0], there[1] };
	p->other = (struct pair_ends){ there[0], back[1] };
	p->pid = 0;
	if (with_threads) {
		if (pthread_create(&p->thread, NULL, pass_back, &p->other) != 0)
			die("pthread_create");
		return;
	}
	p->pid = fork();
	if (p->pid < 0)
		die("fork");
	if (p->pid == 0) {
		close(p->ours.out);
		pass_back(&p->other);
		_exit(0);
	}
	if (clock_getcpuclockid(p->pid, &p->clock) != 0)
		die("clock_getcpuclockid");
}

void pair_close(struct pair *p)
{
	close(p->ours.out);
	if (p->pid == 0)
		pthread_join(p->thread, NULL);
	else
		waitpid(p->pid, NULL, 0);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) < 0)
		die("clock_gettime");
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t pair_ns(const struct pair *p)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) +
	       (p->pid != 0 ? clock_ns(p->clock) : 0);
}

void pair_pass(const struct pair *p, uint32_t n)
{
	char byte = 0;

	for (uint32_t i = 0; i < n; i++)
		if (write(p->ours.out, &byte, 1) != 1 || read(p->ours.in, &byte, 1) != 1)
			die("pipe");
}
