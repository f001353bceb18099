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
 *	collector_load pages N        N reads of pages that are cached
 *	collector_load packets N      N packets to itself
 *	collector_load sleepers N     N processes that sleep until stdin ends
 *	collector_load lines pipe     as pipe, for each line "N" of stdin; or threads
 *
 * Prints the CPU ns of itself and its children: for pipe and threads by switch, for pages
 * and packets by each. Lines are all for the same two, and answered by their CPU ns by
 * switch.
 */
#include "lib/err.h"
#include "lib/num.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
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
};

struct pair {
	struct ends ours, other;
	pthread_t thread;
	pid_t pid;       /* 0: the other one is a thread */
	clockid_t clock; /* of the other process */
};

/* Until nobody has the other end. */
static void *pass_back(void *arg)
{
	const struct ends *e = arg;
	char byte;

	while (read(e->in, &byte, 1) == 1)
		if (write(e->out, &byte, 1) != 1)
			die("pipe");
	return NULL;
}

static void pair_open(struct pair *p, int with_threads)
{
	int there[2], back[2];

	if (pipe(there) < 0 || pipe(back) < 0)
		die("pipe");
	p->ours = (struct ends){ back[0], there[1] };
	p->other = (struct ends){ there[0], back[1] };
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

static void pair_close(struct pair *p)
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

/* Of both of them, as the scheduler accounts it. */
static uint64_t pair_ns(const struct pair *p)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) +
	       (p->pid != 0 ? clock_ns(p->clock) : 0);
}

static void pair_pass(const struct pair *p, uint32_t n)
{
	char byte = 0;

	for (uint32_t i = 0; i < n; i++)
		if (write(p->ours.out, &byte, 1) != 1 || read(p->ours.in, &byte, 1) != 1)
			die("pipe");
}

static void pass_between(uint32_t n, int with_threads)
{
	struct pair p;

	stay_on_one_cpu();
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
	stay_on_one_cpu();
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

static void run_true(uint32_t n, uint32_t unused)
{
	(void)unused;
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
	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
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
