/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of a collector that is gone, or stuck, are not read as 0 W. */
#include "tests/unit/tw_test.h"

#include "collector/powercap_keeper.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/scratch.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ZONES "class/powercap"
#define LONG_MS 60000

static const char *const counters[] = {
	"own/" ZONES "/intel-rapl:0",
	"own/" ZONES "/intel-rapl:0:2",
	"vms/a/" ZONES "/intel-rapl:0",
	"vms/b/" ZONES "/intel-rapl:1",
};

struct trees {
	char *dir, *own, *vms;
	struct tw_aside keeper;
};

static bool has(const struct trees *t, const char *zone, const char *file)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s/%s", t->dir, zone, file);
	return access(path, F_OK) == 0;
}

/* How many zones have the file. */
static size_t count(const struct trees *t, const char *file)
{
	size_t found = 0;

	for (size_t i = 0; i < 4; i++)
		found += has(t, counters[i], file);
	return found;
}

static void write_counters(const struct trees *t)
{
	for (size_t i = 0; i < 4; i++)
		tree_rapl(t->dir, counters[i], "package-0", 1000, 262143328850);
}

static void wait_for(const struct trees *t, const char *file, size_t zones)
{
	const uint64_t until = tw_now_ms() + LONG_MS;

	while (count(t, file) != zones && tw_now_ms() < until)
		poll(NULL, 0, 1);
	assert_int_equal(count(t, file), zones);
}

static int set_up(void **state)
{
	struct trees *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->dir = scratch_new();
	t->own = scratch_path(t->dir, "own");
	t->vms = scratch_path(t->dir, "vms");
	write_counters(t);
	tree_write(t->dir, "vms/notes/energy_uj", "of somebody\n");
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct trees *t = *state;

	tw_aside_close(&t->keeper);
	free(t->own);
	free(t->vms);
	scratch_free(t->dir);
	free(t);
	return 0;
}

static void start(struct trees *t, int patience_ms)
{
	const struct tw_powercap_keeper_config c = { .node_dir = t->own,
						     .vm_dir = t->vms,
						     .patience_ms = patience_ms };
	struct tw_err err = { 0 };

	if (tw_powercap_keeper_start(&c, &t->keeper, &err) < 0)
		fail_msg("%s", err.text);
}

static void counters_of_an_earlier_collector_are_retired(void **state)
{
	struct trees *t = *state;

	start(t, LONG_MS);
	assert_int_equal(count(t, "energy_uj"), 0);
	assert_int_equal(count(t, "last_uj"), 4);
	assert_true(has(t, "vms/notes", "energy_uj"));
}

static void counters_of_a_killed_collector_are_retired(void **state)
{
	struct trees *t = *state;
	const pid_t collector = fork();

	if (collector == 0) {
		start(t, LONG_MS);
		write_counters(t);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(collector, NULL, 0), collector);
	wait_for(t, "energy_uj", 0);
	assert_int_equal(count(t, "last_uj"), 4);
}

static void a_collector_that_is_stuck_may_go_on(void **state)
{
	struct trees *t = *state;

	start(t, 10);
	for (int i = 0; i < 2; i++) {
		write_counters(t);
		tw_powercap_keeper_beat(&t->keeper);
		wait_for(t, "energy_uj", 0);
	}
}

static void a_signal_to_all_does_not_end_the_keeper(void **state)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
	struct trees *t = *state;

	start(t, LONG_MS);
	for (size_t i = 0; i < 4; i++)
		kill(t->keeper.pid, signals[i]);
	write_counters(t);
	tw_aside_close(&t->keeper);
	assert_int_equal(count(t, "energy_uj"), 0);
}

static void without_trees_there_is_no_keeper(void **state)
{
	const struct tw_powercap_keeper_config none = { .patience_ms = 1 };
	struct tw_aside k = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_powercap_keeper_start(&none, &k, &err), 0);
	assert_int_equal(k.pid, 0);
	tw_powercap_keeper_beat(&k);
	tw_aside_close(&k);
}

static void a_user_that_is_not_there_is_an_error(void **state)
{
	struct trees *t = *state;
	const struct tw_powercap_keeper_config c = {
		.node_dir = t->own, .privilege = { .user = "no-such-user" }
	};
	struct tw_err err = { 0 };

	if (geteuid() != 0) {
		printf("SKIPPED: test_powercap_keeper: not root, which may become "
		       "others\n");
		skip();
	}
	assert_int_equal(tw_powercap_keeper_start(&c, &t->keeper, &err), -1);
	assert_non_null(strstr(err.text, "no-such-user"));
	assert_int_equal(count(t, "energy_uj"), 4);
}

#define KEEPER_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		KEEPER_TEST(counters_of_an_earlier_collector_are_retired),
		KEEPER_TEST(counters_of_a_killed_collector_are_retired),
		KEEPER_TEST(a_collector_that_is_stuck_may_go_on),
		KEEPER_TEST(a_signal_to_all_does_not_end_the_keeper),
		KEEPER_TEST(without_trees_there_is_no_keeper),
		KEEPER_TEST(a_user_that_is_not_there_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
