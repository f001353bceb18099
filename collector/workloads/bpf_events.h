/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_BPF_EVENTS_H
#define TW_COLLECTOR_BPF_EVENTS_H

/*
 * Exits, moves and new cgroups from bpf/exits.bpf.c, for the two BPF sources
 * (collector/workloads/tasks_*.c); and what all BPF programs share.
 */

#include <stdint.h>

struct tw_bpf_events; /* opaque */
struct tw_err;
struct tw_task_config;
struct tw_task_sink;
struct tw_task_stats;

/* Load and attach the programs. Free *out with tw_bpf_events_close(). */
int tw_bpf_events_open(const struct tw_task_config *c, struct tw_bpf_events **out,
		       struct tw_err *err);
void tw_bpf_events_close(struct tw_bpf_events *e);

/*
 * Make a walk's object use this object's map `dead` (bpf/task.bpf.h). Call it before the
 * walk is loaded.
 */
struct bpf_map;
int tw_bpf_events_share(const struct tw_bpf_events *e, struct bpf_map *dead,
			struct tw_err *err);

/* Report all waiting events to sink, then overflowed exits. */
void tw_bpf_events_drain(struct tw_bpf_events *e, const struct tw_task_sink *sink);

/*
 * Operations of a source whose state begins with the pointer to its events. The ring
 * buffer's descriptor is readable when a quarter of the buffer is full.
 */
int tw_bpf_source_fd(const void *state);
void tw_bpf_source_drain(void *state, const struct tw_task_sink *sink);
void tw_bpf_source_stats(const void *state, struct tw_task_stats *out);

/*
 * A ring buffer's size of at least `wanted` bytes: a power of two and whole pages, which
 * arm64 may have of 64 KiB.
 */
uint32_t tw_bpf_ring_bytes(uint64_t wanted);

/*
 * Check what libbpf returned for loading or attaching a program: 0, or fail with the
 * errno -rc. TW_UNSUPPORTED if the kernel has no BTF of its own, for which libbpf's errno
 * is a misleading ESRCH.
 */
int tw_bpf_check(int rc, const char *what, struct tw_err *err);

#endif /* TW_COLLECTOR_BPF_EVENTS_H */
