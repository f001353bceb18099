/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/response/hints.h"

#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/json/jsax.h"

#include <stdlib.h>

static int check_count(const struct tw_strs *list, const char *what, struct tw_err *err)
{
	if (list->count > TW_HINTS_MAX)
		return tw_fail(err, TW_INVALID, "%s: more than %d", what, TW_HINTS_MAX);
	return 0;
}

int tw_hints_split(const char *text, const char *what, struct tw_strs *out,
		   struct tw_err *err)
{
	if (text == NULL)
		return 0;
	if (tw_strs_split(out, text, err) < 0)
		return -1;
	if (out->count == 0)
		return tw_fail(err, TW_INVALID, "%s: the list is empty", what);
	return check_count(out, what, err);
}

static int split_event(const struct tw_jsax_event *e, const char *what,
		       struct tw_strs *out, struct tw_err *err)
{
	char *text;
	int status;

	if (tw_text_copy(e->text, e->len, &text, err) < 0)
		return tw_err_wrap(err, "%s", what);
	status = tw_hints_split(text, what, out, err);
	free(text);
	return status;
}

int tw_hints_event(const struct tw_jsax_event *e, unsigned depth, const char *what,
		   struct tw_strs *out, struct tw_err *err)
{
	if (e->depth == depth) {
		if (e->type == TW_JSAX_TEXT)
			return split_event(e, what, out, err);
		if (e->type == TW_JSAX_NULL || e->type == TW_JSAX_ARRAY ||
		    e->type == TW_JSAX_ARRAY_END)
			return 0;
		return tw_fail(err, TW_INVALID, "%s: expected a list", what);
	}
	if (e->type != TW_JSAX_TEXT)
		return tw_fail(err, TW_INVALID, "%s[%zu]: expected a string", what,
			       out->count);
	if (tw_strs_add(out, e->text, e->len, err) < 0)
		return tw_err_wrap(err, "%s[%zu]", what, out->count);
	return check_count(out, what, err);
}
