/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "lib/program/opt.h"
#include "profiler/discover.h"
#include "profiler/node_choice.h"
#include "profiler/node_types.h"
#include "profiler/spec.h"

#include <stdio.h>

struct config {
	char *proc, *sys, *node_types;
};

static const struct tw_opt options[] = {
	TW_OPTS_MACHINE(struct config),
	{ .name = "node-types",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, node_types),
	  .arg = "FILE",
	  .help = "print the node type of this machine in this node_type_index.json" },
};

static const struct tw_opts opts = {
	.program = "tallywatt spec",
	.summary = "Print the machine spec by which models are chosen.",
	.opt = options,
	.count = sizeof(options) / sizeof(options[0]),
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
	struct tw_machine_spec spec;
	json_t *doc;

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
