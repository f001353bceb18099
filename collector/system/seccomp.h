/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_SECCOMP_H
#define TW_COLLECTOR_SECCOMP_H

/*
 * Filters of system calls, by libseccomp: it has the numbers of every architecture, also
 * of calls that this one lacks (rules for those have no effect). The first rule that
 * names a call decides; later rules of that call are ignored:
 *
 *	tw_seccomp_begin(&s, SCMP_ACT_ERRNO(EPERM));
 *	tw_seccomp_list(&s, "read write close", SCMP_ACT_ALLOW);
 *	tw_seccomp_install(&s, err);
 *
 * A failure is kept in the object and returned by tw_seccomp_install().
 */

#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;

/* Calls that one filter may name. */
#define TW_SECCOMP_CALLS_MAX 512

/* Room for the name of a system call. */
#define TW_SECCOMP_NAME 32

struct tw_seccomp {
	scmp_filter_ctx context; /* NULL: not begun, or without memory */
	uint32_t otherwise;
	int errnum; /* of the first rule that libseccomp rejected, or 0 */
	char unknown[TW_SECCOMP_NAME];   /* the name that no call has, or "" */
	int named[TW_SECCOMP_CALLS_MAX]; /* calls that have a rule */
	size_t count;
};

/* otherwise: what happens to calls without a rule, and to other architectures' calls. */
void tw_seccomp_begin(struct tw_seccomp *s, uint32_t otherwise);

/* calls: names, as in "read write". action: SCMP_ACT_.... An unknown name is a failure.
 */
void tw_seccomp_list(struct tw_seccomp *s, const char *calls, uint32_t action);

/* A call whose argument is one of values, as 64 bits: allow it; else do `otherwise`. */
void tw_seccomp_values(struct tw_seccomp *s, int call, unsigned argument,
		       const uint64_t *values, size_t count, uint32_t otherwise);

/* (argument & mask) == value, as 64 bits: do `matched`; else do `otherwise`. */
void tw_seccomp_mask(struct tw_seccomp *s, int call, unsigned argument, uint64_t mask,
		     uint64_t value, uint32_t matched, uint32_t otherwise);

/*
 * Install the filter for all threads of this process, irrevocably, in addition to filters
 * that it has. Needs no_new_privs, and does not set it. Releases s.
 */
int tw_seccomp_install(struct tw_seccomp *s, struct tw_err *err);

/* SCMP_ACT_KILL_PROCESS, or the thread where the kernel lacks that (before 4.14). */
uint32_t tw_seccomp_kill(void);

/* The argument of clone() with the flags: s390 has the stack first. */
#if defined(__s390__)
#define TW_SECCOMP_CLONE_FLAGS 1
#else
#define TW_SECCOMP_CLONE_FLAGS 0
#endif

#endif /* TW_COLLECTOR_SECCOMP_H */
