/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_PRIVILEGE_H
#define TW_COLLECTOR_PRIVILEGE_H

/*
 * Giving up what is not needed once files, maps and sockets are open: the user, all
 * capabilities but some, and most system calls.
 */

#include <stdbool.h>
#include <stdint.h>

struct tw_err;
struct tw_roots;

struct tw_privilege {
	const char *user; /* to become, if root; NULL or "root": stay */
	uint64_t keep;    /* capabilities, 1 << CAP_... */
	bool filter;      /* of system calls */
	bool may_write;   /* files that are opened later */
	bool may_start;   /* threads and programs */
};

/*
 * For good, for this process and its threads. Capabilities that it has not got stay
 * missing, which is no failure. *filtered: whether there is a filter; there is none on an
 * architecture of which the numbers of system calls are not known here.
 */
int tw_privilege_drop(const struct tw_privilege *p, bool *filtered, struct tw_err *err);

/* Whether other users' processes are hidden in proc (hidepid): seeing them takes a
 * capability. */
bool tw_proc_is_hidden(const struct tw_roots *roots);

/* The same of a text like /proc/mounts, which is changed. */
bool tw_mounts_hide(char *mounts, const char *proc);

/* Whether this process has a capability, CAP_.... */
bool tw_has_capability(unsigned cap);

/* ---- privilege_filter.c ---- */

/* Refuse system calls that are not listed there, with EPERM. */
int tw_filter_install(const struct tw_privilege *p, bool *filtered, struct tw_err *err);

/*
 * Files are written after root is given up: make a directory, and make it the new user's
 * where there is root to do so. NULL is fine for dir.
 */
int tw_give_directory(const char *dir, const char *user, struct tw_err *err);

#endif /* TW_COLLECTOR_PRIVILEGE_H */
