/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "cli/memory.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/writer.h"
#include "trainer/response/machines.h"
#include "trainer/response/prom.h"
#include "trainer/isolation.h"
#include "trainer/names.h"

struct config {
	char *input, *machine, *source, *output;
};

static const struct tw_opt options[] = {
	{ TW_ROW(TEXT, "input", input, "FILE",
		 "Prometheus response of the machine at rest"),
	  .required = true },
	{ TW_ROW(TEXT, "machine", machine, "NAME",
		 "only this machine [all, each a node type]") },
	{ TW_ROW(TEXT, "source", source, "NAME",
		 "energy source of a name of your own, too") },
	{ TW_ROW(TEXT, "output", output, "FILE", "output file [stdout]") },
};

static int read_profile(const struct config *c, struct tw_profile *out,
			struct tw_err *err)
{
	const struct tw_energy_source *own = NULL;
	struct tw_machines machines = { 0 };
	struct tw_prom *p = NULL;
	int rc = -1;

	if (c->source != NULL && tw_names_source(c->source, &own, err) < 0)
		goto out;
	if (tw_prom_read(c->input, &p, err) < 0 ||
	    tw_machines_find(p, c->machine, TW_PARTS_OF_SEVERAL, &machines, err) < 0)
		goto out;
	for (size_t i = 0; i == 0 || i < machines.count; i++)
		if (tw_profile_add_response(out, p, tw_machines_part(&machines, i, p),
					    own, (uint32_t)i, err) < 0)
			goto out;
	rc = 0;
out:
	tw_machines_release(&machines);
	tw_prom_free(p);
	return rc;
}

static int profile(void *config, struct tw_err *err)
{
	const struct config *c = config;
	struct tw_profile p = { 0 };
	struct tw_buf text = { 0 };
	json_t *doc = NULL;
	int rc = -1;

	if (read_profile(c, &p, err) < 0) {
		tw_err_wrap(err, "'%s'", c->input);
		goto out;
	}
	doc = tw_must(tw_profile_to_json(&p));
	tw_buf_add_json_pretty(&text, doc);
	rc = 0;
	if (c->output != NULL)
		rc = tw_command_write(&text, NULL, c->output, err);
	else
		tw_command_print(&text);
out:
	json_decref(doc);
	tw_buf_clear(&text);
	tw_profile_release(&p);
	return rc;
}

const struct tw_command tw_command_profile = {
	.opts = TW_COMMAND_OPTS(
		"profile", NULL,
		"Report the power of machines at rest, and their workloads."),
	.config_size = sizeof(struct config),
	.work = profile,
};
