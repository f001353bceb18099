/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/shards/opt_texts.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/program/opt.h"

#include <string.h>

static const void *field(const struct tw_opt *x, const void *config)
{
	return (const char *)config + x->offset;
}

static bool is_list(const struct tw_opt *x)
{
	return x->type == TW_OPT_LIST || x->type == TW_OPT_TEXTS;
}

static int write_text(const struct tw_opt *x, const char *value, struct tw_strs *out,
		      struct tw_err *err)
{
	struct tw_buf b = { 0 };
	int rc;

	tw_buf_addf(&b, "%s=%s", x->name, value);
	rc = tw_buf_failed(&b) ? tw_fail(err, TW_NOMEM, "--%s", x->name)
			       : tw_strs_adds(out, b.data, err);
	tw_buf_clear(&b);
	return rc;
}

static int write_option(const struct tw_opt *x, const void *config, struct tw_strs *out,
			struct tw_err *err)
{
	const struct tw_strs *list = field(x, config);
	const char *preset = x->fallback;
	struct tw_buf value = { 0 };
	int rc = 0;

	if (is_list(x)) {
		for (size_t i = 0; rc == 0 && i < list->count; i++)
			rc = write_text(x, list->at[i], out, err);
		return rc;
	}
	if (preset == NULL && x->type == TW_OPT_BOOL)
		preset = "no";
	if (tw_opt_value(x, config, &value) && tw_buf_failed(&value))
		rc = tw_fail(err, TW_NOMEM, "--%s", x->name);
	else if (value.len > 0 && (preset == NULL || strcmp(value.data, preset) != 0))
		rc = write_text(x, value.data, out, err);
	tw_buf_clear(&value);
	return rc;
}

int tw_opts_write(const struct tw_opts *o, const void *config, struct tw_strs *out,
		  struct tw_err *err)
{
	for (size_t i = 0; i < o->count; i++)
		if (write_option(&o->opt[i], config, out, err) < 0)
			return -1;
	return 0;
}

/* The option of a text "name=value"; *value is set behind the '='. Or NULL. */
static const struct tw_opt *find_text(const struct tw_opts *o, const char *text,
				      const char **value)
{
	const size_t len = strcspn(text, "=");

	if (text[len] == '\0')
		return NULL;
	*value = text + len + 1;
	for (size_t i = 0; i < o->count; i++)
		if (strncmp(o->opt[i].name, text, len) == 0 &&
		    o->opt[i].name[len] == '\0')
			return &o->opt[i];
	return NULL;
}

int tw_opts_read(const struct tw_opts *o, const struct tw_strs *texts, void *config,
		 struct tw_err *err)
{
	const struct tw_opt *x;
	const char *value;

	for (size_t i = 0; i < o->count; i++)
		if (o->opt[i].fallback != NULL &&
		    tw_opt_set(&o->opt[i], o->opt[i].fallback, config, err) < 0)
			return tw_err_wrap(err, "default of --%s", o->opt[i].name);
	for (size_t i = 0; i < texts->count; i++) {
		x = find_text(o, texts->at[i], &value);
		if (x == NULL)
			return tw_fail(err, TW_INVALID, "unknown option '%.64s'",
				       texts->at[i]);
		if (tw_opt_set(x, value, config, err) < 0)
			return tw_err_wrap(err, "--%s", x->name);
	}
	return 0;
}
