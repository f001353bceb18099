/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/writer.h"
#include "profiler/cpu_identity.h"
#include "profiler/discover.h"
#include "profiler/node_types.h"
#include "profiler/spec.h"

#include <stdbool.h>
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

/* {"node_type":5,"uncertainty":0,"looseness":0.1} */
static int describe_choice(const char *path, const struct tw_machine_spec *spec,
			   struct tw_buf *out, struct tw_err *err)
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
	tw_json_add_object(out, NULL);
	tw_json_add_int(out, "node_type", choice.node_type);
	tw_json_add_number(out, "uncertainty", choice.uncertainty);
	tw_json_add_number(out, "looseness", choice.looseness);
	tw_json_end_object(out);

	rc = 0;
out:
	tw_node_types_release(&types);
	return rc;
}

/*
 * {"processor":"..","architecture":{"value":"zen3","known":"name"},..}; an unknown field
 * has no value.
 */
static void describe_processor(const struct tw_cpu_identity *id, struct tw_buf *b)
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

	tw_json_add_object(b, NULL);
	tw_json_add_text(b, "processor", id->processor);
	for (size_t i = 0; i < TW_COUNT(fields); i++) {
		const enum tw_cpu_evidence how = id->how[fields[i].field];

		tw_json_add_object(b, fields[i].key);
		if (how != TW_CPU_UNKNOWN && fields[i].text != NULL)
			tw_json_add_text(b, "value", fields[i].text);
		else if (how != TW_CPU_UNKNOWN)
			tw_json_add_uint(b, "value", fields[i].number);
		tw_json_add_text(b, "known", tw_cpu_evidence_name(how));
		tw_json_end_object(b);
	}
	tw_json_end_object(b);
}

static int describe(const struct config *c, struct tw_buf *b, struct tw_err *err)
{
	struct tw_cpu_identity id;
	struct tw_machine_spec spec;

	if (c->name != NULL)
		tw_cpu_identify(c->name, strlen(c->name), NULL, &id);
	else if (c->processor && tw_cpu_discover(c->proc, c->sys, &id, err) < 0)
		return -1;
	if (c->processor || c->name != NULL) {
		describe_processor(&id, b);
		return 0;
	}
	if (tw_machine_spec_discover(c->proc, c->sys, &spec, err) < 0)
		return -1;
	if (c->node_types != NULL)
		return describe_choice(c->node_types, &spec, b, err);
	tw_json_add_value_take(b, NULL, tw_machine_spec_to_json(&spec));
	return 0;
}

static int print_spec(void *config, struct tw_err *err)
{
	struct tw_buf b = { 0 };
	const int rc = describe(config, &b, err);

	if (rc == 0) {
		tw_json_indent(&b);
		tw_command_print(&b);
	}
	tw_buf_clear(&b);
	return rc;
}

const struct tw_command tw_command_spec = {
	.opts = TW_COMMAND_OPTS("spec", NULL,
				"Print the machine spec by which models are chosen."),
	.config_size = sizeof(struct config),
	.work = print_spec,
};
