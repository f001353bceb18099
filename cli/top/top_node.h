/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_TOP_NODE_H
#define TW_CLI_TOP_NODE_H

/* A machine that `tallywatt top` shows: its power, and how it is known. */

#include <stdbool.h>
#include <stddef.h>

struct tw_err;

/* Columns of a node's name. */
#define TW_TOP_NODE_COLUMNS 10

/* How the sum of a machine is known, the worst last. */
enum tw_top_known {
	TW_TOP_MEASURED,
	TW_TOP_ESTIMATED,
	TW_TOP_ABOVE_IDLE, /* estimated, without idle power */
	TW_TOP_SIMULATED,
};

/* A machine, from the reply for the level node. */
struct tw_top_node {
	char *name;
	char *instance; /* of its collector, unique */
	char *power;    /* "package 12.3 W (rapl-sysfs), dram .." */
	char *facts;    /* "measured, idle 6.0 W; tick 3 s", or the model and its error */
	double watts;   /* without zones that are parts of others; NaN: unknown */
	double idle_w, error_w; /* of it; NaN: unknown */
	enum tw_top_known known;
	bool starting; /* no watts, and few ticks yet */
};

/* *out is yours: tw_top_node_release(). */
int tw_top_node_read(const char *data, size_t len, struct tw_top_node *out,
		     struct tw_err *err);
void tw_top_node_release(struct tw_top_node *n);

/* Give nodes of one name, such as "localhost", a part of their instance as well. */
void tw_top_nodes_tell_apart(struct tw_top_node *node, size_t count);

#endif /* TW_CLI_TOP_NODE_H */
