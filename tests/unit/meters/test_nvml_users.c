/* SPDX-License-Identifier: Apache-2.0 */
/* The users of a GPU by a library that looks like NVIDIA's (tests/fake/nvml.c). */
#include "collector/meters/nvml_users.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/meters/nvml_fixture.h"
#include "tests/unit/tw_test.h"

#include <stdio.h>
#include <unistd.h>

/* The users of one GPU, without the rest of a meter. */
struct watched {
	struct tw_nvml_users u;
	struct tw_nvml *n;
	tw_nvml_device d;
};

static void watch(struct watched *w, const struct meter_fixture *f, const char *text)
{
	struct tw_err err = { 0 };

	*w = (struct watched){ .u.proc = f->dir };
	tell(f, text);
	assert_int_equal(tw_nvml_open(f->nvml, &w->n, &err), 0);
	assert_int_equal(w->n->by_index(0, &w->d), 0);
	assert_int_equal(tw_nvml_users_open(&w->u, w->n, w->d, &err), 0);
}

static void read_users(struct watched *w, const struct meter_fixture *f, const char *text)
{
	tell(f, text);
	tw_nvml_users_read(&w->u, w->n, w->d);
}

static void unwatch(struct watched *w)
{
	tw_nvml_users_release(&w->u, w->n);
	tw_nvml_close(w->n);
}

static uint64_t used_ns(const struct watched *w, uint32_t tgid)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < w->u.count; i++)
		sum += w->u.at[i].tgid == tgid ? w->u.at[i].used_ns : 0;
	return sum;
}

/* The driver samples less often than we read. */
static void a_sample_holds_until_the_next_is_due(void **state)
{
	struct meter_fixture *f = *state;
	struct watched w;

	watch(&w, f, "gpu GPU-a x\nuse 7 100 60 0 0\n");
	tw_nvml_users_read(&w.u, w.n, w.d);
	assert_int_equal(w.u.count, 1);
	assert_int_equal(w.u.at[0].used_ns, 100 * 60 * 10);
	tw_nvml_users_read(&w.u, w.n, w.d);
	assert_int_equal(w.u.count, 1);
	/* Two seconds later there is still none. */
	w.u.seen_ns -= 2 * S;
	tw_nvml_users_read(&w.u, w.n, w.d);
	assert_int_equal(w.u.count, 0);
	read_users(&w, f,
		   "gpu GPU-a x\nuse 7 100 60 0 0\nuse 7 101 50 0 0\n"
		   "use 8 102 50 0 0\n");
	assert_int_equal(w.u.count, 2);
	assert_int_equal(w.u.seen_us, 102);
	/* And none of a GPU that does not answer. */
	read_users(&w, f, "gpu GPU-a x\nlost\n");
	assert_int_equal(w.u.count, 0);
	unwatch(&w);
}

/* The driver forgets a process that has ended, with its samples. */
static void a_process_that_ends_between_two_readings_keeps_its_use(void **state)
{
	const char *first = "gpu GPU-a x\nuse 7 1000000 99 0 0\n";
	struct meter_fixture *f = *state;
	struct watched w;

	watch(&w, f, first);
	tw_nvml_users_read(&w.u, w.n, w.d);
	tell(f, "gpu GPU-a x\nuse 7 1200000 99 0 0\nuse 8 1400000 99 0 0\n");
	tw_nvml_users_watch(&w.u, w.n, w.d);
	read_users(&w, f, "gpu GPU-a x\nuse 8 1400000 99 0 0\nuse 8 1600000 99 0 0\n");
	/* A mean of 49 % over 400 ms, then 99 % over 200 ms. */
	assert_int_equal(used_ns(&w, 7), 49 * 400000 * 10);
	assert_int_equal(used_ns(&w, 8), (49 * 400000 + 99 * 200000) * 10);
	assert_true(w.u.at[0].of_ns >= 600000000);
	read_users(&w, f, "gpu GPU-a x\nuse 8 1800000 50 0 0\n");
	assert_int_equal(used_ns(&w, 7), 0);
	assert_int_equal(used_ns(&w, 8), 50 * 200000 * 10);
	unwatch(&w);
}

/* Entries of no process, or of more than there is, may have any time. */
static void garbage_is_no_sample(void **state)
{
	struct meter_fixture *f = *state;
	struct watched w;

	watch(&w, f, "gpu GPU-a x\n");
	read_users(&w, f,
		   "gpu GPU-a x\nuse 7 1000000 80 0 0\nuse 0 9000000 80 0 0\n"
		   "use 8 8000000 900 0 0\n");
	assert_int_equal(w.u.seen_us, 1000000);
	read_users(&w, f, "gpu GPU-a x\nuse 7 1200000 50 0 0\n");
	assert_int_equal(used_ns(&w, 7), 50 * 200000 * 10);
	unwatch(&w);
}

/* The driver has no sample that is newer than those of before. */
static void a_clock_that_is_set_back_is_followed(void **state)
{
	const unsigned long long now_us = 1000 * (unsigned long long)tw_wall_ms();
	struct meter_fixture *f = *state;
	struct watched w;
	char ahead[64], text[64];

	snprintf(ahead, sizeof(ahead), "gpu GPU-a x\nuse 7 %llu 80 0 0\n",
		 now_us + 3600000000);
	snprintf(text, sizeof(text), "gpu GPU-a x\nuse 8 %llu 50 0 0\n",
		 now_us + 600000000);
	watch(&w, f, "gpu GPU-a x\n");
	read_users(&w, f, ahead);
	read_users(&w, f, text);
	assert_int_equal(used_ns(&w, 8), 0);
	read_users(&w, f, text);
	assert_int_equal(used_ns(&w, 8), 50 * 1000000 * 10);
	/* Nor has it if it tells garbage only. */
	w.u.seen_us = now_us + 3600000000;
	read_users(&w, f, "gpu GPU-a x\nuse 0 9000000000000000 80 0 0\n");
	assert_in_range(w.u.seen_us, now_us, now_us + 3599000000);
	/* The newest stays the newest. */
	w.u.seen_us = now_us - 5000000;
	read_users(&w, f, "gpu GPU-a x\n");
	assert_int_equal(w.u.seen_us, now_us - 5000000);
	unwatch(&w);
}

/* Nobody has used it, but some hold it; and a driver that does not sample. */
static void those_that_hold_a_gpu_keep_it_awake(void **state)
{
	struct meter_fixture *f = *state;
	struct watched w;

	watch(&w, f, "gpu GPU-a x\n");
	read_users(&w, f, "gpu GPU-a x\n");
	assert_int_equal(w.u.count, 0);
	assert_int_equal(w.u.holders, 0);
	read_users(&w, f, "gpu GPU-a x\nhold 7 999\nhold 8 1\nuse 7 5 0 0 0\n");
	assert_int_equal(used_ns(&w, 7), used_ns(&w, 8));
	assert_true(used_ns(&w, 7) > 0);
	read_users(&w, f, "gpu GPU-a x\nhold 7 999\nhold 8 1\nuse 7 9 10 0 0\n");
	assert_int_equal(used_ns(&w, 7), 10 * 4 * 10 + 1);
	assert_int_equal(used_ns(&w, 8), 1);
	unwatch(&w);

	watch(&w, f, "gpu GPU-a x\nfail samples 3\nhold 7 999\nhold 8 1\n");
	assert_false(w.u.sampled);
	tw_nvml_users_read(&w.u, w.n, w.d);
	assert_int_equal(used_ns(&w, 7), used_ns(&w, 8));
	/* Who holds it is not told, either. */
	read_users(&w, f, "gpu GPU-a x\nfail processes 4\n");
	assert_int_equal(w.u.count, 0);
	assert_int_equal(w.u.holders, -1);
	unwatch(&w);
}

/* Samples that may not be read are no reason to take those of before for new ones. */
static void without_permission_there_are_no_users(void **state)
{
	struct meter_fixture *f = *state;
	struct watched w;

	watch(&w, f, "gpu GPU-a x\nuse 7 5 60 0 0\n");
	tw_nvml_users_read(&w.u, w.n, w.d);
	assert_int_equal(w.u.count, 1);
	read_users(&w, f, "gpu GPU-a x\nfail samples 4\nfail processes 4\n");
	assert_int_equal(w.u.count, 0);
	read_users(&w, f, "gpu GPU-a x\nuse 7 9 60 0 0\n");
	assert_int_equal(w.u.count, 1);
	unwatch(&w);
}

/* A driver of long ago, and one with MIG but without what tells of its instances. */
static void functions_may_be_missing(void **state)
{
	struct meter_fixture *f = *state;
	struct watched w;

	watch(&w, f, "gpu GPU-a x\nmig\nslice 1 3 0\nin 1 7\n");
	w.n->gpm_metrics = NULL;
	tw_nvml_users_read(&w.u, w.n, w.d);
	assert_true(used_ns(&w, 7) > 0);
	w.n->attributes = NULL;
	wait_for_gpm();
	tw_nvml_users_read(&w.u, w.n, w.d);
	assert_int_equal(w.u.count, 0);
	w.n->mig_mode = NULL;
	w.n->samples = NULL;
	w.n->processes = NULL;
	w.n->mps_clients = NULL;
	w.u.sampled = false;
	tw_nvml_users_read(&w.u, w.n, w.d);
	assert_int_equal(w.u.count, 0);
	assert_int_equal(w.u.holders, -1);
	unwatch(&w);
}

static void write_comm(const struct meter_fixture *f, unsigned pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%u/comm", pid);
	tree_write(f->dir, path, name);
}

/* The driver samples the server; its clients have equal parts, 9 is none. */
static void what_an_mps_server_used_is_its_clients(void **state)
{
	const char *text = "gpu GPU-a x\nhold 5 1\nhold 7 99\nhold 8 1\nclient 7 99\n"
			   "client 8 1\nuse 5 1000000 80 0 0\nuse 9 1000000 10 0 0\n";
	struct meter_fixture *f = *state;
	struct watched w;

	write_comm(f, 5, "nvidia-cuda-mps\n");
	write_comm(f, 7, "python3\n");
	write_comm(f, 8, "python3\n");
	write_comm(f, 9, "python3\n");
	watch(&w, f, "gpu GPU-a x\n");
	read_users(&w, f, text);
	assert_int_equal(used_ns(&w, 5), 0);
	assert_int_equal(used_ns(&w, 7), 40 * 1000000 * 10 + 1);
	assert_int_equal(used_ns(&w, 8), 40 * 1000000 * 10 + 1);
	assert_int_equal(used_ns(&w, 9), 10 * 1000000 * 10);
	unwatch(&w);
	/* Another program of that pid, after the server has ended. */
	write_comm(f, 5, "bash\n");
	watch(&w, f, "gpu GPU-a x\n");
	read_users(&w, f, text);
	assert_int_equal(used_ns(&w, 5), 80 * 1000000 * 10 + 1);
	assert_int_equal(used_ns(&w, 7), 1);
	unwatch(&w);
}

/* Files of a process that nobody may debug are root's. */
static void who_is_no_root_gives_no_use_to_others(void **state)
{
	struct meter_fixture *f = *state;
	struct watched w;
	char path[1024];

	if (geteuid() != 0) {
		printf("SKIPPED: test_nvml_users: not root, who gives files away\n");
		skip();
	}
	write_comm(f, 5, "nvidia-cuda-mps\n");
	write_comm(f, 7, "python3\n");
	write_comm(f, 8, "python3\n");
	for (int pid = 5; pid <= 7; pid += 2) {
		snprintf(path, sizeof(path), "%s/%d", f->dir, pid);
		assert_int_equal(chown(path, 1234, 1234), 0);
	}
	watch(&w, f, "gpu GPU-a x\n");
	read_users(&w, f, "gpu GPU-a x\nclient 7 9\nclient 8 9\nuse 5 1000000 80 0 0\n");
	assert_int_equal(used_ns(&w, 7), 80 * 1000000 * 10);
	assert_int_equal(used_ns(&w, 8), 0);
	unwatch(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NVML_TEST(a_sample_holds_until_the_next_is_due),
		NVML_TEST(a_process_that_ends_between_two_readings_keeps_its_use),
		NVML_TEST(garbage_is_no_sample),
		NVML_TEST(a_clock_that_is_set_back_is_followed),
		NVML_TEST(those_that_hold_a_gpu_keep_it_awake),
		NVML_TEST(without_permission_there_are_no_users),
		NVML_TEST(functions_may_be_missing),
		NVML_TEST(what_an_mps_server_used_is_its_clients),
		NVML_TEST(who_is_no_root_gives_no_use_to_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
