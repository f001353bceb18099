/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/http/server/httpd.h"
#include "lib/core/buf.h"
#include "lib/http/server/httpd_guard.h"
#include "tests/unit/toy_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void a_slow_client_does_not_hold_up_another(void **state)
{
	struct toy_server s;
	int slow[20];

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ .threads = 1 });
	for (size_t i = 0; i < 20; i++) {
		slow[i] = toy_dial(&s);
		toy_say(slow[i], i % 2 != 0 ? "GET /hel"
					    : "POST /echo HTTP/1.1\r\n" HOST
					      "Content-Length: 9\r\n\r\nabc");
	}
	toy_answers(&s, "GET /hello HTTP/1.1\r\n" CLOSE "\r\n", "200 OK",
		    "{\"hello\":1}");
	for (size_t i = 0; i < 20; i++)
		close(slow[i]);
	toy_stop(&s);
}

static void an_idle_connection_is_closed(void **state)
{
	struct toy_server s;
	char *heard;
	int fd;

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ .idle_timeout_ms = 900 });
	fd = toy_dial(&s);
	toy_say(fd, "GET /hel");
	heard = toy_hear(fd);
	assert_null(strstr(heard, "200 OK"));
	free(heard);
	toy_stop(&s);
}

static void *ask_wait(void *arg)
{
	return toy_ask(arg, "GET /wait HTTP/1.1\r\n" CLOSE "\r\n");
}

static void a_slow_handler_has_no_time_out_and_delays_no_other_request(void **state)
{
	const struct timespec longer = { .tv_sec = 2, .tv_nsec = 200000000 };
	pthread_t thread;
	struct toy_server s;
	void *answer;

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ .thread_per_connection = true,
						.idle_timeout_ms = 1000 });
	pthread_mutex_lock(&s.app.gate);
	assert_int_equal(pthread_create(&thread, NULL, ask_wait, &s), 0);
	toy_wait_for(&s.app.waiting, 1);
	toy_answers(&s, "GET /hello HTTP/1.1\r\n" CLOSE "\r\n", "200 OK",
		    "{\"hello\":1}");
	nanosleep(&longer, NULL); /* longer than the time-out */
	pthread_mutex_unlock(&s.app.gate);
	pthread_join(thread, &answer);
	assert_non_null(strstr(answer, "\r\n\r\nwaited"));
	free(answer);
	toy_stop(&s);
}

static void *close_server(void *arg)
{
	tw_httpd_close(arg);
	return NULL;
}

static void a_request_in_progress_ends_before_the_server_does(void **state)
{
	pthread_t asker, closer;
	struct toy_server s;
	void *answer;

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ .threads = 2 });
	pthread_mutex_lock(&s.app.gate);
	assert_int_equal(pthread_create(&asker, NULL, ask_wait, &s), 0);
	toy_wait_for(&s.app.waiting, 1);
	assert_int_equal(pthread_create(&closer, NULL, close_server, s.httpd), 0);
	pthread_mutex_unlock(&s.app.gate);
	pthread_join(asker, &answer);
	pthread_join(closer, NULL);
	assert_non_null(strstr(answer, "\r\n\r\nwaited"));
	free(answer);
	pthread_mutex_destroy(&s.app.gate);
}

/* Requests that the server has done with; a client may have the answer before. */
static atomic_int done;

void __real_tw_guard_waiting(struct tw_guarded *c);
void __wrap_tw_guard_waiting(struct tw_guarded *c);

void __wrap_tw_guard_waiting(struct tw_guarded *c)
{
	__real_tw_guard_waiting(c);
	atomic_fetch_add(&done, 1);
}

static void connections_are_kept_and_limited(void **state)
{
	struct toy_server s;
	int fd[3];
	char byte;

	(void)state;
	atomic_store(&done, 0);
	toy_start(&s, (struct tw_httpd_config){ .connections_max = 2, .threads = 8 });
	for (size_t i = 0; i < 2; i++) {
		fd[i] = toy_dial(&s);
		toy_say(fd[i], "GET /hello HTTP/1.1\r\n" HOST "\r\n");
		toy_hear_until(fd[i], "{\"hello\":1}");
		toy_say(fd[i], "GET /lent HTTP/1.1\r\n" HOST "\r\n");
		toy_hear_until(fd[i], "\r\n\r\nlent");
		toy_wait_for(&done, 2 * (int)i + 2);
	}
	/* The third connection ends the first, which waits longest. */
	fd[2] = toy_dial(&s);
	toy_say(fd[2], "GET /hello HTTP/1.1\r\n" HOST "\r\n");
	toy_hear_until(fd[2], "{\"hello\":1}");
	assert_true(recv(fd[0], &byte, 1, 0) <= 0);
	toy_say(fd[1], "GET /hello HTTP/1.1\r\n" HOST "\r\n");
	toy_hear_until(fd[1], "{\"hello\":1}");
	close(fd[0]);
	close(fd[1]);
	close(fd[2]);
	toy_stop(&s);
}

/* Connect from an address of the loopback network. */
static int dial_from(const struct toy_server *s, const char *address)
{
	struct sockaddr_in from = { .sin_family = AF_INET }, to = from;
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(inet_pton(AF_INET, address, &from.sin_addr), 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	to.sin_port = htons((uint16_t)s->port);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* Six of eight connections; a seventh ends the first of that address. */
static void an_address_cannot_take_all_connections(void **state)
{
	struct toy_server s;
	int fd[7], other;
	char byte;

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ .connections_max = 8, .threads = 1 });
	other = dial_from(&s, "127.0.0.2");
	toy_say(other, "GET /hello HTTP/1.1\r\n" HOST "\r\n");
	toy_hear_until(other, "{\"hello\":1}");
	for (size_t i = 0; i < 7; i++) {
		fd[i] = toy_dial(&s);
		toy_say(fd[i], "GET /hello HTTP/1.1\r\n" HOST "\r\n");
		toy_hear_until(fd[i], "{\"hello\":1}");
	}
	assert_true(recv(fd[0], &byte, 1, 0) <= 0);
	toy_say(other, "GET /hello HTTP/1.1\r\n" HOST "\r\n");
	toy_hear_until(other, "{\"hello\":1}");
	close(other);
	for (size_t i = 0; i < 7; i++)
		close(fd[i]);
	toy_stop(&s);
}

/* Each has what it may have, and none ends its headers. */
static void unfinished_headers_of_two_addresses_lock_nobody_out(void **state)
{
	static const bool threads[] = { false, true };

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct toy_server s;
		int fd[16];

		toy_start(&s, (struct tw_httpd_config){ .connections_max = 8,
							.threads = 1,
							.thread_per_connection =
								threads[k] });
		for (size_t i = 0; i < 16; i++) {
			fd[i] = dial_from(&s, i % 2 == 0 ? "127.0.0.2" : "127.0.0.3");
			toy_say(fd[i], "GET /hello HTTP/1.1\r\nX-A: ");
		}
		for (size_t i = 0; i < 3; i++)
			toy_answers(&s, "GET /hello HTTP/1.1\r\n" CLOSE "\r\n", "200 OK",
				    "{\"hello\":1}");
		for (size_t i = 0; i < 16; i++)
			close(fd[i]);
		toy_stop(&s);
	}
}

/* Arguments are as many as they are: an answer says if they are too many. */
static void any_number_of_arguments_has_an_answer(void **state)
{
	static const size_t counts[] = {
		10, 100, 300, 500, 800, 2000, 5000, 15000, 60000
	};
	struct toy_server s;

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ 0 });
	for (size_t k = 0; k < TW_COUNT(counts); k++) {
		struct tw_buf b = { 0 };
		char *answer;

		tw_buf_adds(&b, "GET /hello?");
		for (size_t i = 0; i < counts[k]; i++)
			tw_buf_adds(&b, "a=1&");
		tw_buf_adds(&b, " HTTP/1.1\r\n" CLOSE "\r\n");
		answer = toy_ask(&s, b.data);
		if (strncmp(answer, "HTTP/1.1 200", 12) != 0 &&
		    strncmp(answer, "HTTP/1.1 4", 10) != 0)
			fail_msg("%zu arguments: '%.60s'", counts[k], answer);
		free(answer);
		tw_buf_clear(&b);
	}
	toy_stop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_client_does_not_hold_up_another),
		cmocka_unit_test(an_idle_connection_is_closed),
		cmocka_unit_test(
			a_slow_handler_has_no_time_out_and_delays_no_other_request),
		cmocka_unit_test(a_request_in_progress_ends_before_the_server_does),
		cmocka_unit_test(connections_are_kept_and_limited),
		cmocka_unit_test(an_address_cannot_take_all_connections),
		cmocka_unit_test(unfinished_headers_of_two_addresses_lock_nobody_out),
		cmocka_unit_test(any_number_of_arguments_has_an_answer),
	};

	return cmocka_run_group_tests_name("httpd clients", tests, NULL, NULL);
}
