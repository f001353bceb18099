/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_BPF_EVENTS_H
#define TW_COLLECTOR_BPF_EVENTS_H

/*
 * Exits, moves and new cgroups from bpf/exits.bpf.c, for the two BPF sources
 * (collector/workloads/tasks_*.c).
 */

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

/* The ring buffer's descriptor, readable when a quarter of the buffer is full. */
int tw_bpf_events_fd(const struct tw_bpf_events *e);

/* Report all waiting events to sink, then overflowed exits. */
void tw_bpf_events_drain(struct tw_bpf_events *e, const struct tw_task_sink *sink);

void tw_bpf_events_stats(const struct tw_bpf_events *e, struct tw_task_stats *out);

#endif /* TW_COLLECTOR_BPF_EVENTS_H */
