/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/probe.h"

#include "collector/meters/meter.h"
#include "collector/power/estimates.h"
#include "collector/power/node.h"
#include "collector/power/track.h"
#include "collector/probe_tree.h"
#include "collector/system/privilege.h"
#include "collector/system/roots.h"
#include "collector/workloads/cgroup.h"
#include "collector/workloads/counters.h"
#include "collector/workloads/tasks.h"
#include "lib/ask/ask.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"

#include <linux/capability.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if TW_BPF
#include <bpf/libbpf.h>
#endif

/* ---- meters ---- */

/* The zones of a package update at slightly different times. */
#define SUM_TOLERANCE 0.02

/* Poll interval for meters behind tw-ask. */
#define ASK_MS 1000

struct watched {
	struct tw_track track;
	struct tw_span span; /* energy between the first and the last reading */
	struct tw_reading seen;
	uint64_t first_ns, last_ns, changes;
};

struct watch {
	const struct tw_meter *meter;
	void *state;
	struct tw_err why; /* why it is not open */
	const struct tw_zone *zone;
	size_t count;
	struct tw_reading *reading;
	struct watched *watched;
};

static const char *const covers[TW_ZONE_KIND_COUNT] = {
	[TW_ZONE_PACKAGE] = "a processor: cores, caches, memory controller",
	[TW_ZONE_CORE] = "the cores, a part of package",
	[TW_ZONE_UNCORE] = "graphics or the rest of a package, a part of it",
	[TW_ZONE_DRAM] = "memory, beside package",
	[TW_ZONE_PSYS] = "the board behind its regulators, with the package",
	[TW_ZONE_PLATFORM] = "the machine at its inlet",
	[TW_ZONE_GPU] = "a GPU",
	[TW_ZONE_OTHER] = "the machine without package, dram and gpu",
	[TW_ZONE_SENSOR] = "unknown: see its name",
};

/* The report, and findings from which the advice follows. */
struct found {
	struct tw_buf doc, sums;
	size_t zones_read; /* zones that could be read */
	bool denied;       /* the collector lacks the rights for a meter */
	bool ends, counted, sampled, has_power;
	char cgroups[32];
};

/* ---- watching ---- */

static int open_meter(struct watch *w, const struct tw_meter_config *mc)
{
	if (w->meter->only_by_name)
		return tw_fail(&w->why, TW_UNSUPPORTED,
			       "used only if named with --meters");
	if (w->meter->open(mc, &w->state, &w->why) < 0) {
		w->state = NULL;
		return -1;
	}
	w->zone = w->meter->zones(w->state, &w->count);
	w->reading = calloc(w->count + 1, sizeof(*w->reading));
	w->watched = calloc(w->count + 1, sizeof(*w->watched));
	if (w->reading == NULL || w->watched == NULL) {
		w->count = 0;
		return tw_fail(&w->why, TW_NOMEM, "zones");
	}
	return 0;
}

static void close_meter(struct watch *w)
{
	if (w->state != NULL)
		w->meter->close(w->state);
	free(w->reading);
	free(w->watched);
}

static bool is_same(const struct tw_reading *a, const struct tw_reading *b)
{
	return a->readable == b->readable && a->energy_uj == b->energy_uj &&
	       !(a->power_w < b->power_w) && !(a->power_w > b->power_w);
}

/*
 * tick_ns: 0 for the first reading, the whole watch time for the last, UINT64_MAX between
 * them.
 */
static void look(struct watch *w, uint64_t now_ns, uint64_t tick_ns)
{
	if (w->count == 0)
		return;
	w->meter->read(w->state, w->reading);
	for (size_t i = 0; i < w->count; i++) {
		struct watched *z = &w->watched[i];

		if (tick_ns != 0 && !is_same(&w->reading[i], &z->seen)) {
			if (z->changes++ == 0)
				z->first_ns = now_ns;
			z->last_ns = now_ns;
		}
		z->seen = w->reading[i];
		if (tick_ns != UINT64_MAX)
			z->span = tw_track_take(&z->track, &w->zone[i], &z->seen, now_ns,
						tick_ns);
	}
}

/* Wait as the configuration says; by default 1 ms. Returns the time, as tw_now_ns(). */
static uint64_t wait_a_little(const void *config)
{
	const struct tw_probe_config *c = config;
	const struct timespec pause = { .tv_nsec = 1000000 };

	if (c->wait != NULL)
		return c->wait(c->arg);
	nanosleep(&pause, NULL);
	return tw_now_ns();
}

static void look_at_all(struct watch *w, const struct tw_probe_config *c)
{
	const uint64_t began_ns = wait_a_little(c),
		       span_ns = c->watch_ms * UINT64_C(1000000);
	uint64_t now_ns = began_ns;

	for (size_t i = 0; i < tw_meter_count(); i++)
		look(&w[i], began_ns, 0);
	do {
		now_ns = wait_a_little(c);
		for (size_t i = 0; i < tw_meter_count(); i++)
			look(&w[i], now_ns,
			     now_ns - began_ns < span_ns ? UINT64_MAX
							 : now_ns - began_ns);
	} while (now_ns - began_ns < span_ns);
}

/* ---- reporting ---- */

static double watts(const struct tw_span *s)
{
	return s->over_ns > 0 ? (double)s->energy_uj * 1e3 / (double)s->over_ns : 0;
}

/* Begin an entry of a list: its name, whether it exists, and else why not. */
static void begin(struct tw_buf *b, const char *name, const char *summary, bool usable,
		  const char *why)
{
	tw_json_add_object(b, NULL);
	tw_json_add_text(b, "name", name);
	if (summary != NULL)
		tw_json_add_text(b, "summary", summary);
	tw_json_add_bool(b, "there", usable);
	if (why != NULL)
		tw_json_add_text(b, "why", usable ? "" : why);
}

static void describe_zone(const struct tw_zone *z, const struct watched *w,
			  struct tw_buf *b)
{
	const double changes = w->changes >= 2 ? (double)(w->changes - 1) : NAN;

	tw_json_add_object(b, NULL);
	tw_json_add_text(b, "zone", tw_zone_kind_name(z->kind));
	tw_json_add_text(b, "covers", covers[z->kind]);
	tw_json_add_text(b, "name", z->name);
	tw_json_add_text(b, "path", z->path);
	tw_json_add_int(b, "package", z->package);
	tw_json_add_text(b, "reports", z->reports_power ? "power" : "energy");
	tw_json_add_bool(b, "there", w->span.known);
	tw_json_add_text(b, "why", w->span.known ? "" : w->span.why);
	tw_json_add_number(b, "watts", w->span.known ? watts(&w->span) : NAN);
	tw_json_add_number(b, "update_ms",
			   (double)(w->last_ns - w->first_ns) / 1e6 / changes);
	tw_json_add_number(b, "window_ms",
			   z->window_ms != 0 ? (double)z->window_ms : NAN);
	tw_json_add_text(b, "note", z->note != NULL ? z->note : "");
	tw_json_end_object(b);
}

static void describe(const struct watch *w, struct found *f)
{
	begin(&f->doc, w->meter->name, w->meter->summary,
	      w->zone != NULL && w->why.code == TW_OK, w->why.text);
	f->denied = f->denied || w->why.code == TW_DENIED;
	tw_json_add_array(&f->doc, "zones");
	for (size_t i = 0; i < w->count; i++) {
		f->zones_read += w->watched[i].span.known;
		describe_zone(&w->zone[i], &w->watched[i], &f->doc);
	}
	tw_json_end_array(&f->doc);
	tw_json_end_object(&f->doc);
}

/* Watts of a kind in a package (-1: any); *told is set if a zone has a reading. */
static double sum_of(const struct watch *w, enum tw_zone_kind kind, int package,
		     bool *known)
{
	double sum = 0;

	for (size_t i = 0; i < w->count; i++)
		if (w->zone[i].kind == kind && w->watched[i].span.known &&
		    (package < 0 || w->zone[i].package == package)) {
			sum += watts(&w->watched[i].span);
			*known = true;
		}
	return sum;
}

/* Check that the zones inside `whole` do not exceed it. */
static void compare(const struct watch *w, enum tw_zone_kind whole, int package,
		    const enum tw_zone_kind inside[2], struct tw_buf *sums)
{
	bool known = false, parts = false;
	const double whole_w = sum_of(w, whole, package, &known);
	const double parts_w = sum_of(w, inside[0], package, &parts) +
			       sum_of(w, inside[1], package, &parts);

	if (!known || !parts)
		return;
	tw_json_add_object(sums, NULL);
	tw_json_add_text(sums, "meter", w->meter->name);
	tw_json_add_text(sums, "whole", tw_zone_kind_name(whole));
	tw_json_add_int(sums, "package", package);
	tw_json_add_number(sums, "whole_watts", whole_w);
	tw_json_add_number(sums, "parts_watts", parts_w);
	tw_json_add_bool(sums, "fits", parts_w <= whole_w * (1 + SUM_TOLERANCE));
	tw_json_end_object(sums);
}

static void compare_all(const struct watch *w, struct tw_buf *sums)
{
	static const enum tw_zone_kind cpu[] = { TW_ZONE_CORE, TW_ZONE_UNCORE },
				       board[] = { TW_ZONE_PACKAGE, TW_ZONE_DRAM };
	int packages = 0;

	for (size_t i = 0; i < w->count; i++)
		if (w->zone[i].package >= packages)
			packages = w->zone[i].package + 1;
	for (int p = 0; p < packages && p < TW_ZONES_MAX; p++)
		compare(w, TW_ZONE_PACKAGE, p, cpu, sums);
	compare(w, TW_ZONE_PSYS, -1, board, sums);
}

/* Open the estimates of the given model, if there is one. */
static int open_estimates(const struct tw_probe_config *c, const struct tw_node *node,
			  struct tw_estimates **out, struct tw_err *err)
{
	char *path = (char *)(uintptr_t)c->model;
	const struct tw_strs paths = { .at = &path, .count = 1 };
	const struct tw_estimates_config ec = { .paths = &paths,
						.finder_fd = -1,
						.proc = c->roots->proc,
						.sys = c->roots->sys };

	return c->model == NULL ? 0 : tw_estimates_open(&ec, node, NULL, out, err);
}

static int probe_meters(const struct tw_probe_config *c, struct found *f,
			struct tw_err *err)
{
	struct watch *w = calloc(tw_meter_count(), sizeof(*w));
	struct tw_node node = { 0 };
	const struct tw_ask_config ask = { .user = NULL };
	struct tw_meter_config mc = { .roots = c->roots,
				      .node = &node,
				      .nvml = c->nvml,
				      .amdsmi = c->amdsmi,
				      .ask = &ask,
				      .redfish = c->redfish,
				      .own_meter = c->own_meter,
				      .ipmi_interval_ms = ASK_MS };
	json_t *tree = NULL;
	bool any = false;
	int rc = -1;

	if (w == NULL)
		return tw_fail(err, TW_NOMEM, "meters");
	if (tw_node_open(&node, c->roots, err) < 0 ||
	    open_estimates(c, &node, &mc.estimates, err) < 0)
		goto out;
	if (c->explain) {
		rc = tw_probe_tree(&mc, c->watch_ms, wait_a_little, c, &tree, err);
		tw_json_add_value_take(&f->doc, "tree", tree);
		goto out;
	}
	for (size_t i = 0; i < tw_meter_count(); i++) {
		w[i].meter = tw_meter_at(i);
		any = open_meter(&w[i], &mc) == 0 || any;
	}
	if (any)
		look_at_all(w, c);
	tw_json_add_array(&f->doc, "meters");
	for (size_t i = 0; i < tw_meter_count(); i++) {
		describe(&w[i], f);
		compare_all(&w[i], &f->sums);
	}
	tw_json_end_array(&f->doc);
	rc = 0;
out:
	for (size_t i = 0; i < tw_meter_count(); i++)
		if (w[i].meter != NULL)
			close_meter(&w[i]);
	free(w);
	tw_estimates_close(mc.estimates);
	tw_node_release(&node);
	return rc;
}

/* ---- all of it ---- */

/* Try the sources after the first working one, too: the user may prefer another. */
static int probe_tasks(const struct tw_probe_config *c, struct found *f,
		       struct tw_err *err)
{
	struct tw_task_config tc = { .roots = c->roots };
	struct tw_cgroup_tree *tree = NULL;
	bool used = false;

	if (tw_cgroup_tree_open(c->roots, TW_CGROUPS_AUTO, &tree, err) < 0)
		return -1;
	snprintf(f->cgroups, sizeof(f->cgroups), "%s", tw_cgroup_tree_name(tree));
	tc.cgroup_v1 = tw_cgroup_tree_is_v1(tree);
	tc.cgroup_hierarchy = tw_cgroup_tree_hierarchy(tree);
	tw_cgroup_tree_close(tree);
	tw_json_add_array(&f->doc, "tasks");
	for (size_t i = 0; i < tw_task_source_count(); i++) {
		const struct tw_task_source *s = tw_task_source_at(i);
		struct tw_err why = { 0 };
		void *state = NULL;
		const bool usable = s->open(&tc, &state, &why) == 0;

		if (usable) {
			s->close(state);
			f->ends = f->ends || s->reports_exits;
		}
		begin(&f->doc, s->name, s->summary, usable, NULL);
		tw_json_add_bool(&f->doc, "used", usable && !used);
		tw_json_add_text(&f->doc, "why", usable ? "" : why.text);
		tw_json_end_object(&f->doc);
		used = used || usable;
	}
	tw_json_end_array(&f->doc);
	return 0;
}

static void probe_counters(struct found *f)
{
	struct tw_counters *counters = NULL;
	struct tw_err why = { 0 };

	f->counted = tw_counters_open(false, &counters, &why) == 0;
	f->sampled = f->counted && tw_counters_sampled_cpus(counters) > 0;
	tw_json_add_array(&f->doc, "counters");
	for (int i = 0; i <= TW_COUNTER_CACHE_MISSES; i++) {
		const bool usable =
			f->counted && tw_counters_have(counters, (enum tw_counter)i);

		begin(&f->doc, tw_counter_name((enum tw_counter)i), NULL, usable,
		      f->counted ? "the processor does not count it" : why.text);
		tw_json_end_object(&f->doc);
	}
	tw_json_end_array(&f->doc);
	tw_counters_close(counters);
}

static const struct {
	unsigned cap;
	const char *name, *for_what;
} rights[] = {
	{ CAP_BPF, "CAP_BPF", "exact CPU time, exited processes, counters" },
	{ CAP_PERFMON, "CAP_PERFMON", "the same" },
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH",
	  "RAPL's files, which only root may read" },
	{ CAP_SYS_RAWIO, "CAP_SYS_RAWIO", "RAPL's registers (meter rapl-msr)" },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE",
	  "other users' processes if /proc has hidepid" },
};

static void probe_rights(struct tw_buf *b)
{
	tw_json_add_array(b, "rights");
	for (size_t i = 0; i < TW_COUNT(rights); i++) {
		begin(b, rights[i].name, NULL, tw_has_capability(rights[i].cap), NULL);
		tw_json_add_text(b, "for", rights[i].for_what);
		tw_json_end_object(b);
	}
	tw_json_end_array(b);
}

static void advise(struct found *f, bool hidden)
{
	const bool may_bpf =
		tw_has_capability(CAP_SYS_ADMIN) ||
		(tw_has_capability(CAP_BPF) && tw_has_capability(CAP_PERFMON));
	const struct {
		bool holds;
		const char *text;
	} advice[] = {
		{ f->denied,
		  "only root may read a meter: start tw-collector as root (it drops "
		  "root)" },
		{ f->zones_read == 0 && !f->has_power,
		  "no meter reports power: if the processor has RAPL, load "
		  "intel_rapl_msr or msr; or read the management controller "
		  "(--redfish); in a virtual machine, let the host write the VM's "
		  "power (--vm-power-dir there, --powercap here), or estimate "
		  "it by a model (--model)" },
		{ !f->ends && !may_bpf,
		  "short processes are not seen: give CAP_BPF and CAP_PERFMON, or start "
		  "as root" },
		{ !f->ends && may_bpf,
		  "short processes are not seen: this needs Linux 5.8 with BTF "
		  "(CONFIG_DEBUG_INFO_BTF) and a build with BPF" },
		{ !f->counted && may_bpf,
		  "no hardware counters: energy is attributed by CPU time; in a virtual "
		  "machine, let the host pass on the processor's counters (vPMU)" },
		{ hidden && !tw_has_capability(CAP_SYS_PTRACE),
		  "/proc hides other users' processes (hidepid): give CAP_SYS_PTRACE" },
		{ strcmp(f->cgroups, "none") == 0,
		  "no cgroups: containers cannot be distinguished; mount "
		  "/sys/fs/cgroup" },
	};

	tw_json_add_array(&f->doc, "advice");
	for (size_t i = 0; i < TW_COUNT(advice); i++)
		if (advice[i].holds)
			tw_json_add_text(&f->doc, NULL, advice[i].text);
	tw_json_end_array(&f->doc);
}

static int finish(struct found *f, struct tw_err *err)
{
	tw_json_end_object(&f->doc);
	return tw_buf_failed(&f->doc) ? tw_fail(err, TW_NOMEM, "probe") : 0;
}

static int find_all(const struct tw_probe_config *c, struct found *f, struct tw_err *err)
{
	const bool hidden = tw_proc_is_hidden(c->roots);

	tw_json_add_object(&f->doc, NULL);
	tw_json_add_array(&f->sums, NULL);
	if (probe_meters(c, f, err) < 0)
		return -1;
	if (c->explain) {
		probe_counters(f);
		tw_json_add_bool(&f->doc, "by_package", f->sampled);
		return finish(f, err);
	}
	tw_json_end_array(&f->sums);
	f->doc.failed |= tw_buf_failed(&f->sums);
	tw_json_add_key(&f->doc, "sums");
	tw_buf_add(&f->doc, f->sums.data, f->sums.len);
	if (probe_tasks(c, f, err) < 0)
		return -1;
	probe_counters(f);
	tw_json_add_text(&f->doc, "cgroups", f->cgroups);
	tw_json_add_bool(&f->doc, "proc_hides", hidden);
	probe_rights(&f->doc);
	advise(f, hidden);
	return finish(f, err);
}

int tw_probe(const struct tw_probe_config *c, json_t **out, struct tw_err *err)
{
	struct found f = { .has_power = c->has_power };
	int rc;

#if TW_BPF
	/* Silence libbpf: the error of the source gives the reason. */
	const libbpf_print_fn_t before = libbpf_set_print(NULL);

	rc = find_all(c, &f, err);
	libbpf_set_print(before);
#else
	rc = find_all(c, &f, err);
#endif
	if (rc == 0)
		rc = tw_json_parse(f.doc.data, f.doc.len, "probe", out, err);
	tw_buf_clear(&f.doc);
	tw_buf_clear(&f.sums);
	return rc;
}
