/* SPDX-License-Identifier: Apache-2.0 */
/* A program of its own: no archive may be packed before the threads start. */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "tests/unit/zip_bytes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 2
#define PROCESSES 300

struct packer {
	const struct tw_fileset *files;
	atomic_int *waiting;
	int rc;
};

static void *pack(void *arg)
{
	struct packer *p = arg;
	struct tw_err err = { 0 };
	char *data = NULL;
	size_t len;

	/* Wait for the last thread, so that all begin at once. */
	atomic_fetch_sub(p->waiting, 1);
	while (atomic_load(p->waiting) > 0)
		;
	p->rc = tw_zip_write(p->files, &data, &len, &err);
	free(data);
	return NULL;
}

/* Run in a process that has not packed yet. Return the number of failed threads. */
static int pack_first(const struct tw_fileset *files)
{
	atomic_int waiting = THREADS;
	struct packer packer[THREADS];
	pthread_t thread[THREADS];
	int failed = 0;

	for (int i = 0; i < THREADS; i++) {
		packer[i] = (struct packer){ files, &waiting, -1 };
		if (pthread_create(&thread[i], NULL, pack, &packer[i]) != 0)
			_exit(99);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		failed += packer[i].rc < 0;
	}
	return failed;
}

static void the_first_archives_can_be_packed_in_parallel(void **state)
{
	struct tw_fileset files = { 0 };

	(void)state;
	zip_add_to(&files, "a", "1", 1);
	for (int i = 0; i < PROCESSES; i++) {
		const pid_t child = fork();
		int status;

		if (child == 0)
			_exit(pack_first(&files));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	tw_fileset_clear(&files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_archives_can_be_packed_in_parallel),
	};

	return cmocka_run_group_tests_name("zip_threads", tests, NULL, NULL);
}
