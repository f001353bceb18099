/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_NODE_FIXTURE_H
#define TW_TEST_NODE_FIXTURE_H

/*
 * A node of online training, with a store in a scratch directory. The trainings are
 * scripted: a test that uses this fixture wraps their functions (tests/sources.mk).
 */

#include "trainer/online/attempt.h"
#include "trainer/online/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_prom;

#define SPAN_MS 30000
#define START_MS INT64_C(1000000000)

/* The script of the trainings, and their inputs. Each test begins with zeroes. */
extern struct training {
	struct tw_window_choice read[3];
	size_t reads, started, rows_min, drops;
	bool done, fails, waits, had_alone;
	struct tw_candidate *best; /* NULL: none could be trained */
} training;

struct node_fixture {
	char *dir, *path;
	struct tw_store *store;
	struct tw_online_rules rules;
	struct tw_online_node *node;
	struct tw_prom *samples, *none;
	int64_t to_ms;
	size_t rows; /* of the samples */
};

/* The state of a test is a fixture whose node has taken the samples once. */
int node_set_up(void **state);
int node_tear_down(void **state);

#define NODE_TEST(name) cmocka_unit_test_setup_teardown(name, node_set_up, node_tear_down)

/* Open the node "m", as a process does at its start. */
void node_open(struct node_fixture *f);

/* Open it again with this standing in the store. */
void node_stand(struct node_fixture *f, const struct tw_standing *s);

/* The standing in the store. */
struct tw_standing node_standing(struct node_fixture *f);

/* Take samples as those of the next SPAN_MS. */
void node_take(struct node_fixture *f, const struct tw_prom *samples);

/* Take samples until the window has segments of both kinds, `held` of them held out. */
void node_fill(struct node_fixture *f, size_t held);

void node_decide(struct node_fixture *f);
struct tw_online_figures node_figures(struct node_fixture *f);

/* Close the store. Returns the reason of its last verdict; free() it. */
char *node_reason(struct node_fixture *f);

/* Let the store fail at a statement, such as "INSERT ON segment", as a full disk does. */
void node_make_full(struct node_fixture *f, const char *statement);

/* Redirect the log to a file. Returns the original standard error output. */
int node_begin_log(struct node_fixture *f);

/* End that. Asserts that the file has `count` lines, each with its wanted text. */
void node_end_log(struct node_fixture *f, int saved, const char *const *want,
		  size_t count);

#endif /* TW_TEST_NODE_FIXTURE_H */
