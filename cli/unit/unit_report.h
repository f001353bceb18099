/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_UNIT_REPORT_H
#define TW_CLI_UNIT_REPORT_H

/* The results of `tallywatt unit`: as a table, JSON, recording rules, and a picture. */

#include "lib/core/strs.h"
#include "trainer/unit/sci.h"
#include "trainer/unit/unit_batch.h"
#include "trainer/unit/unit_blocks.h"
#include "trainer/unit/unit_fit.h"

struct tw_buf;
struct tw_unit_data;

struct tw_unit_result {
	const struct tw_unit_data *data;
	struct tw_unit_blocks blocks;
	struct tw_unit_fit fit;
	struct tw_strs warnings;
	double idle_w; /* mean, not attributed */
	bool has_batches;
	struct tw_unit_batch batch[TW_UNIT_BATCH_PARTS];
	bool has_sci;
	struct tw_sci_input sci_in;
	struct tw_sci sci;
};

/* Append to out. A failed allocation marks the buffer. */
void tw_unit_report_table(const struct tw_unit_result *r, struct tw_buf *out);
void tw_unit_report_json(const struct tw_unit_result *r, struct tw_buf *out);
void tw_unit_report_rules(const struct tw_unit_result *r, struct tw_buf *out);
void tw_unit_report_svg(const struct tw_unit_result *r, struct tw_buf *out);

#endif /* TW_CLI_UNIT_REPORT_H */
