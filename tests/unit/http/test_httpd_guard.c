/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/http/server/httpd_guard.h"

#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

/* The test sets the clock. */
static uint64_t now_ms;

uint64_t __wrap_tw_now_ms(void);

uint64_t __wrap_tw_now_ms(void)
{
	return now_ms;
}

struct fixture {
	struct tw_guard *guard;
	int end[2]; /* sockets of the server and the client */
};

static void set_up(struct fixture *f)
{
	struct tw_err err = { 0 };

	now_ms = 1000;
	assert_int_equal(tw_guard_open(false, 0, 0, &f->guard, &err), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
				    0, f->end),
			 0);
}

static void tear_down(struct fixture *f, struct tw_guarded *c)
{
	tw_guard_drop(f->guard, c);
	tw_guard_close(f->guard);
	close(f->end[0]);
	close(f->end[1]);
}

static bool is_ended(const struct fixture *f)
{
	char byte;
	const ssize_t n = read(f->end[1], &byte, 1);

	assert_true(n == 0 || errno == EAGAIN);
	return n == 0;
}

static void without_a_thread_the_caller_gets_the_next_deadline(void **state)
{
	struct tw_guarded *c;
	struct fixture f;

	(void)state;
	set_up(&f);
	assert_int_equal(tw_guard_wait_ms(f.guard), -1);
	c = tw_guard_add(f.guard, f.end[0], &f);
	assert_non_null(c);
	assert_ptr_equal(tw_guard_owner(c), &f);
	assert_int_equal(tw_guard_wait_ms(f.guard), TW_GUARD_HEAD_MS + 1);
	now_ms += TW_GUARD_HEAD_MS;
	tw_guard_end_late(f.guard);
	assert_false(is_ended(&f));
	assert_int_equal(tw_guard_wait_ms(f.guard), 1);
	now_ms += 1;
	tw_guard_end_late(f.guard);
	assert_true(is_ended(&f));
	/* A late connection that is not dropped yet does not make the caller spin. */
	assert_int_equal(tw_guard_wait_ms(f.guard), 1000);
	tear_down(&f, c);
}

static void received_bytes_and_an_answer_extend_the_deadline(void **state)
{
	struct tw_guarded *c;
	struct fixture f;

	(void)state;
	set_up(&f);
	c = tw_guard_add(f.guard, f.end[0], NULL);
	assert_non_null(c);
	tw_guard_receiving(c);
	tw_guard_received(c, 10 * 1024);
	assert_int_equal(tw_guard_wait_ms(f.guard),
			 TW_GUARD_HEAD_MS + 10 * TW_GUARD_MS_PER_KIB + 1);
	tw_guard_answering(c);
	assert_int_equal(tw_guard_wait_ms(f.guard), TW_GUARD_ANSWER_MS + 1);
	now_ms += TW_GUARD_ANSWER_MS;
	tw_guard_waiting(c);
	assert_int_equal(tw_guard_wait_ms(f.guard), TW_GUARD_HEAD_MS + 1);
	tw_guard_end_late(f.guard);
	assert_false(is_ended(&f));
	tear_down(&f, c);
}

/* As of a chunked body, or of a link whose packets arrive one by one. */
static void small_pieces_extend_the_deadline_as_much_as_a_large_one(void **state)
{
	struct tw_guarded *c;
	struct fixture f;

	(void)state;
	set_up(&f);
	c = tw_guard_add(f.guard, f.end[0], NULL);
	assert_non_null(c);
	tw_guard_receiving(c);
	for (int i = 0; i < 1024; i++)
		tw_guard_received(c, 10);
	tw_guard_received(c, 1448);
	tw_guard_received(c, 600);
	assert_int_equal(tw_guard_wait_ms(f.guard),
			 TW_GUARD_HEAD_MS + 12 * TW_GUARD_MS_PER_KIB + 1);
	/* The rest of a KiB is not of the next body. */
	tw_guard_received(c, 1023);
	tw_guard_receiving(c);
	tw_guard_received(c, 1);
	assert_int_equal(tw_guard_wait_ms(f.guard), TW_GUARD_HEAD_MS + 1);
	tear_down(&f, c);
}

static void while_the_server_works_there_is_no_deadline(void **state)
{
	struct tw_guarded *c, *other;
	struct fixture f;

	(void)state;
	set_up(&f);
	c = tw_guard_add(f.guard, f.end[0], NULL);
	assert_non_null(c);
	tw_guard_receiving(c);
	tw_guard_working(c);
	assert_int_equal(tw_guard_wait_ms(f.guard), -1);
	now_ms += UINT64_C(1000) * 86400 * 365;
	tw_guard_end_late(f.guard);
	assert_false(is_ended(&f));
	/* Another connection keeps its deadline. */
	other = tw_guard_add(f.guard, f.end[0], NULL);
	assert_int_equal(tw_guard_wait_ms(f.guard), TW_GUARD_HEAD_MS + 1);
	tw_guard_drop(f.guard, other);
	tw_guard_answering(c);
	assert_int_equal(tw_guard_wait_ms(f.guard), TW_GUARD_ANSWER_MS + 1);
	now_ms += TW_GUARD_ANSWER_MS + 1;
	tw_guard_end_late(f.guard);
	assert_true(is_ended(&f));
	tear_down(&f, c);
}

static void the_earliest_deadline_counts(void **state)
{
	struct tw_guarded *first, *second;
	struct fixture f;

	(void)state;
	set_up(&f);
	first = tw_guard_add(f.guard, f.end[0], NULL);
	now_ms += 500;
	second = tw_guard_add(f.guard, f.end[0], NULL);
	assert_int_equal(tw_guard_wait_ms(f.guard), TW_GUARD_HEAD_MS - 500 + 1);
	tw_guard_drop(f.guard, first);
	assert_int_equal(tw_guard_wait_ms(f.guard), TW_GUARD_HEAD_MS + 1);
	tear_down(&f, second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_thread_the_caller_gets_the_next_deadline),
		cmocka_unit_test(received_bytes_and_an_answer_extend_the_deadline),
		cmocka_unit_test(small_pieces_extend_the_deadline_as_much_as_a_large_one),
		cmocka_unit_test(while_the_server_works_there_is_no_deadline),
		cmocka_unit_test(the_earliest_deadline_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
