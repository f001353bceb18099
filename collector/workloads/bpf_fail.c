/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/workloads/bpf_fail.h"

#include "lib/core/err.h"

#include <errno.h>
#include <unistd.h>

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

int tw_bpf_fail(struct tw_err *err, int errnum, const char *what)
{
	if (access(KERNEL_BTF, F_OK) < 0 && errno == ENOENT)
		return tw_fail(err, TW_UNSUPPORTED,
			       "%s: no " KERNEL_BTF
			       " (a kernel with CONFIG_DEBUG_INFO_BTF has it)",
			       what);
	return tw_fail_errno(err, errnum, "%s", what);
}
