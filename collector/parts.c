/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/parts.h"

#include "collector/attribute.h"
#include "collector/collector.h"
#include "collector/counters.h"
#include "collector/power.h"
#include "collector/settings.h"
#include "collector/tasks.h"
#include "collector/traces.h"
#include "collector/workload.h"
#include "lib/err.h"

/* Those that a machine has not got are no failure unless they were asked for. */
static int open_counters(const struct tw_collector_settings *s, struct tw_collector *c,
			 tw_passed_over *passed, struct tw_err *err)
{
	struct tw_err why = { 0 };

	if (s->counters == TW_COUNTERS_SOFTWARE)
		return tw_counters_open(true, &c->counters, err);
	if (s->counters == TW_COUNTERS_AUTO && s->bpf != TW_BPF_OFF &&
	    tw_counters_open(false, &c->counters, &why) < 0) {
		tw_err_wrap(&why, "counters");
		passed(NULL, "counters", &why);
	}
	return 0;
}

/* What the kernel does not let be seen is left out, and said. */
static int open_traces(const struct tw_collector_settings *s, struct tw_collector *c,
		       tw_passed_over *passed, struct tw_err *err)
{
	if (s->trace.count == 0)
		return 0;
	if (tw_traces_open(&c->traces, err) < 0)
		return -1;
	for (int i = 0; i < TW_TRACE_COUNT; i++) {
		struct tw_err why = { 0 };

		if (!tw_strs_has(&s->trace, tw_trace_names[i]) ||
		    tw_traces_add(c->traces, (enum tw_trace)i, &why) == 0)
			continue;
		tw_err_wrap(&why, "--trace: %s", tw_trace_names[i]);
		passed(NULL, "traces", &why);
	}
	return 0;
}

static int open_workloads(const struct tw_collector_settings *s, struct tw_collector *c,
			  tw_passed_over *passed, struct tw_err *err)
{
	struct tw_workloads_config wc = {
		.roots = &c->roots,
		.counters = c->counters,
		.traces = c->traces,
		.cgroups = s->cgroups,
		.bpf = s->bpf == TW_BPF_AUTO,
		.keep_ms = s->keep_ended_ms,
		.ended_max = s->ended_max,
		.events_max = s->events_max,
		.passed = passed,
	};

	if (s->bpf == TW_BPF_WALK || s->bpf == TW_BPF_ITER) {
		wc.source = tw_task_source_find(s->bpf == TW_BPF_WALK ? "bpf-walk"
								      : "bpf-iter");
		if (wc.source == NULL)
			return tw_fail(err, TW_UNSUPPORTED, "built without BPF");
	}
	return tw_workloads_open(&wc, &c->workloads, err);
}

static int open_power(const struct tw_collector_settings *s, struct tw_collector *c,
		      tw_passed_over *passed, struct tw_err *err)
{
	const struct tw_power_config pc = {
		.meter = { .roots = &c->roots,
			   .node = &c->node,
			   .model = s->model,
			   .nvml = s->nvml },
		.meters = &s->meters,
		.passed = passed,
	};

	if (tw_node_open(&c->node, &c->roots, err) < 0 ||
	    tw_attribution_open(s->idle_by, &c->attribution, err) < 0)
		return -1;
	return tw_power_open(&pc, &c->power, err);
}

/* They are told to whoever knows them from Kepler, once. */
static void read_processors(const struct tw_collector_settings *s, struct tw_collector *c,
			    tw_passed_over *passed)
{
	struct tw_err why = { 0 };

	if (tw_strs_has(&s->compat, "kepler") &&
	    tw_processors_read(&c->roots, &c->processors, &why) < 0) {
		tw_err_wrap(&why, "names of processors");
		passed(NULL, "processors", &why);
	}
}

int tw_collector_parts_open(struct tw_collector *c, const struct tw_collector_settings *s,
			    tw_passed_over *passed, struct tw_err *err)
{
	read_processors(s, c, passed);
	return open_counters(s, c, passed, err) < 0 ||
			       open_traces(s, c, passed, err) < 0 ||
			       open_workloads(s, c, passed, err) < 0 ||
			       open_power(s, c, passed, err) < 0
		       ? -1
		       : 0;
}

void tw_collector_parts_close(struct tw_collector *c)
{
	tw_power_close(c->power);
	tw_attribution_close(c->attribution);
	tw_node_release(&c->node);
	tw_processors_release(&c->processors);
	tw_workloads_close(c->workloads);
	tw_counters_close(c->counters);
	tw_traces_close(c->traces);
}
