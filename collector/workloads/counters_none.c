/* SPDX-License-Identifier: Apache-2.0 */
/* Counters and traces of a build without BPF: they cannot be opened. */
#include "collector/workloads/counters.h"
#include "collector/workloads/traces.h"

#include "lib/core/err.h"

int tw_counters_open(bool software, struct tw_counters **out, struct tw_err *err)
{
	(void)software;
	(void)out;
	return tw_fail(err, TW_UNSUPPORTED, "counters: built without BPF");
}

void tw_counters_close(struct tw_counters *c)
{
	(void)c;
}

bool tw_counters_have(const struct tw_counters *c, enum tw_counter counter)
{
	(void)c;
	(void)counter;
	return false;
}

int tw_counters_read(struct tw_counters *c, tw_counted *counted, void *arg,
		     struct tw_err *err)
{
	(void)c;
	(void)counted;
	(void)arg;
	return tw_fail(err, TW_UNSUPPORTED, "counters: built without BPF");
}

size_t tw_counters_sampled_cpus(const struct tw_counters *c)
{
	(void)c;
	return 0;
}

void tw_counters_samples(struct tw_counters *c, tw_sampled *sampled, void *arg)
{
	(void)c;
	(void)sampled;
	(void)arg;
}

void tw_counters_stats(const struct tw_counters *c, uint64_t *failed, uint64_t *lost)
{
	(void)c;
	*failed = *lost = 0;
}

const char *const tw_trace_names[] = { "page-cache", "softirqs", NULL };

int tw_traces_open(struct tw_traces **out, struct tw_err *err)
{
	(void)out;
	return tw_fail(err, TW_UNSUPPORTED, "traces: built without BPF");
}

int tw_traces_add(struct tw_traces *t, enum tw_trace trace, struct tw_err *err)
{
	(void)t;
	(void)trace;
	return tw_fail(err, TW_UNSUPPORTED, "traces: built without BPF");
}

void tw_traces_close(struct tw_traces *t)
{
	(void)t;
}

bool tw_traces_have(const struct tw_traces *t, enum tw_counter counter)
{
	(void)t;
	(void)counter;
	return false;
}

int tw_traces_read(struct tw_traces *t, tw_counted *counted, void *arg,
		   struct tw_err *err)
{
	(void)t;
	(void)counted;
	(void)arg;
	return tw_fail(err, TW_UNSUPPORTED, "traces: built without BPF");
}

uint64_t tw_traces_lost(const struct tw_traces *t)
{
	(void)t;
	return 0;
}
