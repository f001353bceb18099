/* SPDX-License-Identifier: Apache-2.0 */
#include "server/member_value.h"

#include "lib/core/err.h"
#include "lib/json/jsax.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *tw_member_describe(const struct tw_jsax_event *e)
{
	switch (e->type) {
	case TW_JSAX_ARRAY:
		return "a list";
	case TW_JSAX_TRUE:
		return "true";
	case TW_JSAX_FALSE:
		return "false";
	default:
		return tw_jsax_type_name(e->type);
	}
}

int tw_member_fail_type(const char *name, const char *want, const struct tw_jsax_event *e,
			struct tw_err *err)
{
	return tw_fail(err, TW_PARSE, TW_REQUEST_WHERE ".%s: expected %s, got %s", name,
		       want, tw_member_describe(e));
}

int tw_member_check_text(const char *name, const struct tw_jsax_event *e,
			 struct tw_err *err)
{
	if (e->type != TW_JSAX_TEXT)
		return tw_member_fail_type(name, "a string", e, err);
	if (memchr(e->text, '\0', e->len) != NULL)
		return tw_fail(err, TW_PARSE, TW_REQUEST_WHERE ".%s: a NUL in it", name);
	return 0;
}

int tw_member_text(const char *name, const struct tw_jsax_event *e, char **out,
		   struct tw_err *err)
{
	char *text;

	if (e->type == TW_JSAX_NULL)
		return 0;
	if (tw_member_check_text(name, e, err) < 0)
		return -1;
	if (e->len == 0)
		return 0;
	text = malloc(e->len + 1);
	if (text == NULL)
		return tw_fail(err, TW_NOMEM, TW_REQUEST_WHERE ".%s", name);
	memcpy(text, e->text, e->len);
	text[e->len] = '\0';
	*out = text;
	return 0;
}

int tw_member_bool(const char *name, const struct tw_jsax_event *e, bool *out,
		   struct tw_err *err)
{
	if (e->type == TW_JSAX_TRUE || e->type == TW_JSAX_FALSE)
		*out = e->type == TW_JSAX_TRUE;
	else if (e->type != TW_JSAX_NULL)
		return tw_member_fail_type(name, "true or false", e, err);
	return 0;
}

static bool is_word(const struct tw_jsax_event *e, const char *word)
{
	return strlen(word) == e->len && strncasecmp(e->text, word, e->len) == 0;
}

int tw_member_bool_word(const char *name, const struct tw_jsax_event *e, bool *out,
			struct tw_err *err)
{
	if (e->type != TW_JSAX_TEXT)
		return tw_member_bool(name, e, out, err);
	if (!is_word(e, "true") && !is_word(e, "false"))
		return tw_member_fail_type(name, "true or false", e, err);
	*out = is_word(e, "true");
	return 0;
}

bool tw_member_is_whole(const struct tw_jsax_event *e, const char *document)
{
	const char *p = document + e->offset;

	p += strspn(p, "-0123456789");
	return *p != '.' && *p != 'e' && *p != 'E';
}
