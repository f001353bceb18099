/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "collector/workloads/traces.h"
#include "lib/core/err.h"
#include "tests/unit/collector/kernel_pids.h"
#include "tests/unit/collector/bpf_lock.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Two offsets of a file that are never in one folio. */
#define FAR (8 << 20)

#define TIMES 200

struct told {
	uint32_t tgid;
	enum tw_process_status whose; /* answered for it */
	uint64_t count[TW_COUNTER_COUNT];
	unsigned calls, lasts;
};

static enum tw_process_status on_counted(void *arg, uint32_t tgid,
					 const uint64_t more[TW_COUNTER_COUNT], bool last)
{
	struct told *told = arg;

	if (tgid != told->tgid)
		return TW_PROCESS_LIVING;
	told->calls++;
	told->lasts += last;
	if (told->whose == TW_PROCESS_UNKNOWN && !last)
		return TW_PROCESS_UNKNOWN;
	for (int i = 0; i < TW_COUNTER_COUNT; i++)
		told->count[i] += more[i];
	return told->whose;
}

static struct tw_traces *open_traces(enum tw_trace trace)
{
	const char *require = getenv("TW_REQUIRE");
	struct tw_traces *t = NULL;
	struct tw_err err = { 0 };

	need_kernel_pids("test_traces");
	if (tw_traces_open(&t, &err) == 0 && tw_traces_add(t, trace, &err) == 0)
		return t;
	tw_traces_close(t);
	if (require != NULL && strstr(require, "bpf") != NULL &&
	    err.code != TW_UNSUPPORTED)
		fail_msg("TW_REQUIRE names bpf: %s", err.text);
	printf("SKIPPED: test_traces: %s\n", err.text);
	skip();
	return NULL;
}

static void read_traces(struct tw_traces *t, struct told *told)
{
	struct tw_err err = { 0 };

	if (tw_traces_read(t, on_counted, told, &err) < 0)
		fail_msg("%s", err.text);
}

/* A file whose two pages are in the page cache. Reads of a tmpfs are no hits. */
static int open_cached(void)
{
	const char page[4096] = "page";
	char path[] = "/var/tmp/tw-cached.XXXXXX";
	const int fd = mkostemp(path, O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(pwrite(fd, page, sizeof(page), 0), sizeof(page));
	assert_int_equal(pwrite(fd, page, sizeof(page), FAR), sizeof(page));
	return fd;
}

static void read_pages(int fd)
{
	char page[4096];

	for (int i = 0; i < TIMES; i++)
		if (pread(fd, page, sizeof(page), i % 2 * FAR) != sizeof(page))
			abort();
}

static void pages_of_the_cache_that_are_read_are_counted(void **state)
{
	struct tw_traces *t = open_traces(TW_TRACE_PAGE_CACHE);
	struct told told = { .tgid = (uint32_t)getpid(), .whose = TW_PROCESS_LIVING };
	const int fd = open_cached();

	(void)state;
	read_traces(t, &told);
	memset(told.count, 0, sizeof(told.count));
	read_pages(fd);
	read_traces(t, &told);
	/* The test's process reads little else. */
	assert_in_range(told.count[TW_COUNTER_PAGE_CACHE_HITS], TIMES, 2 * TIMES);
	assert_int_equal(told.count[TW_COUNTER_NET_RX_SOFTIRQS], 0);
	assert_true(tw_traces_have(t, TW_COUNTER_PAGE_CACHE_HITS));
	assert_false(tw_traces_have(t, TW_COUNTER_NET_RX_SOFTIRQS));
	assert_false(tw_traces_have(t, TW_COUNTER_CYCLES));
	assert_int_equal(tw_traces_lost(t), 0);
	close(fd);
	tw_traces_close(t);
}

/*
 * Counts of a process whose exit is not known yet are reported again, then for the last
 * time.
 */
static void counts_of_an_ended_process_wait_for_its_exit(void **state)
{
	struct tw_traces *t = open_traces(TW_TRACE_PAGE_CACHE);
	struct told told = { .whose = TW_PROCESS_UNKNOWN };
	const int fd = open_cached();
	const pid_t pid = fork();
	uint64_t hits;

	(void)state;
	if (pid == 0) {
		read_pages(fd);
		_exit(0);
	}
	told.tgid = (uint32_t)pid;
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	read_traces(t, &told);
	assert_int_equal(told.calls, 1);
	assert_int_equal(told.count[TW_COUNTER_PAGE_CACHE_HITS], 0);
	read_traces(t, &told);
	read_traces(t, &told);
	assert_int_equal(told.calls, 3);
	assert_int_equal(told.lasts, 1);
	hits = told.count[TW_COUNTER_PAGE_CACHE_HITS];
	assert_in_range(hits, TIMES, 2 * TIMES);
	/* It was deleted from the map. */
	read_traces(t, &told);
	assert_int_equal(told.calls, 3);
	close(fd);
	tw_traces_close(t);
}

/* On the loopback device the sender's softirq receives a packet. */
static void softirqs_are_counted_by_their_vector(void **state)
{
	struct tw_traces *t = open_traces(TW_TRACE_SOFTIRQS);
	struct told told = { .tgid = (uint32_t)getpid(), .whose = TW_PROCESS_LIVING };
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in self = { .sin_family = AF_INET,
				    .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(self);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&self, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&self, &len), 0);
	read_traces(t, &told);
	memset(told.count, 0, sizeof(told.count));
	for (int i = 0; i < TIMES; i++)
		assert_int_equal(
			sendto(fd, "x", 1, 0, (struct sockaddr *)&self, sizeof(self)), 1);
	read_traces(t, &told);
	/*
	 * Softirqs of other processes may come between, and process some of these
	 * packets.
	 */
	assert_in_range(told.count[TW_COUNTER_NET_RX_SOFTIRQS], TIMES / 2, 10 * TIMES);
	assert_int_equal(told.count[TW_COUNTER_PAGE_CACHE_HITS], 0);
	assert_true(tw_traces_have(t, TW_COUNTER_BLOCK_SOFTIRQS));
	assert_false(tw_traces_have(t, TW_COUNTER_PAGE_CACHE_HITS));
	close(fd);
	tw_traces_close(t);
}

static void without_traces_a_read_reports_nothing(void **state)
{
	struct tw_traces *t = NULL;
	struct told told = { .tgid = (uint32_t)getpid() };
	struct tw_err err = { 0 };

	(void)state;
	if (tw_traces_open(&t, &err) < 0) {
		assert_int_equal(err.code, TW_UNSUPPORTED);
		skip();
	}
	read_traces(t, &told);
	assert_int_equal(told.calls, 0);
	assert_int_equal(tw_traces_lost(t), 0);
	tw_traces_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_of_the_cache_that_are_read_are_counted),
		cmocka_unit_test(counts_of_an_ended_process_wait_for_its_exit),
		cmocka_unit_test(softirqs_are_counted_by_their_vector),
		cmocka_unit_test(without_traces_a_read_reports_nothing),
	};

	return cmocka_run_group_tests(tests, bpf_lock, NULL);
}
