/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/web_line.h"

#include "lib/core/err.h"

#include <string.h>

/* A plain or quoted text from *at on, which is moved behind it. */
static int read_text(const char **at, const char *end, const char *stop, char *out,
		     struct tw_err *err)
{
	const char quote = **at == '"' || **at == '\'' ? **at : '\0';
	const char *p = *at + (quote != '\0');
	size_t n = 0;

	for (; p < end; p++) {
		if (quote != '\0' ? *p == quote
				  : strchr(stop, *p) != NULL && *p != '\0' &&
					    (*p != ':' || p + 1 == end || p[1] == ' ') &&
					    (*p != '#' || (p > *at && p[-1] == ' ')))
			break;
		if ((unsigned char)*p < ' ' || (quote == '"' && *p == '\\'))
			return tw_fail(err, TW_UNSUPPORTED,
				       "a control character or an escape in a text");
		if (n + 1 == TW_WEB_TEXT_MAX)
			return tw_fail(err, TW_INVALID, "a text of more than %d bytes",
				       TW_WEB_TEXT_MAX - 1);
		out[n++] = *p;
	}
	if (quote != '\0' && p == end)
		return tw_fail(err, TW_PARSE, "a quote that does not end");
	while (quote == '\0' && n > 0 && out[n - 1] == ' ')
		n--;
	out[n] = '\0';
	*at = p + (quote != '\0');
	return 0;
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && *p == ' ')
		p++;
	return p;
}

/* What stands behind "- ". */
static int read_entry(const char *p, const char *end, struct tw_web_line *l,
		      struct tw_err *err)
{
	if (p == end || strchr("[{&*|>-#", *p) != NULL)
		return tw_fail(err, TW_UNSUPPORTED, "only '- value' is taken");
	if (read_text(&p, end, "#:", l->value, err) < 0)
		return -1;
	p = skip_blanks(p, end);
	if (p < end && *p != '#')
		return tw_fail(err, TW_PARSE, "something behind a text");
	return 0;
}

int tw_web_line_read(const char *p, const char *end, struct tw_web_line *l, bool *empty,
		     struct tw_err *err)
{
	const char *start = p;

	p = skip_blanks(p, end);
	l->indent = (size_t)(p - start);
	*empty = p == end || *p == '#' || (end - p == 3 && memcmp(p, "---", 3) == 0);
	if (*empty)
		return 0;
	if (*p == '\t')
		return tw_fail(err, TW_PARSE, "indented by a tab");
	l->entry = *p == '-' && p + 1 < end && p[1] == ' ';
	if (l->entry)
		return read_entry(skip_blanks(p + 1, end), end, l, err);
	if (*p == '-' || *p == '[' || *p == '{' || *p == '&' || *p == '*' || *p == '|')
		return tw_fail(err, TW_UNSUPPORTED, "only 'key: value' is taken");
	if (read_text(&p, end, ":", l->key, err) < 0)
		return -1;
	p = skip_blanks(p, end);
	if (p == end || *p != ':' || l->key[0] == '\0')
		return tw_fail(err, TW_PARSE, "want 'key: value'");
	p = skip_blanks(p + 1, end);
	l->value[0] = '\0';
	if (p == end || *p == '#')
		return 0;
	if (strchr("[{&*|>", *p) != NULL)
		return tw_fail(err, TW_UNSUPPORTED, "only 'key: value' is taken");
	if (read_text(&p, end, "#", l->value, err) < 0)
		return -1;
	p = skip_blanks(p, end);
	if (p < end && *p != '#')
		return tw_fail(err, TW_PARSE, "something behind a text");
	return 0;
}
