/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_SECCOMP_H
#define TW_COLLECTOR_SECCOMP_H

/*
 * Filters of system calls, as the kernel takes them. The first entry that has a call
 * decides:
 *
 *	struct tw_seccomp s;
 *
 *	tw_seccomp_begin(&s);
 *	tw_seccomp_list(&s, harmless, COUNT(harmless), SECCOMP_RET_ALLOW);
 *	tw_seccomp_install(&s, TW_SECCOMP_REFUSE, &filtered, err);
 */

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;

/* Instructions: the most that a program of ours needs. */
#define TW_SECCOMP_MAX 768

struct tw_seccomp {
	struct sock_filter at[TW_SECCOMP_MAX];
	unsigned short len;
};

/* With EPERM; ENOSYS: the C library does without. */
#define TW_SECCOMP_REFUSE (SECCOMP_RET_ERRNO | 1)
#define TW_SECCOMP_UNKNOWN (SECCOMP_RET_ERRNO | 38)

/* What an argument, of which the low 32 bits are looked at, has to be. */
struct tw_seccomp_rule {
	uint32_t mask, value; /* (argument & mask) == value */
	uint32_t action;      /* SECCOMP_RET_... */
};

/* Calls of another architecture are refused. */
void tw_seccomp_begin(struct tw_seccomp *s);

void tw_seccomp_list(struct tw_seccomp *s, const int *calls, size_t count,
		     uint32_t action);

/* The first rule that is met decides on a call; at most 60. */
void tw_seccomp_when(struct tw_seccomp *s, int call, unsigned argument,
		     const struct tw_seccomp_rule *rules, size_t count,
		     uint32_t otherwise);

/*
 * For this process and its threads, for good; needs no_new_privs, and adds to filters
 * that there are. *filtered: false on an architecture of which the numbers of calls are
 * not known here.
 */
int tw_seccomp_install(struct tw_seccomp *s, uint32_t otherwise, bool *filtered,
		       struct tw_err *err);

#endif /* TW_COLLECTOR_SECCOMP_H */
