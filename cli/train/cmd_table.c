/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/train/cmd_table.h"

#include "cli/command.h"
#include "cli/memory.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/field/csv.h"
#include "trainer/extract/quality.h"
#include "trainer/extract/sample_sums.h"
#include "trainer/names.h"
#include "trainer/response/prom.h"

#include <stdio.h>

/* Rows that are formatted at a time. */
#define PIECE_ROWS 1024

const char *const tw_compat_names[] = {
	[TW_COMPAT_NONE] = "none",
	[TW_COMPAT_KMS] = "kms",
	NULL,
};

int tw_table_args(struct tw_table_config *c, enum tw_row_level level,
		  struct tw_extract_args *out, struct tw_err *err)
{
	struct tw_extract_args args = {
		.level = level,
		.resets = (enum tw_resets)c->resets,
		.compat = (enum tw_compat)c->compat,
		.vm_metrics = c->vm_metrics,
		.correct_lag = c->correct_lag,
		.packages = true,
		.machine = c->machine,
	};

	if (c->group == NULL)
		return tw_fail(err, TW_INVALID, "--group is missing");
	if (tw_names_source(c->source, &args.source, err) < 0 ||
	    tw_names_group(c->group, &args.group, err) < 0)
		return -1;
	if (tw_thirdparty_init(&c->thirdparty, &c->names, err) < 0)
		return tw_err_wrap(err, "--thirdparty-metrics");
	if (tw_thirdparty_declare(&c->thirdparty, &c->gauges, err) < 0)
		return tw_err_wrap(err, "--gauges");
	args.group = tw_thirdparty_group(&c->thirdparty, args.group);
	*out = args;
	return 0;
}

int tw_table_smooth(const struct tw_table_config *c, struct tw_dataset *d,
		    struct tw_err *err)
{
	return c->extractor > 0 ? tw_smooth(d, c->window, err) : 0;
}

void tw_table_release(struct tw_table_config *c)
{
	tw_thirdparty_release(&c->thirdparty);
}

static int write_raw(const struct tw_table_config *c, const struct tw_prom *p,
		     const struct tw_extract_args *args, struct tw_err *err)
{
	struct tw_dataset d = { 0 };
	int rc = 0;

	if (c->raw != NULL &&
	    (tw_sample_sums(p, args, &d, err) < 0 || tw_table_write(&d, c->raw, err) < 0))
		rc = tw_err_wrap(err, "--raw");
	tw_dataset_release(&d);
	return rc;
}

int tw_table_extract(const struct tw_table_config *c, const struct tw_extract_args *args,
		     struct tw_dataset *out, struct tw_buf *quality_text,
		     struct tw_err *err)
{
	struct tw_extract_args telling = *args;
	struct tw_quality quality = { 0 };
	struct tw_buf warnings = { 0 };
	struct tw_prom *p = NULL;
	int rc = -1;

	telling.warnings = &warnings;
	telling.quality = quality_text != NULL ? &quality : NULL;
	if (tw_prom_read_more(c->input, &c->names, &p, err) < 0)
		goto out;
	tw_prom_declare_gauges(p, &c->thirdparty.gauges);
	if (tw_extract(p, &telling, out, err) < 0) {
		tw_err_wrap(err, "'%s'", c->input);
		goto out;
	}
	if (write_raw(c, p, &telling, err) < 0)
		goto out;
	if (quality.rows > 0)
		tw_quality_to_text(&quality, quality_text);
	tw_command_warn(&warnings);
	rc = 0;
out:
	tw_quality_release(&quality);
	tw_buf_clear(&warnings);
	tw_prom_free(p);
	return rc;
}

/* Format rows from *row on and advance *row. Empty text: the end. */
static void next_piece(const struct tw_dataset *d, size_t *row, struct tw_buf *text)
{
	const size_t left = d->rows - *row;
	const size_t to = *row + (left < PIECE_ROWS ? left : PIECE_ROWS);

	tw_buf_clear(text);
	if (left > 0)
		tw_csv_write_rows(d, *row, to, text);
	tw_must_have(!tw_buf_failed(text));
	*row = to;
}

static int replace(const struct tw_dataset *d, const char *path, struct tw_err *err)
{
	struct tw_replace file = { 0 };
	struct tw_buf text = { 0 };
	size_t row = 0;
	int rc = -1;

	if (tw_replace_open(&file, path, err) < 0)
		goto out;
	do {
		next_piece(d, &row, &text);
		if (tw_replace_write(&file, text.data, text.len, err) < 0)
			goto out;
	} while (text.len > 0);
	if (tw_replace_commit(&file, err) < 0)
		goto out;

	rc = 0;
out:
	tw_replace_abort(&file);
	tw_buf_clear(&text);
	return rc;
}

int tw_table_write(const struct tw_dataset *d, const char *path, struct tw_err *err)
{
	struct tw_buf text = { 0 };
	size_t row = 0;

	if (path != NULL)
		return replace(d, path, err);
	do {
		next_piece(d, &row, &text);
		tw_command_print(&text);
	} while (row < d->rows && !ferror(stdout));
	return 0;
}
