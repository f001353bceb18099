/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_result.h"

#include "lib/json/writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

/* A row without a model has the member "failure" instead of errors. */
static void add_json_row(const struct tw_train_row *row, struct tw_buf *out)
{
	tw_json_add_object(out, NULL);
	tw_json_add_uint(out, "node_type", row->node_type);
	if (row->machine != NULL)
		tw_json_add_text(out, "machine", row->machine);
	tw_json_add_text(out, "source", row->source);
	tw_json_add_text(out, "output", row->output);
	tw_json_add_text(out, "group", row->group);
	tw_json_add_text(out, "trainer", row->trainer);
	tw_json_add_uint(out, "rows", row->rows);
	if (row->failure[0] != '\0')
		tw_json_add_text(out, "failure", row->failure);
	else if (isfinite(row->mae_w))
		tw_json_add_number(out, "mae_watts", row->mae_w);
	if (row->failure[0] == '\0' && isfinite(row->mape_percent))
		tw_json_add_number(out, "mape_percent", row->mape_percent);
	if (row->note[0] != '\0')
		tw_json_add_text(out, "note", row->note);
	tw_json_end_object(out);
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
