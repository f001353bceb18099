/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/system/seccomp.h"

#include "lib/core/err.h"

#include <errno.h>
#include <linux/audit.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCH AUDIT_ARCH_RISCV64
#else
#define ARCH 0
#endif

_Static_assert(EPERM == 1 && ENOSYS == 38, "TW_SECCOMP_REFUSE, TW_SECCOMP_UNKNOWN");

static void add(struct tw_seccomp *s, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	if (s->len < TW_SECCOMP_MAX)
		s->at[s->len] = (struct sock_filter)BPF_JUMP(code, k, yes, no);
	s->len++;
}

static void load(struct tw_seccomp *s, size_t offset)
{
	add(s, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void decide(struct tw_seccomp *s, uint32_t action)
{
	add(s, BPF_RET | BPF_K, action, 0, 0);
}

void tw_seccomp_begin(struct tw_seccomp *s)
{
	s->len = 0;
	load(s, offsetof(struct seccomp_data, arch));
	add(s, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	decide(s, TW_SECCOMP_REFUSE);
	load(s, offsetof(struct seccomp_data, nr));
}

void tw_seccomp_list(struct tw_seccomp *s, const int *calls, size_t count,
		     uint32_t action)
{
	for (size_t i = 0; i < count; i++) {
		add(s, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0, 1);
		decide(s, action);
	}
}

void tw_seccomp_when(struct tw_seccomp *s, int call, unsigned argument,
		     const struct tw_seccomp_rule *rules, size_t count,
		     uint32_t otherwise)
{
	const size_t at = offsetof(struct seccomp_data, args) +
			  argument * sizeof(uint64_t) +
			  (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0);

	/* Behind the rules and what is otherwise, if it is another call. */
	add(s, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, (uint8_t)(4 * count + 1));
	for (size_t i = 0; i < count; i++) {
		load(s, at);
		add(s, BPF_ALU | BPF_AND | BPF_K, rules[i].mask, 0, 0);
		add(s, BPF_JMP | BPF_JEQ | BPF_K, rules[i].value, 0, 1);
		decide(s, rules[i].action);
	}
	decide(s, otherwise);
}

int tw_seccomp_install(struct tw_seccomp *s, uint32_t otherwise, bool *filtered,
		       struct tw_err *err)
{
	const struct sock_fprog prog = { .len = (unsigned short)(s->len + 1),
					 .filter = s->at };

	decide(s, otherwise);
	*filtered = false;
	if (ARCH == 0)
		return 0;
	if (s->len > TW_SECCOMP_MAX)
		return tw_fail(err, TW_INVALID, "a filter of %d instructions", s->len);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
		    &prog) != 0)
		return tw_fail_errno(err, errno, "cannot filter system calls");
	*filtered = true;
	return 0;
}
