/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_RUN_CHILD_H
#define TW_CLI_RUN_CHILD_H

/*
 * A command and all processes that it starts. This process becomes their reaper, so that
 * none leaves the tree. Where the user may make one, the command has a cgroup of its own.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tw_buf;
struct tw_cgroup_tree;
struct tw_err;

struct tw_run_child {
	pid_t pid;
	char name[48];       /* of its cgroup, the last part of its path; "": none */
	char *cgroup, *home; /* directories: its own, and that of this process */
	int go;              /* the command waits for a byte here */
	int failed;          /* tells why it could not be started */
	uint64_t made_ns;    /* CLOCK_BOOTTIME */
	uint64_t began_ns, ended_ns; /* CLOCK_MONOTONIC */
	double cpu_s;                /* of it and of its children that have ended */
	int status;                  /* as of a shell: 128 and the signal's number */
	bool stopped;                /* this process was told to end */
	bool has_left;               /* some of its processes left the cgroup */
	uint32_t *pids;              /* all that were seen in the tree */
	size_t count, size;
};

/* Block and ignore signals for tw_run_child_wait(); become the reaper. Call once. */
int tw_run_children_prepare(struct tw_err *err);

/*
 * Make the process, which waits. number: of the run, for the cgroup's name. tree: the
 * cgroups of the machine; NULL: follow the processes. *out is yours, after a failure,
 * too: tw_run_child_release().
 */
int tw_run_child_make(char *const *argv, const struct tw_cgroup_tree *tree,
		      unsigned number, struct tw_run_child *out, struct tw_err *err);

/* Let the command begin. TW_NOTFOUND and TW_DENIED: it cannot be executed. */
int tw_run_child_start(struct tw_run_child *c, const char *command, struct tw_err *err);

/* Wait for the command for at most this time. True: it has ended. */
bool tw_run_child_wait(struct tw_run_child *c, uint64_t ms);

/* Remember the processes of the tree that exist now. */
void tw_run_child_look(struct tw_run_child *c);

/* The number of processes that outlive the command; appends "name (pid 7), ..". */
size_t tw_run_child_left(struct tw_run_child *c, struct tw_buf *names);

/* Move the processes that are left to our own cgroup, remove it, and free. */
void tw_run_child_release(struct tw_run_child *c);

#endif /* TW_CLI_RUN_CHILD_H */
