/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_BPF_FAIL_H
#define TW_COLLECTOR_BPF_FAIL_H

struct tw_err; /* lib/core/err.h */

/*
 * Fail because a BPF program cannot be loaded or attached: always -1. The error is
 * errnum's, or TW_UNSUPPORTED if the kernel has no BTF of its own, for which libbpf's
 * errno is a misleading ESRCH.
 */
int tw_bpf_fail(struct tw_err *err, int errnum, const char *what);

#endif /* TW_COLLECTOR_BPF_FAIL_H */
