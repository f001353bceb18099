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
 *	collector_load crowds N       N processes, one after the other, of 64 threads that
 *	                              run a part of the scheduler's tick and end with it
 *	collector_load pages N        N reads of pages that are cached
 *	collector_load packets N      N packets to itself
 *	collector_load sleepers N     N processes that sleep until stdin ends
 *	collector_load lines pipe     as pipe, for each line "N" of stdin; or threads
 *
 * Prints the CPU ns of itself and its children: for pipe and threads by switch, for pages
 * and packets by each. Lines are all for the same two, and answered by their CPU ns by
 * switch.
 */
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "tests/bench/pair.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

static void pass_between(uint32_t n, int with_threads)
{
	struct pair p;

	pair_stay_on_one_cpu();
	pair_open(&p, with_threads);
	pair_pass(&p, n);
	pair_close(&p);
}

/*
 * What differs from pair to pair (where their pages are, and so what shares a set of a
 * cache) is the same for all lines.
 */
static int serve_lines(const char *what)
{
	const int threads = strcmp(what, "threads") == 0;
	struct tw_err err = { 0 };
	struct pair p;
	char line[16];
	uint32_t n;

	if (!threads && strcmp(what, "pipe") != 0)
		return -1;
	pair_stay_on_one_cpu();
	pair_open(&p, threads);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		const uint64_t start = pair_ns(&p);

		line[strcspn(line, "\n")] = '\0';
		if (tw_parse_u32(line, 1, UINT32_MAX, &n, &err) < 0) {
			fprintf(stderr, "collector_load: %s\n", err.text);
			exit(2);
		}
		pair_pass(&p, n);
		printf("%.3f\n", (double)(pair_ns(&p) - start) / (2.0 * n));
		fflush(stdout);
	}
	pair_close(&p);
	return 0;
}

/* One after the other. */
static void run_children(uint32_t n, void (*run)(void))
{
	for (uint32_t i = 0; i < n; i++) {
		const pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid == 0) {
			run();
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

static void become_true(void)
{
	execl("/bin/true", "true", (char *)NULL);
	_exit(1);
}

static void run_true(uint32_t n, uint32_t unused)
{
	(void)unused;
	run_children(n, become_true);
}

static void run_nothing(void)
{
}

static void run_storms(uint32_t parallel, uint32_t n)
{
	for (uint32_t i = 0; i < parallel; i++) {
		const pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid == 0) {
			run_children(n, run_nothing);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
}

static void spin(uint32_t ms, uint32_t unused)
{
	const uint64_t until = cpu_ns() + (uint64_t)ms * 1000000;

	(void)unused;
	while (cpu_ns() < until)
		;
}

static void *do_nothing(void *arg)
{
	return arg;
}

static void run_threads(uint32_t n, uint32_t unused)
{
	pthread_t thread;

	(void)unused;
	for (uint32_t i = 0; i < n; i++) {
		if (pthread_create(&thread, NULL, do_nothing, NULL) != 0)
			die("pthread_create");
		pthread_join(thread, NULL);
	}
}

/* No call into the kernel, which brings a thread's time up to date at each. */
static void *take_steps(void *arg)
{
	for (volatile uint32_t i = 0; i < 100000; i++)
		;
	return arg;
}

static void run_crowd(void)
{
	pthread_t thread[64];

	for (size_t i = 0; i < 64; i++)
		if (pthread_create(&thread[i], NULL, take_steps, NULL) != 0)
			die("pthread_create");
	for (size_t i = 0; i < 64; i++)
		pthread_join(thread[i], NULL);
}

static void run_crowds(uint32_t n, uint32_t unused)
{
	(void)unused;
	run_children(n, run_crowd);
}

/* Two pages by turns, which are never in one folio. */
static void read_pages(uint32_t n, uint32_t unused)
{
	char page[4096] = { 0 };
	FILE *file = tmpfile();
	const off_t far = 8 << 20;

	(void)unused;
	if (file == NULL || pwrite(fileno(file), page, sizeof(page), 0) < 0 ||
	    pwrite(fileno(file), page, sizeof(page), far) < 0)
		die("tmpfile");
	for (uint32_t i = 0; i < n; i++)
		if (pread(fileno(file), page, sizeof(page), i % 2 * far) < 0)
			die("pread");
	fclose(file);
}

static void send_packets(uint32_t n, uint32_t unused)
{
	struct sockaddr_in self = { .sin_family = AF_INET,
				    .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(self);
	const int fd = socket(AF_INET, SOCK_DGRAM, 0);
	char byte = 0;

	(void)unused;
	if (fd < 0 || bind(fd, (struct sockaddr *)&self, len) < 0 ||
	    getsockname(fd, (struct sockaddr *)&self, &len) < 0 ||
	    connect(fd, (struct sockaddr *)&self, len) < 0)
		die("socket");
	for (uint32_t i = 0; i < n; i++)
		if (send(fd, &byte, 1, 0) != 1 || recv(fd, &byte, 1, 0) != 1)
			die("send");
	close(fd);
}

/* Children end with the pipe that they read. */
static void sleep_together(uint32_t n, uint32_t unused)
{
	int end[2];
	char byte;

	(void)unused;
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

static void pass_between_processes(uint32_t n, uint32_t unused)
{
	(void)unused;
	pass_between(n, 0);
}

static void pass_between_threads(uint32_t n, uint32_t unused)
{
	(void)unused;
	pass_between(n, 1);
}

static const struct load {
	const char *name;
	void (*run)(uint32_t n, uint32_t m);
	unsigned events; /* each of N is so many; 0: none are told */
} loads[] = {
	{ "crowds", run_crowds, 0 },
	{ "packets", send_packets, 1 },
	{ "pages", read_pages, 1 },
	{ "pipe", pass_between_processes, 2 },
	{ "short", run_threads, 0 },
	{ "sleepers", sleep_together, 0 },
	{ "spin", spin, 0 },
	{ "storm", run_storms, 0 },
	{ "threads", pass_between_threads, 2 },
	{ "true", run_true, 0 },
};

static const struct load *find_load(const char *name)
{
	for (size_t i = 0; i < TW_COUNT(loads); i++)
		if (strcmp(loads[i].name, name) == 0)
			return &loads[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct load *load = argc > 2 ? find_load(argv[1]) : NULL;
	struct tw_err err = { 0 };
	uint32_t n = 0, m = 0;

	if (argc == 3 && strcmp(argv[1], "lines") == 0 && serve_lines(argv[2]) == 0)
		return 0;
	if (load == NULL || tw_parse_u32(argv[2], 1, UINT32_MAX, &n, &err) < 0 ||
	    (argc > 3 && tw_parse_u32(argv[3], 1, UINT32_MAX, &m, &err) < 0)) {
		fprintf(stderr, "usage: collector_load WHAT N [M]\n");
		return 2;
	}
	load->run(n, m);
	printf("%.3f\n",
	       (double)cpu_ns() / (load->events != 0 ? (double)load->events * n : 1.0));
	return 0;
}
