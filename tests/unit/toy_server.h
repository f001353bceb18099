/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_TOY_SERVER_H
#define TW_TEST_TOY_SERVER_H

/*
 * A server with a few routes, one for each thing that a handler can do, and a client that
 * writes its requests by hand. What goes wrong fails the test.
 */

#include "lib/http/server/httpd.h"

#include <pthread.h>
#include <stdatomic.h>

/* What the handlers share. */
struct toy_app {
	atomic_int streams, freed, released;
	atomic_size_t fed;
	pthread_mutex_t gate; /* held by a test to keep /wait in progress */
	atomic_int waiting;
};

struct toy_server {
	struct toy_app app;
	struct tw_httpd *httpd;
	int port;
};

#define HOST "Host: x\r\n"
#define CLOSE HOST "Connection: close\r\n"

/* c without routes and app; listens on a free port if it says nothing else. */
void toy_start(struct toy_server *s, struct tw_httpd_config c);
void toy_stop(struct toy_server *s);

/* A new connection. */
int toy_dial(const struct toy_server *s);
void toy_say(int fd, const char *text);

/* All that comes until the server closes; a time-out fails the test. free() it. */
char *toy_hear(int fd);

/* Until the text has been heard, on a connection that stays. */
void toy_hear_until(int fd, const char *end);

/* The whole answer to a request on a connection of its own; free() it. */
char *toy_ask(const struct toy_server *s, const char *request);

/* Its status line begins like this, and its body is this. */
void toy_answers(const struct toy_server *s, const char *request, const char *status,
		 const char *body);

/* A condition that another thread will make true; a bound, not a duration. */
void toy_wait_for(atomic_int *value, int want);

#endif /* TW_TEST_TOY_SERVER_H */
