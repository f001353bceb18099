/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TESTS_BENCH_PAIR_H
#define TW_TESTS_BENCH_PAIR_H

/*
 * Two processes, or two threads, that pass a byte to and fro over pipes. On one CPU each
 * byte is a context switch. What fails ends the program.
 */

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

struct pair_ends {
	int in, out;
};

struct pair {
	struct pair_ends ours, other;
	pthread_t thread;
	pid_t pid;       /* 0: the other one is a thread */
	clockid_t clock; /* of the other process */
};

/* Says which errno it was, and exits. */
_Noreturn void die(const char *what);

/* The last CPU that we may use, so that each byte that is passed on is a switch. */
void pair_stay_on_one_cpu(void);

/* It must stay where it is until it is closed. */
void pair_open(struct pair *p, int with_threads);
void pair_close(struct pair *p);

/* n bytes there and back. */
void pair_pass(const struct pair *p, uint32_t n);

/* CPU time of both of them, as the scheduler accounts it. */
uint64_t pair_ns(const struct pair *p);

#endif /* TW_TESTS_BENCH_PAIR_H */
