/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_BPF_FAIL_H
#define TW_COLLECTOR_BPF_FAIL_H

struct tw_err; /* lib/core/err.h */

/*
 * A BPF program that could not be loaded or attached. Always -1. The reason is the
 * errno's, or TW_UNSUPPORTED where the kernel tells no types of its own: libbpf's errno
 * for that is ESRCH.
 */
int tw_bpf_fail(struct tw_err *err, int errnum, const char *what);

#endif /* TW_COLLECTOR_BPF_FAIL_H */
