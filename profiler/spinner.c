/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/spinner.h"

#include "lib/core/clock.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define MEMORY_BYTES ((size_t)64 << 20)
#define CACHE_BYTES ((size_t)1 << 20)
#define DISK_BYTES ((size_t)1 << 20)
#define LINE_BYTES 64
#define CHUNK_BYTES ((size_t)64 << 10) /* of memory, in a step */

/* Work and sleep alternate within this time. */
#define PERIOD_NS INT64_C(20000000)

/* Stores go here, so that the compiler keeps the loops. */
static void keep(uint64_t v)
{
	volatile uint64_t sink = v;

	(void)sink;
}

static uint64_t mix(uint64_t v)
{
	for (int i = 0; i < 4096; i++)
		v = v * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return v;
}

static int64_t cpu_time_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The share is of CPU time, so that a busy machine does not lower it. */
static _Noreturn void spin_cpu(unsigned load_percent)
{
	const int64_t busy_ns = PERIOD_NS * load_percent / 100;
	const struct timespec rest = { .tv_nsec = (long)(PERIOD_NS - busy_ns) };
	uint64_t v = 1;

	for (;;) {
		const int64_t until_ns = cpu_time_ns() + busy_ns;

		while (cpu_time_ns() < until_ns)
			v = mix(v);
		keep(v);
		if (rest.tv_nsec > 0)
			nanosleep(&rest, NULL);
	}
}

static void *get(size_t bytes)
{
	void *p = calloc(1, bytes);

	if (p == NULL)
		_exit(1);
	return p;
}

/* ---- steps ---- */

/* The data that the steps of a kind work on. */
static uint64_t *make_buffer(enum tw_spin spin)
{
	const size_t lines = CACHE_BYTES / LINE_BYTES, each = LINE_BYTES / 8;
	uint64_t *v;

	if (spin != TW_SPIN_CACHE)
		return get(spin == TW_SPIN_MEMORY ? MEMORY_BYTES : sizeof(*v));
	/* The stride is odd, so each line is read once in a round. */
	v = get(CACHE_BYTES);
	for (size_t i = 0; i < lines; i++)
		v[i * each] = (i + 7919) % lines;
	return v;
}

static uint64_t multiply(uint64_t start)
{
	double v[8];

	for (int k = 0; k < 8; k++)
		v[k] = (double)(start % 1024) + k;
	for (int i = 0; i < 4096; i++)
		for (int k = 0; k < 8; k++)
			v[k] = v[k] * 0.999 + 0.5;
	return (uint64_t)(v[0] + v[7]);
}

/* A few microseconds of work. Rounds follow each other through memory. */
static void step(enum tw_spin spin, uint64_t *v, uint64_t round)
{
	const size_t count = CHUNK_BYTES / sizeof(*v), each = LINE_BYTES / 8;
	uint64_t at = 0;

	switch (spin) {
	case TW_SPIN_MEMORY:
		v += round % (MEMORY_BYTES / CHUNK_BYTES) * count;
		for (size_t i = 0; i < count; i++)
			v[i] = v[i] + round;
		keep(v[0]);
		break;
	case TW_SPIN_CACHE:
		for (size_t i = 0; i < CACHE_BYTES / LINE_BYTES; i++)
			at = v[at * each];
		keep(at);
		break;
	case TW_SPIN_FLOAT:
		keep(multiply(round));
		break;
	default:
		keep(mix(round));
	}
}

static _Noreturn void spin_steps(enum tw_spin spin)
{
	uint64_t *v = make_buffer(spin);

	for (uint64_t round = 1;; round++)
		step(spin, v, round);
}

_Noreturn void tw_spinner_pace(enum tw_spin spin, const struct tw_pace *pace)
{
	uint64_t *v = make_buffer(spin), round = 0;
	uint64_t at_ns = tw_now_ns();

	for (uint64_t i = 0; i < pace->periods; i++) {
		struct timespec until;

		for (uint64_t k = 0; k < pace->steps; k++)
			step(spin, v, ++round);
		at_ns += pace->period_ms * 1000000;
		until = (struct timespec){ .tv_sec = (time_t)(at_ns / 1000000000),
					   .tv_nsec = (long)(at_ns % 1000000000) };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
	_exit(0);
}

double tw_spinner_speed(enum tw_spin spin, unsigned ms)
{
	const int64_t since_ns = cpu_time_ns();
	uint64_t *v = make_buffer(spin), round = 0;
	int64_t ns;

	do
		step(spin, v, ++round);
	while ((ns = cpu_time_ns() - since_ns) < (int64_t)ms * 1000000);
	free(v);
	return (double)round * 1e9 / (double)ns;
}

static _Noreturn void spin_disk(const char *dir)
{
	const int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char *data = get(DISK_BYTES);

	if (fd < 0)
		_exit(1);
	for (;;)
		if (pwrite(fd, data, DISK_BYTES, 0) < 0 || fdatasync(fd) < 0)
			_exit(1);
}

/* The partner ends with this process. */
static _Noreturn void spin_switch(void)
{
	int to[2], from[2];
	char byte = 0;
	pid_t pid;

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		_exit(1);
	pid = fork();
	if (pid < 0)
		_exit(1);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(to[1]);
		close(from[0]);
		while (read(to[0], &byte, 1) == 1 && write(from[1], &byte, 1) == 1)
			;
		_exit(1);
	}
	close(to[0]);
	close(from[1]);
	while (write(to[1], &byte, 1) == 1 && read(from[0], &byte, 1) == 1)
		;
	_exit(1);
}

_Noreturn void tw_spinner_run(enum tw_spin spin, unsigned load_percent, unsigned number,
			      const char *dir)
{
	static const enum tw_spin mixed[] = { TW_SPIN_CPU, TW_SPIN_MEMORY, TW_SPIN_SWITCH,
					      TW_SPIN_CACHE };

	if (spin == TW_SPIN_MIXED)
		spin = mixed[number % 4];
	switch (spin) {
	case TW_SPIN_CPU:
		spin_cpu(load_percent);
	case TW_SPIN_MEMORY:
	case TW_SPIN_CACHE:
	case TW_SPIN_FLOAT:
		spin_steps(spin);
	case TW_SPIN_DISK:
		spin_disk(dir);
	case TW_SPIN_SWITCH:
		spin_switch();
	case TW_SPIN_NONE:
	case TW_SPIN_MIXED:
		break;
	}
	_exit(1);
}
