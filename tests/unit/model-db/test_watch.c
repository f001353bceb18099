/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "model-db/index/watch.h"
#include "tests/unit/scratch.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
	char *dir, *db, *name, *other;
	struct tw_watch watch;
};

static void start(struct place *p)
{
	struct tw_err err = { 0 };

	*p = (struct place){ .dir = scratch_new(), .watch = TW_WATCH_NONE };
	assert_int_equal(tw_path_join(&p->db, &err, p->dir, "db", NULL), 0);
	assert_int_equal(tw_path_join(&p->name, &err, p->db, "pipeline", NULL), 0);
	assert_int_equal(tw_path_join(&p->other, &err, p->db, ".tmp", NULL), 0);
	assert_int_equal(tw_watch_open(&p->watch, &err), 0);
}

static void stop(struct place *p)
{
	tw_watch_close(&p->watch);
	free(p->db);
	free(p->name);
	free(p->other);
	scratch_free(p->dir);
}

/* inotify tells of what was done before it is asked. */
static bool changed(struct place *p)
{
	struct pollfd fd = { .fd = p->watch.fd, .events = POLLIN };
	bool told = poll(&fd, 1, 0) == 1;

	return tw_watch_changed(&p->watch) && told;
}

static void added_and_removed_pipelines_are_noticed(void **state)
{
	struct place p;

	(void)state;
	start(&p);
	assert_int_equal(mkdir(p.db, 0700), 0);
	assert_true(tw_watch_directory(&p.watch, p.db));
	assert_false(changed(&p));
	assert_int_equal(mkdir(p.other, 0700), 0);
	assert_false(changed(&p));
	assert_int_equal(rename(p.other, p.name), 0);
	assert_true(changed(&p));
	assert_false(changed(&p));
	assert_int_equal(rmdir(p.name), 0);
	assert_true(changed(&p));
	stop(&p);
}

static void an_absent_database_is_not_watched(void **state)
{
	struct place p;

	(void)state;
	start(&p);
	assert_false(tw_watch_directory(&p.watch, p.db));
	assert_int_equal(p.watch.wd, -1);
	assert_int_equal(mkdir(p.db, 0700), 0);
	assert_true(tw_watch_directory(&p.watch, p.db));
	assert_int_equal(mkdir(p.name, 0700), 0);
	assert_true(changed(&p));
	stop(&p);
}

static void a_removed_database_is_noticed(void **state)
{
	struct place p;

	(void)state;
	start(&p);
	assert_int_equal(mkdir(p.db, 0700), 0);
	assert_true(tw_watch_directory(&p.watch, p.db));
	assert_int_equal(rmdir(p.db), 0);
	assert_true(changed(&p));
	assert_int_equal(p.watch.wd, -1);

	assert_int_equal(mkdir(p.db, 0700), 0);
	assert_true(tw_watch_directory(&p.watch, p.db));
	assert_false(changed(&p));
	stop(&p);
}

static void a_replaced_directory_is_watched(void **state)
{
	struct tw_err err = { 0 };
	struct place p;
	char *aside;

	(void)state;
	start(&p);
	assert_int_equal(tw_path_join(&aside, &err, p.dir, "aside", NULL), 0);
	assert_int_equal(mkdir(p.db, 0700), 0);
	assert_true(tw_watch_directory(&p.watch, p.db));
	assert_int_equal(rename(p.db, aside), 0);
	assert_int_equal(mkdir(p.db, 0700), 0);
	assert_true(changed(&p));
	assert_int_equal(p.watch.wd, -1);
	assert_true(tw_watch_directory(&p.watch, p.db));
	assert_false(changed(&p));
	assert_int_equal(mkdir(p.name, 0700), 0);
	assert_true(changed(&p));
	free(aside);
	stop(&p);
}

static void a_file_is_not_watched_as_a_database(void **state)
{
	struct tw_err err = { 0 };
	struct place p;

	(void)state;
	start(&p);
	assert_int_equal(tw_file_create(p.db, "x", 1, &err), 0);
	assert_false(tw_watch_directory(&p.watch, p.db));
	stop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(added_and_removed_pipelines_are_noticed),
		cmocka_unit_test(an_absent_database_is_not_watched),
		cmocka_unit_test(a_removed_database_is_noticed),
		cmocka_unit_test(a_replaced_directory_is_watched),
		cmocka_unit_test(a_file_is_not_watched_as_a_database),
	};

	return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
