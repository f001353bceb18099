/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/cmd_table.h"

#include "lib/buf.h"
#include "lib/csv.h"
#include "lib/err.h"
#include "lib/file.h"
#include "trainer/names.h"
#include "trainer/prom.h"

#include <errno.h>
#include <stdio.h>

const char *const tw_compat_names[] = {
	[TW_COMPAT_NONE] = "none",
	[TW_COMPAT_KMS] = "kms",
	NULL,
};

int tw_table_args(const struct tw_table_config *c, enum tw_level level,
		  struct tw_extract_args *out, struct tw_err *err)
{
	struct tw_extract_args args = {
		.level = level,
		.resets = (enum tw_resets)c->resets,
		.compat = (enum tw_compat)c->compat,
		.vm_metrics = c->vm_metrics,
		.machine = c->machine,
	};

	if (c->group == NULL)
		return tw_fail(err, TW_INVALID, "--group is missing");
	if (tw_names_source(c->source, &args.source, err) < 0 ||
	    tw_names_group(c->group, &args.group, err) < 0)
		return -1;
	*out = args;
	return 0;
}

int tw_table_smooth(const struct tw_table_config *c, struct tw_dataset *d,
		    struct tw_err *err)
{
	return c->extractor > 0 ? tw_smooth(d, c->window, err) : 0;
}

int tw_table_extract(const char *input, const struct tw_extract_args *args,
		     struct tw_dataset *out, struct tw_err *err)
{
	struct tw_prom *p = NULL;
	int rc = -1;

	if (tw_prom_read(input, &p, err) < 0)
		goto out;
	if (tw_extract(p, args, out, err) < 0) {
		tw_err_wrap(err, "'%s'", input);
		goto out;
	}
	rc = 0;
out:
	tw_prom_free(p);
	return rc;
}

int tw_table_write(const struct tw_dataset *d, const char *path, struct tw_err *err)
{
	struct tw_buf text = { 0 };
	int rc = -1;

	tw_csv_write(d, &text);
	if (tw_buf_failed(&text)) {
		tw_fail(err, TW_NOMEM, "table of %zu rows", d->rows);
		goto out;
	}
	if (path != NULL) {
		if (tw_file_replace(path, text.data, text.len, err) < 0)
			goto out;
	} else if (fwrite(text.data, 1, text.len, stdout) != text.len ||
		   fflush(stdout) != 0) {
		tw_fail_errno(err, errno, "cannot write to stdout");
		goto out;
	}
	rc = 0;
out:
	tw_buf_clear(&text);
	return rc;
}
