/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_PRIVILEGE_H
#define TW_COLLECTOR_PRIVILEGE_H

/*
 * Drop privileges once files, maps and sockets are open: the user root, capabilities, and
 * most system calls.
 */

#include <stdbool.h>
#include <stdint.h>

struct tw_err;
struct tw_roots;

struct tw_privilege {
	const char *user; /* user to become, if root; NULL or "root": stay */
	uint64_t keep;    /* capabilities to keep, 1 << CAP_... */
	bool filter;      /* refuse other system calls with EPERM */
	bool may_write;   /* the filter lets it write files */
	bool may_start;   /* the filter lets it start threads and programs */
};

/*
 * Drop privileges of this process and its threads, irrevocably. Capabilities that the
 * process lacks stay missing, which is not a failure.
 */
int tw_privilege_drop(const struct tw_privilege *p, struct tw_err *err);

/*
 * Whether proc hides other users' processes (hidepid): seeing them needs CAP_SYS_PTRACE.
 */
bool tw_proc_is_hidden(const struct tw_roots *roots);

/* Whether a text like /proc/mounts has proc mounted with hidepid. Changes mounts. */
bool tw_mounts_hide(char *mounts, const char *proc);

/* Whether this process has the capability CAP_.... */
bool tw_has_capability(unsigned cap);

/* Whether this process could become the user; NULL: it stays. */
int tw_user_check(const char *user, struct tw_err *err);

/*
 * Open a directory, whose owner and mode can be changed by the descriptor. A link, which
 * could lead anywhere, is refused. -1: errno says why.
 */
int tw_open_no_link(const char *dir);

/*
 * Make a directory that will be written after root is dropped, and give it to user if
 * this process is root. dir may be NULL.
 */
int tw_give_directory(const char *dir, const char *user, struct tw_err *err);

/*
 * In a child: close the copies of all files but the standard ones and these two, which
 * may be the same. So a connection ends when the parent closes it, a restarted collector
 * can listen on the same address, other children notice that nobody reads, the keeper of
 * powercap trees notices the collector's end, and counters end with it.
 */
void tw_close_copies(int file, int other);

#endif /* TW_COLLECTOR_PRIVILEGE_H */
