/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "collector/ask/ask_options.h"
#include "collector/probe.h"
#include "collector/system/roots.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/writer.h"

/* Interval of requests to a management controller. */
#define ASK_MS 1000

struct config {
	char *proc, *sys, *dev, *powercap, *model, *nvml, *amdsmi;
	uint64_t watch_ms;
	bool json, explain;
	struct tw_redfish_options redfish;
	struct tw_own_meter_options own_meter;
};

static const struct tw_opt options[] = {
	TW_OPTS_MACHINE_METERS,
	{ TW_ROW(TEXT, "model", model, "PATH", "trained model for estimates") },
	{ TW_ROW(TEXT, "amdsmi", amdsmi, "FILE",
		 "path of libamd_smi (default: that of the system or ROCm)") },
	{ TW_ROW(TEXT, "nvml", nvml, "FILE", "path of libnvidia-ml"),
	  .fallback = "libnvidia-ml.so.1" },
	TW_OPTS_REDFISH(struct config),
	TW_OPTS_OWN_METER(struct config),
	{ TW_ROW(DURATION_MS, "watch", watch_ms, "TIME",
		 "watch the meters for this time"),
	  .fallback = "2s", .max = 600000 },
	{ TW_ROW(BOOL, "explain", explain, NULL,
		 "print the tree of readings: which of them count, and why others do "
		 "not") },
	{ TW_ROW(BOOL, "json", json, NULL, "print a JSON object instead of a table") },
};

/* ---- the table ---- */

static const char *text(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static bool holds(const json_t *o, const char *key)
{
	return json_is_true(json_object_get(o, key));
}

/* "1.0 ms", or "-" if unknown. */
static void add_number(struct tw_buf *b, const json_t *o, const char *key,
		       const char *unit)
{
	const json_t *v = json_object_get(o, key);

	if (json_is_null(v))
		tw_buf_adds(b, "-");
	else
		tw_buf_addf(b, "%.1f %s", json_number_value(v), unit);
}

static void add_zones(struct tw_buf *b, const json_t *zones)
{
	const json_t *z;
	size_t i;

	json_array_foreach(zones, i, z) {
		tw_buf_addf(b, "    %-10s %-16s ", text(z, "zone"), text(z, "name"));
		add_number(b, z, "watts", "W");
		tw_buf_adds(b, ", updated every ");
		add_number(b, z, "update_ms", "ms");
		tw_buf_addf(b, ": %s%s%s%s%s\n", text(z, "covers"),
			    holds(z, "there") ? "" : "; ", text(z, "why"),
			    text(z, "note")[0] != '\0' ? "; " : "", text(z, "note"));
	}
}

/* Print a name, whether the item exists, and its description or the reason. */
static void add_list(struct tw_buf *b, const json_t *doc, const char *key,
		     const char *third)
{
	const json_t *e;
	size_t i;

	tw_buf_addf(b, "%s\n", key);
	json_array_foreach(json_object_get(doc, key), i, e) {
		const bool usable = holds(e, "there");
		const char *why = text(e, "why");

		tw_buf_addf(b, "  %-20s %-4s %s%s\n", text(e, "name"),
			    usable ? "yes" : "no",
			    !usable && why != NULL ? why
			    : third != NULL        ? text(e, third)
						   : "",
			    holds(e, "used") ? " (used)" : "");
		add_zones(b, json_object_get(e, "zones"));
	}
}

static void add_sums(struct tw_buf *b, const json_t *doc)
{
	const json_t *s;
	size_t i;

	json_array_foreach(json_object_get(doc, "sums"), i, s) {
		tw_buf_addf(b, "  %s of %s", text(s, "whole"), text(s, "meter"));
		if (json_integer_value(json_object_get(s, "package")) >= 0)
			tw_buf_addf(b, ", %" JSON_INTEGER_FORMAT,
				    json_integer_value(json_object_get(s, "package")));
		tw_buf_adds(b, ": parts ");
		add_number(b, s, "parts_watts", "W");
		tw_buf_adds(b, holds(s, "fits") ? " within " : " are MORE than ");
		add_number(b, s, "whole_watts", "W\n");
	}
}

static void add_table(struct tw_buf *b, const json_t *doc)
{
	const json_t *line;
	size_t i;

	add_list(b, doc, "meters", "summary");
	add_sums(b, doc);
	add_list(b, doc, "tasks", "summary");
	add_list(b, doc, "counters", NULL);
	tw_buf_addf(b, "cgroups\n  %s\n", text(doc, "cgroups"));
	add_list(b, doc, "rights", "for");
	if (json_array_size(json_object_get(doc, "advice")) > 0)
		tw_buf_adds(b, "advice\n");
	json_array_foreach(json_object_get(doc, "advice"), i, line)
		tw_buf_addf(b, "  %s\n", json_string_value(line));
}

/* "  package-0   rapl-sysfs   68.0 W  counted". */
static void add_reading(struct tw_buf *b, const json_t *z)
{
	const int depth = (int)json_integer_value(json_object_get(z, "depth"));
	const bool counted = holds(z, "counted");
	const char *why = text(z, "why");
	const json_t *watts = json_object_get(z, "watts");

	tw_buf_addf(b, "%*s%-*s %-8s %-12s ", 2 * depth, "", 30 - 2 * depth,
		    text(z, "name"), text(z, "zone"), text(z, "meter"));
	if (json_is_real(watts))
		tw_buf_addf(b, "%8.1f W  ", json_number_value(watts));
	else
		tw_buf_addf(b, "%8s    ", "-");
	tw_buf_addf(b, "%s%s%s\n", counted ? "counted" : "not counted",
		    why[0] != '\0' ? ": " : "", why);
}

/* True for readings that differ in their name only. */
static bool are_alike(const json_t *a, const json_t *b)
{
	return json_is_null(json_object_get(a, "watts")) &&
	       json_equal(json_object_get(a, "depth"), json_object_get(b, "depth")) &&
	       json_equal(json_object_get(a, "zone"), json_object_get(b, "zone")) &&
	       json_equal(json_object_get(a, "why"), json_object_get(b, "why"));
}

static void add_tree(struct tw_buf *b, const json_t *tree)
{
	const json_t *zones = json_object_get(tree, "zones"), *e;
	size_t i, alike = 0;

	tw_buf_adds(b, "machine: ");
	add_number(b, tree, "watts", "W");
	json_array_foreach(json_object_get(tree, "sum"), i, e)
		tw_buf_addf(b, "%s%s", i == 0 ? " = " : " + ", json_string_value(e));
	tw_buf_adds(b, "\n");
	json_array_foreach(zones, i, e) {
		if (alike == 0)
			add_reading(b, e);
		alike = are_alike(e, json_array_get(zones, i + 1)) ? alike + 1 : 0;
		if (alike == 0 && i > 0 && are_alike(json_array_get(zones, i - 1), e))
			tw_buf_addf(
				b, "%*s... and others like it\n",
				2 * (int)json_integer_value(json_object_get(e, "depth")),
				"");
	}
}

static void add_rule(struct tw_buf *b, const json_t *doc)
{
	tw_buf_addf(
		b, "attribution: %s\n",
		holds(doc, "by_package")
			? "by package; by learned weights once they predict the meter"
			: "the plain rule: no hardware counters, so where processes run "
			  "is not sampled");
}

static int check_use(void *config, struct tw_err *err)
{
	const struct config *c = config;

	return tw_own_meter_options_check(&c->own_meter, err) < 0
		       ? -1
		       : tw_redfish_options_check(&c->redfish, err);
}

static int probe(void *config, struct tw_err *err)
{
	const struct config *c = config;
	const struct tw_roots roots = { c->proc, c->sys, c->dev, c->powercap };
	struct tw_redfish_options redfish = c->redfish;
	const struct tw_probe_config pc = { .roots = &roots,
					    .model = c->model,
					    .nvml = c->nvml,
					    .amdsmi = c->amdsmi,
					    .redfish = &redfish,
					    .own_meter = &c->own_meter,
					    .watch_ms = (uint32_t)c->watch_ms,
					    .explain = c->explain };
	struct tw_buf b = { 0 };
	json_t *doc = NULL;

	redfish.interval_ms = ASK_MS;
	if (tw_probe(&pc, &doc, err) < 0)
		return -1;
	if (c->json) {
		tw_buf_add_json_pretty(&b, doc);
	} else if (c->explain) {
		add_tree(&b, json_object_get(doc, "tree"));
		add_rule(&b, doc);
	} else {
		add_table(&b, doc);
	}
	tw_command_print(&b);
	json_decref(doc);
	return 0;
}

const struct tw_command tw_command_probe = {
	.opts = TW_COMMAND_OPTS(
		"probe", NULL,
		"Report the meters and counters that tw-collector finds here."),
	.config_size = sizeof(struct config),
	.check = check_use,
	.work = probe,
};
