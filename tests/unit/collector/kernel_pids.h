/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_KERNEL_PIDS_H
#define TW_TEST_KERNEL_PIDS_H

/*
 * BPF programs report pids of the initial PID namespace. A test that looks for its own
 * there skips loudly in another namespace, such as a container's; or fails if TW_REQUIRE
 * has "host-pids".
 */
void need_kernel_pids(const char *test);

#endif /* TW_TEST_KERNEL_PIDS_H */
