/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/running_estimator.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "tests/unit/scratch.h"
#include "tests/unit/tw_test.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void publish(const struct fixture *f, const char *name, const struct sample *s)
{
	sample_publish(f->db, name, s, 1);
}

void write_file(const char *dir, const char *name, const char *text)
{
	struct tw_err err = { 0 };
	char *path = NULL;

	assert_int_equal(tw_dir_make(dir, &err), 0);
	assert_int_equal(tw_path_join(&path, &err, dir, name, NULL), 0);
	assert_int_equal(tw_file_replace(path, text, strlen(text), &err), 0);
	free(path);
}

const struct sample four_cores = { .trainer = "SGDRegressorTrainer",
				   .spec = { .cores = 4 } };

void set_up(struct fixture *f)
{
	struct tw_err err = { 0 };
	char *cpu = NULL;

	*f = (struct fixture){ .top = scratch_new(), .stop_fd = -1 };
	assert_int_equal(tw_path_join(&f->db, &err, f->top, "db", NULL), 0);
	assert_int_equal(tw_path_join(&f->sys, &err, f->top, "sys", NULL), 0);
	assert_int_equal(tw_path_join(&f->path, &err, f->top, "s", NULL), 0);
	assert_int_equal(tw_path_join(&cpu, &err, f->sys, "devices/system/cpu", NULL), 0);
	write_file(cpu, "present", "0-1\n");
	free(cpu);
	publish(f, "first", &four_cores);
	assert_int_equal(tw_strs_adds(&f->sockets, f->path, &err), 0);
	f->config = (struct tw_estimator_config){
		.sockets = &f->sockets,
		.rights = { .mode = 0600, .user = (uid_t)-1, .group = (gid_t)-1 },
		.connections = 300,
		.idle_ms = 3600 * 1000,
		.request_ms = 3600 * 1000,
		.model_wait_ms = PATIENCE_MS,
		.series_bytes = 1 << 20,
		.models = { .model_db = f->db, .sys = f->sys },
	};
}

static void *run(void *arg)
{
	struct fixture *f = arg;
	struct tw_err err = { 0 };

	return tw_estimator_run(f->estimator, f->stop_fd, &err) == 0 ? f : NULL;
}

void start(struct fixture *f)
{
	struct tw_err err = { 0 };

	if (tw_estimator_open(&f->config, &f->estimator, &err) < 0)
		fail_msg("%s", err.text);
	f->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(f->stop_fd >= 0);
	assert_int_equal(pthread_create(&f->thread, NULL, run, f), 0);
	f->running = true;
}

void stop(struct fixture *f)
{
	static const uint64_t one = 1;
	void *result = NULL;

	if (f->running) {
		assert_int_equal(write(f->stop_fd, &one, sizeof(one)), sizeof(one));
		assert_int_equal(pthread_join(f->thread, &result), 0);
		assert_ptr_equal(result, f);
		f->running = false;
	}
	tw_estimator_close(f->estimator);
	f->estimator = NULL;
	if (f->stop_fd >= 0)
		close(f->stop_fd);
	f->stop_fd = -1;
}

void tear_down(struct fixture *f)
{
	stop(f);
	assert_int_not_equal(access(f->path, F_OK), 0);
	tw_strs_clear(&f->sockets);
	free(f->db);
	free(f->sys);
	free(f->path);
	scratch_free(f->top);
}

int dial(const struct fixture *f)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0 && strlen(f->path) < sizeof(a.sun_path));
	memcpy(a.sun_path, f->path, strlen(f->path));
	if (connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		fail_msg("connect: %s", strerror(errno));
	return fd;
}

void send_text(int fd, const char *text, size_t len)
{
	assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), (ssize_t)len);
}

char *receive(int fd, size_t lines)
{
	struct tw_buf b = { 0 };
	size_t len;

	while (lines > 0) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		char chunk[4096];
		ssize_t n;

		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		n = recv(fd, chunk, sizeof(chunk), 0);
		if (n <= 0)
			break;
		tw_buf_add(&b, chunk, (size_t)n);
		for (ssize_t i = 0; i < n && lines > 0; i++)
			lines -= chunk[i] == '\n';
	}
	tw_buf_adds(&b, "");
	return tw_buf_detach(&b, &len);
}

void expect(int fd, const char *answer)
{
	char *text = receive(fd, 1);

	assert_string_equal(text, answer);
	free(text);
}

void expect_closed(int fd)
{
	expect(fd, "");
	close(fd);
}

void ask(const struct fixture *f, const char *request, const char *answer)
{
	const int fd = dial(f);

	send_text(fd, request, strlen(request));
	expect(fd, answer);
	close(fd);
}

void expect_change(const struct fixture *f, const char *request, const char *before,
		   const char *after)
{
	for (int i = 0; i < PATIENCE_MS / 10; i++) {
		const int fd = dial(f);
		char *text;

		send_text(fd, request, strlen(request));
		text = receive(fd, 1);
		close(fd);
		if (strcmp(text, after) == 0) {
			free(text);
			return;
		}
		assert_string_equal(text, before);
		free(text);
		poll(NULL, 0, 10);
	}
	fail_msg("the answer stays '%s'", before);
}
