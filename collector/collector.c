/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/collector.h"

#include "collector/agents/agents.h"
#include "collector/power/attribute.h"
#include "collector/power/estimates.h"
#include "collector/power/model_finder.h"
#include "collector/power/power.h"
#include "collector/power/power_history.h"
#include "collector/power/tariff.h"
#include "collector/settings.h"
#include "collector/texts.h"
#include "collector/workloads/counters.h"
#include "collector/workloads/pods.h"
#include "collector/workloads/schedule.h"
#include "collector/workloads/tasks.h"
#include "collector/workloads/traces.h"
#include "collector/workloads/workload.h"
#include "estimator/models.h"
#include "lib/ask/ask.h"
#include "lib/core/clock.h"
#include "collector/power/source_model.h"
#include "collector/system/privilege.h"
#include "collector/system/hypervisor.h"
#include "estimator/predict/power_model.h"
#include "lib/core/err.h"
#include "lib/program/log.h"
#include "profiler/discover.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Missing counters are an error only if they were requested. */
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

/* A trace that the kernel refuses is skipped and reported. */
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

static void log_contested(void *arg, const char *id)
{
	(void)arg;
	tw_log_warn(
		"another scope or process claims the id of a virtual machine, and does "
		"not get it id=\"%s\"",
		id);
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
		.contested = log_contested,
	};

	if (s->bpf == TW_BPF_WALK || s->bpf == TW_BPF_ITER) {
		wc.source = tw_task_source_find(s->bpf == TW_BPF_WALK ? "bpf-walk"
								      : "bpf-iter");
		if (wc.source == NULL)
			return tw_fail(err, TW_UNSUPPORTED, "built without BPF");
	}
	if (tw_hypervisor_users_read(&s->vm_users, &wc.vm_users, err) < 0)
		return tw_err_wrap(err, "--vm-users");
	return tw_workloads_open(&wc, &c->workloads, err);
}

/* finder_fd is taken, even on failure. */
static int open_estimates(const struct tw_collector_settings *s, struct tw_collector *c,
			  int finder_fd, struct tw_err *err)
{
	const struct tw_estimates_config ec = {
		.paths = &s->models,
		.sources = &s->model_sources,
		.finder_fd = finder_fd,
		.last_resort = c->shipped_only,
		.idle = s->estimated_idle,
		.proc = s->proc,
		.sys = s->sys,
	};

	if (s->models.count == 0 && finder_fd < 0)
		return 0;
	return tw_estimates_open(&ec, &c->node, c->workloads, &c->estimates, err);
}

static struct tw_ask_config ask_config(const struct tw_collector_settings *s)
{
	return (struct tw_ask_config){ .user = s->user,
				       .filter = s->filter,
				       .log_format = s->log_format };
}

static void log_doubt(void *arg, const struct tw_power_zone *z)
{
	(void)arg;
	if (z->doubt[0] == '\0' && z->rejected[0] != '\0') {
		tw_log_warn("a meter has died, and another one takes over zone=%s "
			    "name=\"%s\" meter=%s: %s",
			    tw_zone_kind_name(z->zone->kind), z->zone->name,
			    z->meter->name, z->rejected);
		return;
	}
	if (z->doubt[0] == '\0') {
		tw_log_info("readings are complete and plausible again zone=%s "
			    "name=\"%s\" meter=%s: %s",
			    tw_zone_kind_name(z->zone->kind), z->zone->name,
			    z->meter->name, z->counts ? "it counts from now on" : z->why);
		return;
	}
	tw_log_warn("readings contradict physics zone=%s name=\"%s\" meter=%s: %s%s",
		    tw_zone_kind_name(z->zone->kind), z->zone->name, z->meter->name,
		    z->doubt,
		    z->rejected[0] != '\0' ? "; it does not count from now on" : "");
}

static int open_power(const struct tw_collector_settings *s, struct tw_collector *c,
		      tw_passed_over *passed, tw_meter_found *found, struct tw_err *err)
{
	const struct tw_ask_config ask = ask_config(s);
	const struct tw_power_config pc = {
		.meter = { .roots = &c->roots,
			   .node = &c->node,
			   .estimates = c->estimates,
			   .nvml = s->nvml,
			   .amdsmi = s->amdsmi,
			   .ask = &ask,
			   .redfish = &s->redfish,
			   .own_meter = &s->own_meter,
			   .ipmi_interval_ms = s->ipmi_interval_ms },
		.meters = &s->meters,
		.passed = passed,
		.found = found,
		.doubted = log_doubt,
	};

	if (tw_attribution_open(s->idle_by, &c->attribution, err) < 0 ||
	    tw_tariffs_open(&s->tariff, &ask, &c->tariffs, err) < 0 ||
	    tw_power_open(&pc, &c->power, err) < 0)
		return -1;
	if (c->shipped_only && !tw_power_reads(c->power, &tw_meter_model)) {
		tw_estimates_close(c->estimates);
		c->estimates = NULL;
		waitpid(c->finder, NULL, 0);
	}
	c->powercap.estimates = c->estimates;
	return 0;
}

static int open_pods(const struct tw_collector_settings *s, struct tw_collector *c,
		     struct tw_err *err)
{
	const struct tw_ask_config ask = ask_config(s);

	if ((s->pods.kubelet != NULL || s->pods.kube_api != NULL) &&
	    tw_pods_open(&s->pods, c->show.node_name, &ask, &c->pods, err) < 0)
		return -1;
	return tw_pods_open_engines(s->container_names, &ask, &c->engines, err);
}

/* Only the Kepler-compatible metrics export the processors, so read them once here. */
static void read_processors(const struct tw_collector_settings *s, struct tw_collector *c,
			    tw_passed_over *passed)
{
	struct tw_err why = { 0 };

	if (s->compat.count > 0 &&
	    tw_processors_read(&c->roots, &c->processors, &why) < 0) {
		tw_err_wrap(&why, "processors");
		passed(NULL, "processors", &why);
	}
}

/* Models that are trained on the metrics get this spec. */
static void read_spec(struct tw_collector *c, tw_passed_over *passed)
{
	struct tw_err why = { 0 };

	if (tw_machine_spec_discover(c->roots.proc, c->roots.sys, &c->spec, &why) == 0)
		return;
	c->spec = (struct tw_machine_spec){ 0 };
	tw_err_wrap(&why, "spec of this machine");
	passed(NULL, "tallywatt_node_info", &why);
}

static bool has_machine(const struct tw_collector_settings *s)
{
#if TW_FLEET
	return s->local;
#else
	(void)s;
	return true;
#endif
}

static int open_agents(const struct tw_collector_settings *s, struct tw_collector *c,
		       struct tw_err *err)
{
#if TW_FLEET
	const struct tw_ask_config ask = ask_config(s);

	if (s->agents.urls.count > 0)
		return tw_agents_open(&s->agents, &ask, s->keep_ended_ms, &c->agents,
				      err);
#endif
	(void)s;
	(void)c;
	(void)err;
	return 0;
}

static const char *given(const char *text)
{
	return text != NULL && text[0] != '\0' ? text : NULL;
}

/* An aggregating collector tells processes and machines apart by these values. */
static void identify(struct tw_collector *c)
{
	unsigned char random[16];

	c->started_ns = tw_boot_ns();
	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		memcpy(random, &c->started_ns, sizeof(c->started_ns));
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(c->instance + 2 * i, 3, "%02x", random[i]);
	tw_vm_uuid(c->roots.proc, c->roots.sys, c->vm_id);
}

int tw_collector_open(struct tw_collector *c, const struct tw_collector_settings *s,
		      int finder_fd, tw_passed_over *passed, tw_meter_found *found,
		      struct tw_err *err)
{
	identify(c);
	if (!has_machine(s))
		return open_agents(s, c, err);
	read_processors(s, c, passed);
	read_spec(c, passed);
	if (tw_node_open(&c->node, &c->roots, err) < 0 ||
	    open_counters(s, c, passed, err) < 0 || open_traces(s, c, passed, err) < 0 ||
	    open_workloads(s, c, passed, err) < 0) {
		if (finder_fd >= 0)
			close(finder_fd);
		return -1;
	}
	return open_estimates(s, c, finder_fd, err) < 0 ||
			       open_power(s, c, passed, found, err) < 0 ||
			       open_pods(s, c, err) < 0 || open_agents(s, c, err) < 0 ||
			       tw_power_history_new(&c->history, err) < 0
		       ? -1
		       : 0;
}

int tw_collector_check(const struct tw_collector_settings *s, struct tw_err *err)
{
	struct tw_hypervisor_users users = { 0 };
	int rc = tw_user_check(s->user, err);

	if (rc == 0 && tw_hypervisor_users_read(&s->vm_users, &users, err) < 0)
		rc = tw_err_wrap(err, "--vm-users");
	for (size_t i = 0; rc == 0 && i < s->models.count; i++) {
		struct tw_power_model *model = NULL;
		struct tw_model_file file = { 0 };

		rc = tw_model_file_open(&file, s->models.at[i], &model, err);
		tw_power_model_free(model);
	}
	return rc;
}

int tw_collector_start_finder(struct tw_collector *c,
			      const struct tw_collector_settings *s, int *fd,
			      struct tw_err *err)
{
	struct tw_model_finder_config f = { .sources = &s->model_sources,
					    .trainer = given(s->model_trainer),
					    .filter = given(s->model_filter),
					    .model_db = given(s->model_db),
					    .shipped_db = given(s->shipped_models),
					    .server_url =
						    tw_models_server(s->model_server),
					    .server_path = tw_models_server_path(),
					    .keep_dir = given(s->keep),
					    .refresh_ms = s->model_refresh_ms,
					    .proc = s->proc,
					    .sys = s->sys,
					    .user = s->user,
					    .filter_calls = s->filter };
	struct tw_init_urls urls = { 0 };
	bool named; /* the user names models */
	int rc = -1;

	if (!has_machine(s))
		return 0;
	if (tw_init_urls_read(&urls, err) < 0)
		goto out;
	f.urls = tw_init_urls_any(&urls) ? &urls : NULL;
	if (f.shipped_db != NULL && access(f.shipped_db, F_OK) < 0)
		f.shipped_db = NULL;
	named = f.model_db != NULL || f.server_url != NULL || f.urls != NULL;
	c->shipped_only = !named && f.shipped_db != NULL && s->models.count == 0;
	if ((named || c->shipped_only) &&
	    tw_model_finder_start(&f, fd, &c->finder, err) < 0)
		goto out;
	rc = 0;
out:
	tw_init_urls_release(&urls);
	return rc;
}

void tw_collector_close(struct tw_collector *c)
{
	tw_texts_close(c->texts);
#if TW_FLEET
	tw_agents_close(c->agents);
#endif
	tw_pods_close(c->pods);
	tw_pods_close(c->engines);
	tw_power_history_free(c->history);
	tw_power_close(c->power);
	tw_estimates_close(c->estimates);
	tw_tariffs_close(c->tariffs);
	tw_attribution_close(c->attribution);
	tw_node_release(&c->node);
	tw_processors_release(&c->processors);
	tw_powercap_release(&c->powercap);
	tw_workloads_close(c->workloads);
	tw_counters_close(c->counters);
	tw_traces_close(c->traces);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* The sum of what all slices of this tick used. */
static struct tw_usage used_by_all(const struct tw_workloads *t)
{
	struct tw_usage sum = { .cpu_ns = 0 };
	size_t count;
	const struct tw_slice *s = tw_workloads_slices(t, &count);

	for (size_t i = 0; i < count; i++)
		tw_usage_add(&sum, &s[i].used);
	return sum;
}

/*
 * Charge each process for its use of GPUs. Energy of unknown processes stays with the
 * node.
 */
static void tick_gpus(struct tw_collector *c)
{
	size_t count;
	const struct tw_use *use = tw_power_uses(c->power, &count);

	for (size_t i = 0; i < count; i++)
		tw_workloads_use_gpu(c->workloads, use[i].tgid, use[i].dynamic_uj,
				     use[i].idle_uj);
}

/*
 * Read the meters even after a failure: their counters continue. The load is then
 * unknown, and does not count as rest.
 */
static int tick_energy(struct tw_collector *c, bool known, struct tw_err *err)
{
	const struct tw_schedule *ran = tw_workloads_schedule(c->workloads);
	const struct tw_usage used = used_by_all(c->workloads);
	struct tw_package_energy package[TW_SCHEDULE_PACKAGES];
	struct tw_err missing = { 0 };

	/* If /proc/stat is unreadable, node.fresh is false. */
	tw_node_tick(&c->node, c->elapsed_ns, known ? &used : NULL, &missing);
	tw_power_tick(c->power, c->now_ns, c->elapsed_ns, tw_node_load(&c->node),
		      known ? ran : NULL);
	tick_gpus(c);
	for (size_t i = 0; ran != NULL && i < ran->packages; i++)
		tw_power_package(c->power, ran->package[i], ran->packages == 1,
				 &package[i]);
	tw_tariffs_tick(c->tariffs, c->wall_ns / 1000000, c->awake_ns, c->power,
			c->attribution);
	if (tw_attribute(c->attribution, c->workloads, tw_power_ticked(c->power), package,
			 c->elapsed_ns, err) < 0)
		return -1;
	return tw_powercap_tick(&c->powercap, c->power, c->workloads, c->awake_ns,
				c->interval_ms * UINT64_C(1000000), err);
}

int tw_collector_tick(struct tw_collector *c, uint64_t lag_ns, uint64_t missed,
		      struct tw_err *err)
{
	const uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID),
		       now_ns = tw_boot_ns(), awake_ns = tw_now_ns();
	int rc = -1;

	c->elapsed_ns = c->awake_ns != 0 ? awake_ns - c->awake_ns : 0;
	c->awake_ns = awake_ns;
	c->now_ns = now_ns;
	c->wall_ns = (int64_t)clock_ns(CLOCK_REALTIME);
	c->stats.missed += missed;
	c->stats.lag_ns = lag_ns;
	if (lag_ns > c->stats.lag_max_ns)
		c->stats.lag_max_ns = lag_ns;
	if (c->workloads == NULL) {
		c->stats.ticks++;
		rc = 0;
		goto out;
	}
	if (tw_workloads_tick(c->workloads, now_ns, err) < 0) {
		struct tw_err ignored = { 0 };

		c->stats.failed++;
		tick_energy(c, false, &ignored);
		tw_power_history_tick(c->history, now_ns, c->elapsed_ns, c->power, NULL);
		goto out;
	}
	c->stats.ticks++;
	if (c->pods != NULL || c->engines != NULL)
		tw_workloads_name(c->workloads, c->pods, c->engines);
	if (tick_energy(c, true, err) < 0)
		goto out;
	tw_power_history_tick(c->history, now_ns, c->elapsed_ns, c->power, c->workloads);

	rc = 0;
out:
	c->stats.tick_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	c->stats.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	return rc;
}

uint64_t tw_collector_tick_number(const struct tw_collector *c)
{
	return c->stats.ticks + c->stats.failed;
}
