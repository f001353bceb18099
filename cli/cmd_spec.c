/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "lib/program/opt.h"
#include "profiler/cpu_identity.h"
#include "profiler/discover.h"
#include "profiler/node_choice.h"
#include "profiler/node_types.h"
#include "profiler/spec.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct config {
	char *proc, *sys, *node_types, *name;
	bool processor;
};

static const struct tw_opt options[] = {
	TW_OPTS_MACHINE,
	{ TW_ROW(TEXT, "node-types", node_types, "FILE",
		 "print the node type of this machine in this node_type_index.json") },
	{ TW_ROW(BOOL, "processor", processor, NULL,
		 "print the known facts about the processor, and their source") },
	{ TW_ROW(TEXT, "name", name, "TEXT",
		 "print it of the processor with this name instead") },
};

static const struct tw_opts opts = {
	.program = "tallywatt spec",
	.summary = "Print the machine spec by which models are chosen.",
	.opt = options,
	.count = TW_COUNT(options),
};

/* {"node_type":5,"uncertainty":0,"looseness":0.1} */
static int describe_choice(const char *path, const struct tw_machine_spec *spec,
			   json_t **out, struct tw_err *err)
{
	struct tw_node_types types = { 0 };
	struct tw_node_choice choice;
	int rc = -1;

	if (tw_node_types_read(path, &types, err) < 0)
		goto out;
	if (!tw_node_choose(&types, spec, true, &choice)) {
		tw_fail(err, TW_NOTFOUND, "'%s' has no node type", path);
		goto out;
	}
	*out = json_pack("{s:I,s:f,s:f}", "node_type", (json_int_t)choice.node_type,
			 "uncertainty", choice.uncertainty, "looseness",
			 choice.looseness);

	rc = 0;
out:
	tw_node_types_release(&types);
	return rc;
}

/* {"value":"zen3","known":"name"}; an unknown field has no value. */
static json_t *field(const struct tw_cpu_identity *id, enum tw_cpu_field f, json_t *value)
{
	const char *how = tw_cpu_evidence_name(id->how[f]);

	if (id->how[f] != TW_CPU_UNKNOWN)
		return json_pack("{s:o,s:s}", "value", value, "known", how);
	json_decref(value);
	return json_pack("{s:s}", "known", how);
}

/* NULL without memory. */
static json_t *describe_processor(const struct tw_cpu_identity *id)
{
	const struct {
		const char *key;
		enum tw_cpu_field field;
		const char *text; /* NULL: a number */
		uint32_t number;
	} fields[] = {
		{ "vendor", TW_CPU_VENDOR, id->vendor, 0 },
		{ "architecture", TW_CPU_ARCHITECTURE, id->architecture, 0 },
		{ "generation", TW_CPU_GENERATION, id->generation, 0 },
		{ "process_nm", TW_CPU_PROCESS, NULL, id->process_nm },
		{ "memory_type", TW_CPU_MEMORY, id->memory, 0 },
		{ "low_power", TW_CPU_LOW_POWER, id->low_power, 0 },
		{ "nominal_mhz", TW_CPU_NOMINAL_MHZ, NULL, id->nominal_mhz },
		{ "turbo_mhz", TW_CPU_TURBO_MHZ, NULL, id->turbo_mhz },
		{ "cores_per_chip", TW_CPU_CORES, NULL, id->cores },
		{ "threads_per_chip", TW_CPU_THREADS, NULL, id->threads },
		{ "tdp_w_per_chip", TW_CPU_TDP, NULL, id->tdp_w },
	};
	json_t *doc = json_pack("{s:s}", "processor", id->processor);

	for (size_t i = 0; doc != NULL && i < TW_COUNT(fields); i++) {
		json_t *value = fields[i].text != NULL ? json_string(fields[i].text)
						       : json_integer(fields[i].number);

		if (json_object_set_new(doc, fields[i].key,
					field(id, fields[i].field, value)) < 0) {
			json_decref(doc);
			return NULL;
		}
	}
	return doc;
}

/* Takes over the document. */
static int print_document(json_t *doc, struct tw_err *err)
{
	struct tw_buf b = { 0 };
	int rc = -1;

	if (doc == NULL) {
		tw_fail(err, TW_NOMEM, "machine spec");
		goto out;
	}
	tw_buf_add_json_pretty(&b, doc);
	if (tw_command_print(&b, "machine spec", err) < 0)
		goto out;
	rc = 0;
out:
	tw_buf_clear(&b);
	json_decref(doc);
	return rc;
}

static int print_spec(void *config, struct tw_err *err)
{
	const struct config *c = config;
	struct tw_cpu_identity id;
	struct tw_machine_spec spec;
	json_t *doc;

	if (c->name != NULL)
		tw_cpu_identify(c->name, strlen(c->name), NULL, &id);
	else if (c->processor && tw_cpu_discover(c->proc, c->sys, &id, err) < 0)
		return -1;
	if (c->processor || c->name != NULL)
		return print_document(describe_processor(&id), err);

	if (tw_machine_spec_discover(c->proc, c->sys, &spec, err) < 0)
		return -1;
	if (c->node_types == NULL)
		doc = tw_machine_spec_to_json(&spec);
	else if (describe_choice(c->node_types, &spec, &doc, err) < 0)
		return -1;
	return print_document(doc, err);
}

const struct tw_command tw_command_spec = {
	.name = "spec",
	.summary = "print the spec of this machine",
	.opts = &opts,
	.config_size = sizeof(struct config),
	.work = print_spec,
};
