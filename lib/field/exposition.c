/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/field/exposition.h"

#include "lib/core/err.h"
#include "lib/core/num.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NUMBER_MAX 128

/* Parser of one line. */
struct line {
	const char *at, *end;
	bool openmetrics;
	/* The sample's names and texts, without escapes: never longer than the line. */
	char *text;
	size_t used;
	struct tw_exposition_label label[TW_EXPOSITION_LABELS_MAX + 4];
	size_t labels;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name_byte(char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' ||
	       (!first && is_digit(c));
}

static bool is_at(const struct line *l, char c)
{
	return l->at < l->end && *l->at == c;
}

static void skip_blanks(struct line *l)
{
	while (is_at(l, ' ') || is_at(l, '\t'))
		l->at++;
}

/* Start a text. add_byte() appends to it, a NUL ends it. */
static const char *begin_text(const struct line *l)
{
	return l->text + l->used;
}

static void add_byte(struct line *l, char c)
{
	l->text[l->used++] = c;
}

static int take_name(struct line *l, const char **out, struct tw_err *err)
{
	const char *name = begin_text(l);

	while (l->at < l->end && is_name_byte(*l->at, name == begin_text(l)))
		add_byte(l, *l->at++);
	if (name == begin_text(l))
		return tw_fail(err, TW_PARSE, "expected a name");
	add_byte(l, '\0');
	*out = name;
	return 0;
}

/* "text" with \\, \" and \n. */
static int take_quoted(struct line *l, const char **out, struct tw_err *err)
{
	const char *text = begin_text(l);

	if (!is_at(l, '"'))
		return tw_fail(err, TW_PARSE, "expected '\"'");
	for (l->at++; !is_at(l, '"'); l->at++) {
		char c = l->at < l->end ? *l->at : '\0';

		if (c == '\\') {
			c = ++l->at < l->end ? *l->at : '\0';
			if (c == 'n')
				c = '\n';
			else if (c != '\\' && c != '"')
				return tw_fail(err, TW_PARSE, "unknown escape in a text");
		}
		if (c == '\0')
			return tw_fail(err, TW_PARSE, "a text without an end");
		add_byte(l, c);
	}
	l->at++;
	add_byte(l, '\0');
	*out = text;
	return 0;
}

static int take_name_or_quoted(struct line *l, const char **out, struct tw_err *err)
{
	return is_at(l, '"') ? take_quoted(l, out, err) : take_name(l, out, err);
}

/* name="value"; or once, in quotes and without a value, the metric's name. */
static int take_label(struct line *l, const char **metric, struct tw_err *err)
{
	bool quoted = is_at(l, '"');
	const char *name, *value;

	if (take_name_or_quoted(l, &name, err) < 0)
		return -1;
	skip_blanks(l);
	if (quoted && *metric == NULL && !is_at(l, '=')) {
		*metric = name;
		return 0;
	}
	if (!is_at(l, '='))
		return tw_fail(err, TW_PARSE, "expected '=' behind label '%.64s'", name);
	l->at++;
	skip_blanks(l);
	if (take_quoted(l, &value, err) < 0)
		return tw_err_wrap(err, "label '%.64s'", name);
	if (l->labels == TW_EXPOSITION_LABELS_MAX)
		return tw_fail(err, TW_INVALID, "more than %d labels",
			       TW_EXPOSITION_LABELS_MAX);
	l->label[l->labels++] = (struct tw_exposition_label){ name, value };
	return 0;
}

/* {a="b",c="d",} */
static int take_labels(struct line *l, const char **metric, struct tw_err *err)
{
	l->at++;
	for (;;) {
		skip_blanks(l);
		if (is_at(l, '}'))
			break;
		if (take_label(l, metric, err) < 0)
			return -1;
		skip_blanks(l);
		if (is_at(l, ','))
			l->at++;
		else if (!is_at(l, '}'))
			return tw_fail(err, TW_PARSE, "expected ',' or '}' in labels");
	}
	l->at++;
	return 0;
}

/* Numbers that Go's ParseFloat accepts and JSON does not: "007", ".5", "5.". */
static bool parse_loosely(const char *s, size_t len, double *out)
{
	char text[NUMBER_MAX + 3];
	size_t used = 0, at = 0;

	if (len == 0 || len > NUMBER_MAX)
		return false;
	if (s[at] == '-' || s[at] == '+') {
		if (s[at] == '-')
			text[used++] = '-';
		at++;
	}
	while (at + 1 < len && s[at] == '0' && is_digit(s[at + 1]))
		at++;
	if (at == len || (s[at] != '.' && !is_digit(s[at])))
		return false;
	if (s[at] == '.') {
		if (at + 1 == len || !is_digit(s[at + 1]))
			return false;
		text[used++] = '0';
	}
	for (; at < len; at++)
		if (s[at] != '.' ||
		    (at + 1 < len && s[at + 1] != 'e' && s[at + 1] != 'E'))
			text[used++] = s[at];
	return tw_parse_double(text, used, out);
}

static bool is_word(const char *s, size_t len, const char *word)
{
	return len == strlen(word) && strncasecmp(s, word, len) == 0;
}

static bool parse_value(const char *s, size_t len, double *out)
{
	size_t sign = len > 0 && (s[0] == '+' || s[0] == '-') ? 1 : 0;

	if (tw_parse_sample(s, len, out))
		return true;
	if (is_word(s, len, "nan")) {
		*out = NAN;
		return true;
	}
	if (is_word(s + sign, len - sign, "inf") ||
	    is_word(s + sign, len - sign, "infinity")) {
		*out = s[0] == '-' ? -INFINITY : INFINITY;
		return true;
	}
	return parse_loosely(s, len, out);
}

static int take_number(struct line *l, const char *what, double *out, struct tw_err *err)
{
	const char *start = l->at;

	while (l->at < l->end && !is_at(l, ' ') && !is_at(l, '\t'))
		l->at++;
	if (!parse_value(start, (size_t)(l->at - start), out))
		return tw_fail(err, TW_PARSE, "%s '%.*s' is not a number", what,
			       (int)(l->at - start < 64 ? l->at - start : 64), start);
	skip_blanks(l);
	return 0;
}

/* The optional rest of a sample: a time stamp; in OpenMetrics, an exemplar, which may
 * have a time stamp of its own. */
static int take_rest(struct line *l, struct tw_err *err)
{
	const char *unused = "";
	size_t labels = l->labels;
	double v;

	if (l->at < l->end && !is_at(l, '#') && take_number(l, "time stamp", &v, err) < 0)
		return -1;
	if (l->openmetrics && is_at(l, '#')) {
		l->at++;
		skip_blanks(l);
		if (!is_at(l, '{'))
			return tw_fail(err, TW_PARSE, "expected an exemplar's labels");
		if (take_labels(l, &unused, err) < 0)
			return tw_err_wrap(err, "exemplar");
		l->labels = labels;
		skip_blanks(l);
		if (take_number(l, "exemplar", &v, err) < 0 ||
		    (l->at < l->end && take_number(l, "time stamp", &v, err) < 0))
			return -1;
	}
	if (l->at < l->end)
		return tw_fail(err, TW_PARSE, "text behind the sample");
	return 0;
}

static int take_sample(struct line *l, struct tw_exposition_sample *out,
		       struct tw_err *err)
{
	const char *name = NULL;
	double value;

	if (!is_at(l, '{') && take_name(l, &name, err) < 0)
		return -1;
	skip_blanks(l);
	if (is_at(l, '{') && take_labels(l, &name, err) < 0)
		return -1;
	if (name == NULL)
		return tw_fail(err, TW_PARSE, "labels without a name");
	skip_blanks(l);
	if (take_number(l, "value", &value, err) < 0 || take_rest(l, err) < 0)
		return tw_err_wrap(err, "%.64s", name);
	*out = (struct tw_exposition_sample){ name, l->label, l->labels, value };
	return 0;
}

/* A comment, an empty line or a sample. */
static int read_line(struct line *l, tw_exposition_fn *fn, void *arg, struct tw_err *err)
{
	struct tw_exposition_sample sample;

	if (l->end > l->at && l->end[-1] == '\r')
		l->end--;
	if ((size_t)(l->end - l->at) > TW_EXPOSITION_LINE_MAX)
		return tw_fail(err, TW_INVALID, "longer than %zu bytes",
			       TW_EXPOSITION_LINE_MAX);
	l->used = 0;
	l->labels = 0;
	skip_blanks(l);
	if (l->at == l->end || is_at(l, '#'))
		return 0;
	if (take_sample(l, &sample, err) < 0)
		return -1;
	return fn != NULL ? fn(arg, &sample, err) : 0;
}

static bool is_eof(const char *line, size_t len)
{
	return (len == 5 || (len == 6 && line[5] == '\r')) &&
	       memcmp(line, "# EOF", 5) == 0;
}

static int read_lines(struct line *l, const char *data, size_t len, tw_exposition_fn *fn,
		      void *arg, struct tw_err *err)
{
	size_t number = 1;

	for (size_t at = 0; at < len; number++) {
		const char *end = memchr(data + at, '\n', len - at);
		size_t n = end != NULL ? (size_t)(end - data) - at : len - at;

		if (l->openmetrics && is_eof(data + at, n)) {
			if (at + n + 1 < len)
				return tw_fail(err, TW_PARSE,
					       "line %zu: text behind '# EOF'",
					       number + 1);
			return 0;
		}
		if (end == NULL)
			return tw_fail(err, TW_PARSE, "line %zu: cut short", number);
		l->at = data + at;
		l->end = end;
		if (read_line(l, fn, arg, err) < 0)
			return tw_err_wrap(err, "line %zu", number);
		at += n + 1;
	}
	if (l->openmetrics)
		return tw_fail(err, TW_PARSE, "line %zu: cut short, without '# EOF'",
			       number);
	return 0;
}

const char *tw_exposition_value(const struct tw_exposition_sample *s, const char *label)
{
	for (size_t i = 0; i < s->labels; i++)
		if (strcmp(s->label[i].name, label) == 0)
			return s->label[i].value;
	return "";
}

int tw_exposition_parse(const char *data, size_t len, bool openmetrics,
			tw_exposition_fn *fn, void *arg, struct tw_err *err)
{
	struct line *l = calloc(1, sizeof(*l));
	int rc = -1;

	if (l != NULL)
		l->text = malloc(TW_EXPOSITION_LINE_MAX + 8);
	if (l == NULL || l->text == NULL) {
		tw_fail(err, TW_NOMEM, "line of an exporter");
		goto out;
	}
	l->openmetrics = openmetrics;
	if (read_lines(l, data, len, fn, arg, err) < 0)
		goto out;
	rc = 0;
out:
	if (l != NULL)
		free(l->text);
	free(l);
	return rc;
}
