/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_RUNNING_ESTIMATOR_H
#define TW_TEST_RUNNING_ESTIMATOR_H

/*
 * The estimator's loop over a real socket in a scratch directory: it runs in a thread,
 * its clients are in the test's. What goes wrong fails the test.
 */

#include "estimator/estimator.h"
#include "lib/core/strs.h"
#include "tests/unit/sample_model.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Whatever is awaited comes at once, or the test has failed. */
#define PATIENCE_MS 10000

struct fixture {
	char *top, *db, *sys, *path;
	struct tw_strs sockets;
	struct tw_estimator_config config;
	struct tw_estimator *estimator;
	pthread_t thread;
	int stop_fd;
	bool running;
};

#define METRICS "\"metrics\":[\"cpu_instructions\",\"cache_miss\",\"cpu_cycles\"]"
#define REQUEST(values, more) \
	"{" METRICS ",\"values\":[" values "],\"output_type\":\"AbsPower\"" more "}"
/* The sample: 10 + (cache_miss + 2 cpu_cycles + 3 cpu_instructions) / 1000. */
#define POWERS(list)                                          \
	"{\"powers\":{\"package\":[" list "],\"dram\":[" list \
	"]},\"msg\":\"\",\"core_ratio\":0.5}\n"

#define SIMPLE REQUEST("[1000,1000,1000],[0,0,0]", "")
#define SIMPLE_ANSWER POWERS("16,10")

/* Two cores here, four where the sample was trained: the ratio is 0.5. */
extern const struct sample four_cores;

/* A database with four_cores in it, and a configuration that a test may change. */
void set_up(struct fixture *f);
void start(struct fixture *f);
void stop(struct fixture *f);
void tear_down(struct fixture *f);

/* Put a pipeline of one model into the database. */
void publish(const struct fixture *f, const char *name, const struct sample *s);

void write_file(const char *dir, const char *name, const char *text);

int dial(const struct fixture *f);
void send_text(int fd, const char *text, size_t len);

/* What comes, up to this many lines or the end of the connection; free() it. */
char *receive(int fd, size_t lines);

void expect(int fd, const char *answer);
void expect_closed(int fd);

/* One connection, one request, one answer: what Kepler does. */
void ask(const struct fixture *f, const char *request, const char *answer);

/* Until the answer to a request is another one; meanwhile it is what it was. */
void expect_change(const struct fixture *f, const char *request, const char *before,
		   const char *after);

#endif /* TW_TEST_RUNNING_ESTIMATOR_H */
