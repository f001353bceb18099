/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "trainer/service/turns.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* A training that goes on until the flag is set, or until it is cancelled. */
struct training {
	struct tw_turns *turns;
	struct tw_turn turn;
	pthread_t thread;
	atomic_int until;
	atomic_int begun, tasks, cancelled;
};

static struct tw_turns *make(unsigned parallel, unsigned queue)
{
	const struct tw_turns_config c = { .parallel = parallel, .queue = queue };
	struct tw_err err = { 0 };
	struct tw_turns *t;

	assert_int_equal(tw_turns_new(&c, &t, &err), 0);
	return t;
}

static void *train(void *arg)
{
	struct training *t = arg;

	if (tw_turns_go_on(t->turns, &t->turn)) {
		atomic_store(&t->begun, 1);
		while (!atomic_load(&t->until) && tw_turns_go_on(t->turns, &t->turn))
			atomic_fetch_add(&t->tasks, 1);
	}
	atomic_store(&t->cancelled, tw_turns_cancelled(t->turns, &t->turn));
	tw_turns_remove(t->turns, &t->turn);
	return NULL;
}

static void start(struct training *t, struct tw_turns *turns, const char *pipeline)
{
	t->turns = turns;
	t->turn.pipeline = pipeline;
	assert_true(tw_turns_add(turns, &t->turn));
	assert_int_equal(pthread_create(&t->thread, NULL, train, t), 0);
}

static void wait_for(atomic_int *value)
{
	while (!atomic_load(value))
		sched_yield();
}

static void end(struct training *t)
{
	atomic_store(&t->until, 1);
	pthread_join(t->thread, NULL);
}

static void a_short_training_does_not_wait_for_the_end_of_a_long_one(void **state)
{
	struct training first = { 0 }, second = { 0 }, brief = { .until = 1 };
	struct tw_turns *t = make(1, 2);

	(void)state;
	start(&first, t, "first");
	wait_for(&first.begun);
	start(&second, t, "second");
	/* Ends although the others never do by themselves. */
	start(&brief, t, "brief");
	pthread_join(brief.thread, NULL);
	assert_true(atomic_load(&brief.begun));
	wait_for(&second.tasks);
	end(&first);
	end(&second);
	assert_false(atomic_load(&first.cancelled));
	tw_turns_free(t);
}

static void trainings_into_one_pipeline_run_one_after_the_other(void **state)
{
	struct training first = { 0 }, same = { 0 }, reader = { 0 }, other = { 0 };
	struct tw_turns *t = make(4, 0);

	(void)state;
	start(&first, t, "web");
	wait_for(&first.begun);
	start(&same, t, "web");
	reader.turn.reads = "web";
	start(&reader, t, "dyn");
	start(&other, t, "other");
	wait_for(&other.tasks);
	assert_false(atomic_load(&same.begun));
	assert_false(atomic_load(&reader.begun));
	end(&first);
	wait_for(&same.begun);
	assert_false(atomic_load(&reader.begun));
	end(&same);
	wait_for(&reader.begun);
	end(&reader);
	end(&other);
	tw_turns_free(t);
}

static void more_trainings_than_the_limit_are_refused(void **state)
{
	struct training first = { 0 }, second = { 0 };
	struct tw_turn third = { .pipeline = "third" };
	struct tw_turns *t = make(1, 1);

	(void)state;
	start(&first, t, "first");
	start(&second, t, "second");
	assert_false(tw_turns_add(t, &third));
	end(&first);
	assert_true(tw_turns_add(t, &third));
	tw_turns_remove(t, &third);
	end(&second);
	tw_turns_free(t);
}

static void a_cancelled_training_ends_whether_it_waits_or_runs(void **state)
{
	struct training runs = { 0 }, waits = { 0 };
	struct tw_turns *t = make(1, 1);

	(void)state;
	start(&runs, t, "web");
	wait_for(&runs.begun);
	start(&waits, t, "web");
	tw_turns_cancel(t, &waits.turn);
	pthread_join(waits.thread, NULL);
	assert_false(atomic_load(&waits.begun));
	tw_turns_cancel(t, &runs.turn);
	pthread_join(runs.thread, NULL);
	assert_true(atomic_load(&runs.cancelled));
	tw_turns_free(t);
}

static void a_stop_ends_all_trainings_and_begins_no_other(void **state)
{
	struct training runs = { 0 }, waits = { 0 };
	struct tw_turn late = { .pipeline = "late" };
	struct tw_turns *t = make(1, 3);

	(void)state;
	start(&runs, t, "web");
	wait_for(&runs.begun);
	start(&waits, t, "web");
	tw_turns_stop(t, 1);
	pthread_join(runs.thread, NULL);
	pthread_join(waits.thread, NULL);
	assert_true(atomic_load(&runs.cancelled));
	assert_false(atomic_load(&waits.begun));
	assert_false(tw_turns_add(t, &late));
	tw_turns_free(t);
}

static void pauses_do_not_count_as_run_time(void **state)
{
	struct tw_turn turn = { .pipeline = "web" };
	struct tw_turns *t = make(1, 1);
	uint64_t ran;

	(void)state;
	assert_int_equal(tw_turns_ran_ns(t, &turn), 0);
	assert_true(tw_turns_add(t, &turn));
	assert_true(tw_turns_go_on(t, &turn));
	while ((ran = tw_turns_ran_ns(t, &turn)) == 0)
		;
	assert_true(tw_turns_ran_ns(t, &turn) >= ran);
	tw_turns_remove(t, &turn);
	ran = tw_turns_ran_ns(t, &turn);
	assert_int_equal(tw_turns_ran_ns(t, &turn), ran);
	tw_turns_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_short_training_does_not_wait_for_the_end_of_a_long_one),
		cmocka_unit_test(trainings_into_one_pipeline_run_one_after_the_other),
		cmocka_unit_test(more_trainings_than_the_limit_are_refused),
		cmocka_unit_test(a_cancelled_training_ends_whether_it_waits_or_runs),
		cmocka_unit_test(a_stop_ends_all_trainings_and_begins_no_other),
		cmocka_unit_test(pauses_do_not_count_as_run_time),
	};

	return cmocka_run_group_tests_name("turns", tests, NULL, NULL);
}
