/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_BPF_EVENTS_H
#define TW_COLLECTOR_BPF_EVENTS_H

/*
 * Ends, moves and new cgroups from bpf/exits.bpf.c: what both BPF sources of tasks have
 * beside their walk. For collector/tasks_*.c only.
 */

struct tw_bpf_events; /* opaque */
struct tw_err;
struct tw_task_config;
struct tw_task_sink;
struct tw_task_stats;

/* Load and attach. *out is yours: tw_bpf_events_close(). */
int tw_bpf_events_open(const struct tw_task_config *c, struct tw_bpf_events **out,
		       struct tw_err *err);
void tw_bpf_events_close(struct tw_bpf_events *e);

/* Before a walk's object is loaded: it shares this map (bpf/task.bpf.h). */
struct bpf_map;
int tw_bpf_events_share(const struct tw_bpf_events *e, struct bpf_map *dead,
			struct tw_err *err);

/* Readable when a quarter of the room is taken. */
int tw_bpf_events_fd(const struct tw_bpf_events *e);

/* Tell all that waits, then what did not fit. */
void tw_bpf_events_drain(struct tw_bpf_events *e, const struct tw_task_sink *sink);

void tw_bpf_events_stats(const struct tw_bpf_events *e, struct tw_task_stats *out);

#endif /* TW_COLLECTOR_BPF_EVENTS_H */
