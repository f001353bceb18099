/* SPDX-License-Identifier: Apache-2.0 */
/* collector/texts.c: texts by children, shared, cut, and limited. */
#include "tests/unit/tw_test.h"

#include "collector/texts.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/http/server/httpd_growing.h"
#include "lib/program/daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* More than the soft limit of systemd's services: 1,024. */
#define FILES 1500

struct fixture {
	struct tw_texts *texts;
	struct tw_err err;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (f == NULL || tw_texts_open(&f->texts, &f->err) < 0)
		return -1;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	tw_texts_close(f->texts);
	free(f);
	return 0;
}

static char word[] = "word";

static void write_word(void *arg, struct tw_text_out *o)
{
	tw_buf_adds(&o->buf, arg);
	tw_text_drain(o);
}

/* A child that is killed before its text is whole. */
static void write_and_die(void *arg, struct tw_text_out *o)
{
	(void)arg;
	for (int i = 0; i < 10000; i++)
		tw_buf_adds(&o->buf, "0123456789012345678901234567890123456789");
	tw_text_drain(o);
	_exit(9);
}

static void write_when_told(void *arg, struct tw_text_out *o)
{
	(void)o;
	while (sem_wait(arg) < 0)
		;
}

static struct tw_growing *make(struct fixture *f, uint64_t tick, unsigned kind,
			       tw_text_writer *write, void *arg)
{
	const struct tw_text_wanted w = {
		.tick = tick, .kind = kind, .write = write, .arg = arg
	};
	struct tw_growing *g;

	return tw_texts_make(f->texts, &w, &g, &f->err) == 0 ? g : NULL;
}

/* Memory of this process and its children. */
static void *shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static void a_text_is_shared_by_its_tick_and_kind(void **state)
{
	struct fixture *f = *state;
	struct tw_text_wanted w = { .tick = 5, .kind = 1 };
	struct tw_growing *g = make(f, 5, 1, write_word, word);

	assert_non_null(g);
	assert_ptr_equal(tw_texts_find(f->texts, &w), g);
	w.gzip = true;
	assert_null(tw_texts_find(f->texts, &w));
	w.gzip = false;
	w.kind = 2;
	assert_null(tw_texts_find(f->texts, &w));
	w.kind = 1;
	w.tick = 6;
	assert_null(tw_texts_find(f->texts, &w));

	/* It is freed in a later tick, unless a connection reads it. */
	w.tick = 5;
	tw_growing_ref(g);
	tw_texts_tidy(f->texts, 6);
	assert_non_null(tw_texts_find(f->texts, &w));
	tw_growing_free(g);
	tw_texts_tidy(f->texts, 5);
	assert_non_null(tw_texts_find(f->texts, &w));
	tw_texts_tidy(f->texts, 6);
	assert_null(tw_texts_find(f->texts, &w));
}

static void the_descriptor_rests_once_a_child_has_ended(void **state)
{
	static tw_text_writer *const writers[] = { write_word, write_and_die };
	struct fixture *f = *state;

	for (size_t i = 0; i < TW_COUNT(writers); i++) {
		struct pollfd p = { .fd = tw_texts_fd(f->texts), .events = POLLIN };

		assert_non_null(make(f, 1, (unsigned)i, writers[i], word));
		tw_texts_finish(f->texts, 300000);
		assert_int_equal(poll(&p, 1, 0), 0);
	}
}

static void children_that_run_are_limited(void **state)
{
	struct fixture *f = *state;
	/* Not a file: a child closes its copies of the collector's. */
	sem_t *told = shared(sizeof(*told));
	int count = 0;

	assert_int_equal(sem_init(told, 1, 0), 0);
	while (make(f, 1, (unsigned)count, write_when_told, told) != NULL)
		count++;
	assert_int_equal(count, TW_TEXTS_RUNNING);
	assert_int_equal(f->err.code, TW_NOMEM);
	while (count-- > 0)
		assert_int_equal(sem_post(told), 0);
	tw_texts_finish(f->texts, 300000);
	munmap(told, sizeof(*told));
}

static void count_files(void *arg, struct tw_text_out *o)
{
	int *count = arg;

	(void)o;
	for (int fd = STDERR_FILENO + 1; fd < FILES; fd++)
		*count += fcntl(fd, F_GETFD) >= 0;
}

/* A copy would keep a connection, an address or a counter of the collector. */
static void a_child_has_the_text_and_its_reports_only(void **state)
{
	static const int wanted[] = { 40, 50, FILES - 1 };
	struct fixture *f = *state;
	int *count = shared(sizeof(*count));
	int copy[TW_COUNT(wanted)];

	assert_true(tw_file_limit_raise(FILES) >= FILES);
	for (size_t i = 0; i < TW_COUNT(wanted); i++) {
		copy[i] = fcntl(STDERR_FILENO, F_DUPFD, wanted[i]);
		assert_true(copy[i] >= 0);
	}
	assert_non_null(make(f, 1, 0, count_files, count));
	tw_texts_finish(f->texts, 300000);
	assert_int_equal(*count, 2);
	for (size_t i = 0; i < TW_COUNT(wanted); i++)
		close(copy[i]);
	munmap(count, sizeof(*count));
}

static void texts_that_nobody_reads_make_room(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < 3 * TW_TEXTS_MAX; i++) {
		assert_non_null(make(f, 1, i, write_word, word));
		tw_texts_finish(f->texts, 300000);
	}
}

static void texts_that_are_read_do_not_make_room_at_once(void **state)
{
	struct fixture *f = *state;
	struct tw_growing *read[TW_TEXTS_MAX];

	for (unsigned i = 0; i < TW_TEXTS_MAX; i++) {
		read[i] = make(f, 1, i, write_word, word);
		assert_non_null(read[i]);
		tw_growing_ref(read[i]);
		tw_texts_finish(f->texts, 300000);
	}
	assert_null(make(f, 1, TW_TEXTS_MAX, write_word, word));
	assert_int_equal(f->err.code, TW_NOMEM);
	for (unsigned i = 0; i < TW_TEXTS_MAX; i++)
		tw_growing_free(read[i]);
	assert_non_null(make(f, 1, TW_TEXTS_MAX, write_word, word));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_text_is_shared_by_its_tick_and_kind,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			the_descriptor_rests_once_a_child_has_ended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(children_that_run_are_limited, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_child_has_the_text_and_its_reports_only,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(texts_that_nobody_reads_make_room, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			texts_that_are_read_do_not_make_room_at_once, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
