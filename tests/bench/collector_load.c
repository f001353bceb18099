/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads for bench-collector.
 *
 *	collector_load pipe N         2 N switches between two processes on one CPU
 *	collector_load threads N      the same between two threads
 *	collector_load true N         N processes, one after the other
 *	collector_load storm P N      P at a time, N each
 *	collector_load spin MS        runs so long
 *	collector_load short N        N threads, one after the other
 *	collector_load sleepers N     N processes that sleep until stdin ends
 *
 * Prints the CPU ns of itself and its children; for pipe and threads, by switch.
 */
#include "lib/err.h"
#include "lib/num.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t cpu_ns(void)
{
	struct rusage self, children;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	return (uint64_t)(self.ru_utime.tv_sec + self.ru_stime.tv_sec +
			  children.ru_utime.tv_sec + children.ru_stime.tv_sec) *
		       1000000000 +
	       (uint64_t)(self.ru_utime.tv_usec + self.ru_stime.tv_usec +
			  children.ru_utime.tv_usec + children.ru_stime.tv_usec) *
		       1000;
}

/* The last CPU that we may use, so that each byte that is passed on is a switch. */
static void stay_on_one_cpu(void)
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

struct ends {
	int in, out;
	uint32_t n;
	int first;
};

static void *pass_on(void *arg)
{
	const struct ends *e = arg;
	char byte = 0;

	for (uint32_t i = 0; i < e->n; i++)
		if ((e->first && write(e->out, &byte, 1) != 1) ||
		    read(e->in, &byte, 1) != 1 ||
		    (!e->first && write(e->out, &byte, 1) != 1))
			die("pipe");
	return NULL;
}

static void pass_between(uint32_t n, int with_threads)
{
	int there[2], back[2];
	struct ends a, b;
	pthread_t thread;
	pid_t pid;

	stay_on_one_cpu();
	if (pipe(there) < 0 || pipe(back) < 0)
		die("pipe");
	a = (struct ends){ back[0], there[1], n, 1 };
	b = (struct ends){ there[0], back[1], n, 0 };
	if (with_threads) {
		if (pthread_create(&thread, NULL, pass_on, &b) != 0)
			die("pthread_create");
		pass_on(&a);
		pthread_join(thread, NULL);
		return;
	}
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		pass_on(&b);
		_exit(0);
	}
	pass_on(&a);
	waitpid(pid, NULL, 0);
}

static void run_true(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
	}
}

/* Processes that do nothing. */
static void fork_storm(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}

static void run_storms(uint32_t parallel, uint32_t n)
{
	for (uint32_t i = 0; i < parallel; i++) {
		const pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid == 0) {
			fork_storm(n);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
}

static void spin(uint32_t ms)
{
	const uint64_t until = cpu_ns() + (uint64_t)ms * 1000000;

	while (cpu_ns() < until)
		;
}

static void *do_nothing(void *arg)
{
	return arg;
}

static void run_threads(uint32_t n)
{
	pthread_t thread;

	for (uint32_t i = 0; i < n; i++) {
		if (pthread_create(&thread, NULL, do_nothing, NULL) != 0)
			die("pthread_create");
		pthread_join(thread, NULL);
	}
}

/* Children end with the pipe that they read. */
static void sleep_together(uint32_t n)
{
	int end[2];
	char byte;

	if (pipe(end) < 0)
		die("pipe");
	for (uint32_t i = 0; i < n; i++) {
		const pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid == 0) {
			close(end[1]);
			_exit(read(end[0], &byte, 1) < 0);
		}
	}
	printf("ready\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	close(end[1]);
	while (wait(NULL) > 0)
		;
}

int main(int argc, char **argv)
{
	struct tw_err err = { 0 };
	const char *what = argc > 1 ? argv[1] : "";
	uint32_t n = 0, m = 0;
	int by_switch;

	if (argc < 3 || tw_parse_u32(argv[2], 1, UINT32_MAX, &n, &err) < 0 ||
	    (argc > 3 && tw_parse_u32(argv[3], 1, UINT32_MAX, &m, &err) < 0)) {
		fprintf(stderr, "usage: collector_load WHAT N [M]\n");
		return 2;
	}
	by_switch = strcmp(what, "pipe") == 0 || strcmp(what, "threads") == 0;
	if (by_switch)
		pass_between(n, strcmp(what, "threads") == 0);
	else if (strcmp(what, "true") == 0)
		run_true(n);
	else if (strcmp(what, "storm") == 0)
		run_storms(n, m);
	else if (strcmp(what, "spin") == 0)
		spin(n);
	else if (strcmp(what, "short") == 0)
		run_threads(n);
	else if (strcmp(what, "sleepers") == 0)
		sleep_together(n);
	else
		return 2;
	printf("%.3f\n", (double)cpu_ns() / (by_switch ? 2.0 * n : 1.0));
	return 0;
}
