/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/probe.h"

#include "collector/system/privilege.h"
#include "collector/workloads/cgroup.h"
#include "collector/workloads/counters.h"
#include "collector/workloads/tasks.h"
#include "collector/workloads/usage.h"
#include "lib/core/err.h"

#include <linux/capability.h>
#include <string.h>

#if TW_BPF
#include <bpf/libbpf.h>
#endif

/* What advice depends on. */
struct found {
	struct tw_probe_meters meters;
	json_t *tasks, *counters, *rights, *advice;
	char cgroups[32], source[32];
	bool ends, counted, hidden;
};

static int add(json_t *list, json_t *value, struct tw_err *err)
{
	return json_array_append_new(list, value) < 0 ? tw_fail(err, TW_NOMEM, "probe")
						      : 0;
}

static void copy(char *to, size_t size, const char *from)
{
	const size_t len = strnlen(from, size - 1);

	memcpy(to, from, len);
	to[len] = '\0';
}

/* Those behind the first that opens are tried, too: it may not be wanted. */
static int probe_tasks(const struct tw_probe_config *c, struct found *f,
		       struct tw_err *err)
{
	struct tw_task_config tc = { .roots = c->roots };
	struct tw_cgroup_tree *tree = NULL;

	if (tw_cgroup_tree_open(c->roots, TW_CGROUPS_AUTO, &tree, err) < 0)
		return -1;
	copy(f->cgroups, sizeof(f->cgroups), tw_cgroup_tree_name(tree));
	tc.cgroup_v1 = tw_cgroup_tree_is_v1(tree);
	tc.cgroup_hierarchy = tw_cgroup_tree_hierarchy(tree);
	tw_cgroup_tree_close(tree);
	for (size_t i = 0; i < tw_task_source_count(); i++) {
		const struct tw_task_source *s = tw_task_source_at(i);
		struct tw_err why = { 0 };
		void *state = NULL;
		const bool there = s->open(&tc, &state, &why) == 0;

		if (there) {
			s->close(state);
			f->ends = f->ends || s->reports_exits;
		}
		if (there && f->source[0] == '\0')
			copy(f->source, sizeof(f->source), s->name);
		if (add(f->tasks,
			json_pack("{s:s,s:s,s:b,s:b,s:s}", "name", s->name, "summary",
				  s->summary, "there", there, "used",
				  there && strcmp(f->source, s->name) == 0, "why",
				  there ? "" : why.text),
			err) < 0)
			return -1;
	}
	return 0;
}

static int probe_counters(struct found *f, struct tw_err *err)
{
	struct tw_counters *counters = NULL;
	struct tw_err why = { 0 };
	int rc = -1;

	f->counted = tw_counters_open(false, &counters, &why) == 0;
	for (int i = 0; i <= TW_COUNTER_CACHE_MISSES; i++) {
		const bool there =
			f->counted && tw_counters_have(counters, (enum tw_counter)i);

		if (add(f->counters,
			json_pack("{s:s,s:b,s:s}", "name",
				  tw_counter_name((enum tw_counter)i), "there", there,
				  "why",
				  there        ? ""
				  : f->counted ? "the processor does not count it"
					       : why.text),
			err) < 0)
			goto out;
	}

	rc = 0;
out:
	tw_counters_close(counters);
	return rc;
}

static const struct {
	unsigned cap;
	const char *name, *for_what;
} rights[] = {
	{ CAP_BPF, "CAP_BPF", "exact CPU time, processes that end, counters" },
	{ CAP_PERFMON, "CAP_PERFMON", "the same" },
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH",
	  "RAPL's files, which are root's alone" },
	{ CAP_SYS_RAWIO, "CAP_SYS_RAWIO", "RAPL's registers (meter rapl-msr)" },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "other users' processes where /proc hides" },
};

static int probe_rights(struct found *f, struct tw_err *err)
{
	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++)
		if (add(f->rights,
			json_pack("{s:s,s:b,s:s}", "name", rights[i].name, "there",
				  tw_has_capability(rights[i].cap), "for",
				  rights[i].for_what),
			err) < 0)
			return -1;
	return 0;
}

static int advise(const struct found *f, struct tw_err *err)
{
	const bool may_bpf =
		tw_has_capability(CAP_SYS_ADMIN) ||
		(tw_has_capability(CAP_BPF) && tw_has_capability(CAP_PERFMON));
	const struct {
		bool holds;
		const char *text;
	} advice[] = {
		{ f->meters.denied,
		  "a meter is root's alone: start tw-collector as root (it gives root "
		  "up)" },
		{ f->meters.told == 0,
		  "no meter tells power: where the processor has RAPL, load "
		  "intel_rapl_msr, or msr; ask the machine's management controller "
		  "(--redfish); in a virtual machine let the host write its "
		  "measured power (--vm-power-dir there, --powercap here), or estimate "
		  "it by a model (--model)" },
		{ !f->ends && !may_bpf,
		  "short processes are not seen: give CAP_BPF and CAP_PERFMON, or start "
		  "as root" },
		{ !f->ends && may_bpf,
		  "short processes are not seen: that takes Linux 5.8 with BTF "
		  "(CONFIG_DEBUG_INFO_BTF) and a build with BPF" },
		{ !f->counted && may_bpf,
		  "nothing is counted: energy goes by CPU time; of a virtual machine, "
		  "have the host pass on the processor's counters (vPMU)" },
		{ f->hidden && !tw_has_capability(CAP_SYS_PTRACE),
		  "/proc hides other users' processes (hidepid): give CAP_SYS_PTRACE" },
		{ strcmp(f->cgroups, "none") == 0,
		  "there are no cgroups: containers are not told apart; mount "
		  "/sys/fs/cgroup" },
	};

	for (size_t i = 0; i < sizeof(advice) / sizeof(advice[0]); i++)
		if (advice[i].holds &&
		    add(f->advice, json_string(advice[i].text), err) < 0)
			return -1;
	return 0;
}

static int find_all(const struct tw_probe_config *c, struct found *f, struct tw_err *err)
{
	f->tasks = json_array();
	f->counters = json_array();
	f->rights = json_array();
	f->advice = json_array();
	f->hidden = tw_proc_is_hidden(c->roots);
	if (tw_probe_meters(c, &f->meters, err) < 0 || probe_tasks(c, f, err) < 0 ||
	    probe_counters(f, err) < 0 || probe_rights(f, err) < 0)
		return -1;
	return advise(f, err);
}

int tw_probe(const struct tw_probe_config *c, json_t **out, struct tw_err *err)
{
	struct found f = { .cgroups = "" };
	json_t *doc = NULL;
	int found;

#if TW_BPF
	/* Why a program is not loaded is told by its source. */
	const libbpf_print_fn_t before = libbpf_set_print(NULL);

	found = find_all(c, &f, err);
	libbpf_set_print(before);
#else
	found = find_all(c, &f, err);
#endif
	if (found == 0)
		doc = json_pack("{s:O,s:O,s:O,s:O,s:s,s:b,s:O,s:O}", "meters",
				f.meters.meters, "sums", f.meters.sums, "tasks", f.tasks,
				"counters", f.counters, "cgroups", f.cgroups,
				"proc_hides", f.hidden, "rights", f.rights, "advice",
				f.advice);
	json_decref(f.meters.meters);
	json_decref(f.meters.sums);
	json_decref(f.tasks);
	json_decref(f.counters);
	json_decref(f.rights);
	json_decref(f.advice);
	if (doc == NULL)
		return tw_fail(err, TW_NOMEM, "probe");
	*out = doc;
	return 0;
}
