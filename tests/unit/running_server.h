/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_RUNNING_SERVER_H
#define TW_TEST_RUNNING_SERVER_H

/*
 * tw-server's routes over a database in a scratch directory, and a client of them. What
 * goes wrong fails the test.
 */

#include "lib/http/client/http.h"
#include "server/service.h"

extern struct running_server {
	struct tw_service service;
	struct tw_httpd *httpd;
	char *dir, *db;
} running;

#define COUNTERS "\"metrics\":[\"cpu_instructions\",\"cache_miss\",\"cpu_cycles\"]"
#define ABS COUNTERS ",\"output_type\":\"AbsPower\""

/* For a group of tests: without a database, or with what the calls below make. */
int running_start(void **state);
int running_start_loaded(void **state);
int running_stop(void **state);

/* A pipeline "one" of five models into the database; and the database into the service.
 */
void running_publish(void);
void running_load(void);

/* GET if there is no body. */
struct tw_http_answer running_ask(const char *path, const char *body);

/* The answer is this text, of JSON or of a problem. */
void running_answers(const char *path, const char *body, unsigned status,
		     const char *want);

/* A problem whose detail has this in it. */
void running_refuses(const char *path, const char *body, unsigned status,
		     const char *detail);

/* Text of an answer to GET, which must contain what is wanted. */
void running_shows(const char *path, unsigned status, const char *type, const char *want);

#endif /* TW_TEST_RUNNING_SERVER_H */
