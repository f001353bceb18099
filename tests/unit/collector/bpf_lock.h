/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_BPF_LOCK_H
#define TW_TEST_BPF_LOCK_H

/*
 * Set-up of a group of tests that load BPF programs. Two such groups at a time may exceed
 * the limit of locked memory: a group waits until no other holds the lock. Its process
 * holds the lock until it exits.
 */
int bpf_lock(void **state);

#endif /* TW_TEST_BPF_LOCK_H */
