/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collector_ticks N: so many ticks of the real table and the real tasks, one right after
 * the other and told that 3 s passed in between, with processes that end in each and a
 * scrape after every fifth. Prints resident KiB after a tenth of them and after all.
 */
#include "collector/collector.h"
#include "collector/system/roots.h"
#include "collector/workloads/workload.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/num.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_NS UINT64_C(3000000000)
#define ENDS 5

static int fail(const struct tw_err *err)
{
	fprintf(stderr, "collector_ticks: %s\n", err->text);
	return 1;
}

static long resident_kib(void)
{
	long total = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f != NULL && fscanf(f, "%ld %ld", &total, &resident) != 2)
		resident = 0;
	if (f != NULL)
		fclose(f);
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(int argc, char **argv)
{
	const struct tw_roots roots = { .proc = "/proc", .sys = "/sys", .dev = "/dev" };
	const struct tw_workloads_config c = {
		.roots = &roots, .bpf = true, .keep_ms = 300000, .ended_max = 10000
	};
	struct tw_workloads *t = NULL;
	struct tw_err err = { 0 };
	uint32_t n = 0;

	if (argc != 2 || tw_parse_u32(argv[1], 10, UINT32_MAX, &n, &err) < 0 ||
	    tw_workloads_open(&c, &t, &err) < 0)
		return fail(&err);
	for (uint32_t i = 0; i < n; i++) {
		for (int k = 0; k < ENDS; k++) {
			const pid_t pid = fork();

			if (pid == 0)
				_exit(0);
			if (pid > 0)
				waitpid(pid, NULL, 0);
		}
		if (tw_workloads_tick(t, tw_boot_ns() + i * TICK_NS, &err) < 0)
			return fail(&err);
		if (i % 5 == 4)
			tw_workloads_scraped(t);
		if (i == n / 10)
			printf("%ld ", resident_kib());
	}
	printf("%ld\n", resident_kib());
	tw_workloads_close(t);
	return 0;
}
