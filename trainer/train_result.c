/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_result.h"

#include "lib/core/buf.h"
#include "lib/core/num.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tw_train_result_release(struct tw_train_result *r)
{
	tw_fileset_clear(&r->pipeline);
	free(r->row);
	tw_buf_clear(&r->quality);
	*r = (struct tw_train_result){ 0 };
}

static void add_row(const struct tw_train_row *row, struct tw_buf *out)
{
	char mape[32] = "-";

	tw_buf_addf(out, "%-12s %-8s %-18s %-33s ", row->source, row->output, row->group,
		    row->trainer);
	if (row->failure[0] != '\0') {
		tw_buf_addf(out, "%8s %8s %6zu  no model: %s\n", "-", "-", row->rows,
			    row->failure);
		return;
	}
	if (isfinite(row->mape_percent))
		snprintf(mape, sizeof(mape), "%.2f", row->mape_percent);
	tw_buf_addf(out, "%8.3f %8s %6zu", row->mae_w, mape, row->rows);
	if (row->note[0] != '\0')
		tw_buf_addf(out, "  not validated in full: %s", row->note);
	tw_buf_adds(out, "\n");
}

static void add_time(const char *name, uint64_t ns, struct tw_buf *out)
{
	tw_buf_addf(out, "%s %.1f ms", name, (double)ns / 1e6);
}

void tw_train_result_report(const struct tw_train_result *r,
			    const struct tw_train_times *t, struct tw_buf *out)
{
	tw_buf_addf(out, "%-12s %-8s %-18s %-33s %8s %8s %6s\n", "source", "output",
		    "group", "trainer", "MAE W", "MAPE %", "rows");
	for (size_t i = 0; i < r->rows; i++) {
		const struct tw_train_row *row = &r->row[i];

		if (r->machines > 1 && (i == 0 || row->node_type != row[-1].node_type))
			tw_buf_addf(out, "machine '%s', node type %zu:\n", row->machine,
				    row->node_type);
		add_row(row, out);
	}
	add_time("parse", t->parse_ns, out);
	add_time(", extract", r->extract_ns, out);
	add_time(", isolate", r->isolate_ns, out);
	add_time(", fit and validate", r->fit_ns, out);
	add_time(", pack", r->pack_ns, out);
	add_time(", publish", t->publish_ns, out);
	add_time(", total", t->total_ns, out);
	tw_buf_adds(out, "\n");
}

static void add_member(const char *name, const char *text, struct tw_buf *out)
{
	tw_buf_addf(out, ",\"%s\":", name);
	tw_buf_add_json_text(out, text, strlen(text));
}

static void add_figure(const char *name, double value, struct tw_buf *out)
{
	if (!isfinite(value))
		return;
	tw_buf_addf(out, ",\"%s\":", name);
	tw_buf_add_double(out, value);
}

/* A row without a model has the member "failure" instead of errors. */
static void add_json_row(const struct tw_train_row *row, struct tw_buf *out)
{
	tw_buf_addf(out, "{\"node_type\":%zu", row->node_type);
	if (row->machine != NULL)
		add_member("machine", row->machine, out);
	add_member("source", row->source, out);
	add_member("output", row->output, out);
	add_member("group", row->group, out);
	add_member("trainer", row->trainer, out);
	tw_buf_addf(out, ",\"rows\":%zu", row->rows);
	if (row->failure[0] != '\0') {
		add_member("failure", row->failure, out);
	} else {
		add_figure("mae_watts", row->mae_w, out);
		add_figure("mape_percent", row->mape_percent, out);
	}
	if (row->note[0] != '\0')
		add_member("note", row->note, out);
	tw_buf_adds(out, "}");
}

void tw_train_result_json(const struct tw_train_result *r, struct tw_buf *out)
{
	tw_buf_adds(out, "[");
	for (size_t i = 0; i < r->rows; i++) {
		tw_buf_adds(out, i > 0 ? ",\n " : "");
		add_json_row(&r->row[i], out);
	}
	tw_buf_adds(out, "]\n");
}
