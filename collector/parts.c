/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/parts.h"

#include "collector/ask/ask.h"
#include "collector/collector.h"
#include "collector/power/attribute.h"
#include "collector/power/estimates.h"
#include "collector/power/model_keeper.h"
#include "collector/power/power.h"
#include "collector/settings.h"
#include "collector/workloads/counters.h"
#include "collector/workloads/pods.h"
#include "collector/workloads/tasks.h"
#include "collector/workloads/traces.h"
#include "collector/workloads/workload.h"
#include "estimator/init_urls.h"
#include "estimator/models.h"
#include "lib/core/err.h"

#include <unistd.h>

/* However long a tick is: an estimator that is alive answers in some microseconds. */
#define ESTIMATOR_WAIT_MAX_MS 50

static const char *given(const char *text)
{
	return text != NULL && text[0] != '\0' ? text : NULL;
}

/* A tenth of a tick, whatever its length, is the most that an estimator may delay it. */
static unsigned estimator_wait_ms(uint64_t interval_ms)
{
	return interval_ms < ESTIMATOR_WAIT_MAX_MS * 10 ? (unsigned)(interval_ms / 10)
							: ESTIMATOR_WAIT_MAX_MS;
}

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

/* The keeper's descriptor is taken, even on failure. */
static int open_estimates(const struct tw_collector_settings *s, struct tw_collector *c,
			  int keeper_fd, struct tw_err *err)
{
	const struct tw_estimates_config ec = {
		.paths = &s->models,
		.sources = &s->model_sources,
		.trainer = given(s->model_trainer),
		.filter = given(s->model_filter),
		.estimator = given(s->estimator),
		.wait_ms = estimator_wait_ms(s->interval_ms),
		.keeper_fd = keeper_fd,
		.idle = s->estimated_idle,
		.proc = s->proc,
		.sys = s->sys,
	};

	if (s->models.count == 0 && keeper_fd < 0 && ec.estimator == NULL)
		return 0;
	return tw_estimates_open(&ec, &c->node, c->workloads, &c->estimates, err);
}

static int open_power(const struct tw_collector_settings *s, struct tw_collector *c,
		      tw_passed_over *passed, struct tw_err *err)
{
	const struct tw_ask_config ask = { .user = s->user, .filter = s->filter };
	const struct tw_power_config pc = {
		.meter = { .roots = &c->roots,
			   .node = &c->node,
			   .estimates = c->estimates,
			   .nvml = s->nvml,
			   .ask = &ask,
			   .redfish = &s->redfish,
			   .ipmi_interval_ms = s->ipmi_interval_ms },
		.meters = &s->meters,
		.passed = passed,
	};

	return tw_attribution_open(s->idle_by, &c->attribution, err) < 0
		       ? -1
		       : tw_power_open(&pc, &c->power, err);
}

static int open_pods(const struct tw_collector_settings *s, struct tw_collector *c,
		     struct tw_err *err)
{
	const struct tw_ask_config ask = { .user = s->user, .filter = s->filter };

	if (s->pods.kubelet == NULL && s->pods.kube_api == NULL)
		return 0;
	return tw_pods_open(&s->pods, c->show.node_name, &ask, &c->pods, err);
}

/* They are told to whoever knows them from Kepler, once. */
static void read_processors(const struct tw_collector_settings *s, struct tw_collector *c,
			    tw_passed_over *passed)
{
	struct tw_err why = { 0 };

	if (s->compat.count > 0 &&
	    tw_processors_read(&c->roots, &c->processors, &why) < 0) {
		tw_err_wrap(&why, "names of processors");
		passed(NULL, "processors", &why);
	}
}

int tw_collector_parts_open(struct tw_collector *c, const struct tw_collector_settings *s,
			    int keeper_fd, tw_passed_over *passed, struct tw_err *err)
{
	read_processors(s, c, passed);
	if (tw_node_open(&c->node, &c->roots, err) < 0 ||
	    open_counters(s, c, passed, err) < 0 || open_traces(s, c, passed, err) < 0 ||
	    open_workloads(s, c, passed, err) < 0) {
		if (keeper_fd >= 0)
			close(keeper_fd);
		return -1;
	}
	return open_estimates(s, c, keeper_fd, err) < 0 ||
			       open_power(s, c, passed, err) < 0 ||
			       open_pods(s, c, err) < 0
		       ? -1
		       : 0;
}

int tw_collector_keeper_start(const struct tw_collector_settings *s, int *fd,
			      struct tw_err *err)
{
	struct tw_keeper_config k = { .sources = &s->model_sources,
				      .trainer = given(s->model_trainer),
				      .filter = given(s->model_filter),
				      .model_db = given(s->model_db),
				      .shipped_db = given(s->shipped_models),
				      .server_url = tw_models_server(s->model_server),
				      .server_path = tw_models_server_path(),
				      .keep_dir = given(s->keep),
				      .refresh_ms = s->model_refresh_ms,
				      .sys = s->sys,
				      .user = s->user,
				      .filter_calls = s->filter };
	struct tw_init_urls urls = { 0 };
	int rc = -1;

	if (tw_init_urls_read(&urls, err) < 0)
		goto out;
	k.urls = tw_init_urls_any(&urls) ? &urls : NULL;
	if (k.shipped_db != NULL && access(k.shipped_db, F_OK) < 0)
		k.shipped_db = NULL;
	if ((k.model_db != NULL || k.server_url != NULL || k.urls != NULL) &&
	    tw_keeper_start(&k, fd, err) < 0)
		goto out;
	rc = 0;
out:
	tw_init_urls_release(&urls);
	return rc;
}

void tw_collector_parts_close(struct tw_collector *c)
{
	tw_pods_close(c->pods);
	tw_power_close(c->power);
	tw_estimates_close(c->estimates);
	tw_attribution_close(c->attribution);
	tw_node_release(&c->node);
	tw_processors_release(&c->processors);
	tw_powercap_release(&c->powercap);
	tw_workloads_close(c->workloads);
	tw_counters_close(c->counters);
	tw_traces_close(c->traces);
}
