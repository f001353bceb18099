/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/unit/selector.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "trainer/response/prom_store.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 4096
#define MATCHERS_MAX 32

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
				 "0123456789:";

/* The rest of the text. */
struct cursor {
	const char *at;
};

static void skip_blanks(struct cursor *c)
{
	c->at += strspn(c->at, " \t");
}

/* The name at the cursor; "" if there is none. */
static char *take_name(struct cursor *c)
{
	const size_t len = strspn(c->at, name_bytes);
	char *name = strndup(
		c->at,
		len > 0 && (strchr(letters, *c->at) != NULL || *c->at == ':') ? len : 0);

	if (name != NULL)
		c->at += strlen(name);
	return name;
}

/* The text in quotes at the cursor, with its escapes \\ and \" resolved. */
static int take_value(struct cursor *c, char **out, struct tw_err *err)
{
	const char quote = *c->at;
	struct tw_buf b = { 0 };
	const char *p = c->at + 1;

	if (quote != '"' && quote != '\'')
		return tw_fail(err, TW_PARSE, "no value in quotes at '%.32s'", c->at);
	tw_buf_adds(&b, "");
	for (; *p != '\0' && *p != quote; p++) {
		if (*p == '\\' && p[1] != '\0')
			p++;
		tw_buf_add(&b, p, 1);
	}
	if (*p == '\0') {
		tw_buf_clear(&b);
		return tw_fail(err, TW_PARSE, "a value without its end: %.32s", c->at);
	}
	c->at = p + 1;
	*out = tw_buf_detach(&b, NULL);
	return *out != NULL ? 0 : tw_fail(err, TW_NOMEM, "selector");
}

static int take_operator(struct cursor *c, bool * not, bool *is_regex, struct tw_err *err)
{
	const char *p = c->at;

	*not = p[0] == '!';
	*is_regex = p[0] != '\0' && p[1] == '~';
	if (p[0] != '=' && !(*not &&(p[1] == '=' || *is_regex)))
		return tw_fail(err, TW_PARSE, "no operator =, !=, =~ or !~ at '%.32s'",
			       p);
	c->at += *not || *is_regex ? 2 : 1;
	return 0;
}

static int compile(struct tw_label_matcher *m, struct tw_err *err)
{
	struct tw_buf b = { 0 };

	tw_buf_addf(&b, "^(%s)$", m->value);
	if (tw_buf_failed(&b))
		return tw_fail(err, TW_NOMEM, "selector");
	m->is_regex = regcomp(&m->regex, b.data, REG_EXTENDED | REG_NOSUB) == 0;
	tw_buf_clear(&b);
	return m->is_regex ? 0
			   : tw_fail(err, TW_PARSE, "'%.64s' is no regular expression",
				     m->value);
}

static int take_matcher(struct cursor *c, struct tw_selector *s, struct tw_err *err)
{
	const char *from = c->at;
	struct tw_label_matcher *m;
	bool is_regex = false;

	if (s->count == MATCHERS_MAX)
		return tw_fail(err, TW_INVALID, "over %d matchers", MATCHERS_MAX);
	if (!tw_resize(&s->at, s->count + 1, sizeof(*s->at)))
		return tw_fail(err, TW_NOMEM, "selector");
	m = &s->at[s->count++];
	*m = (struct tw_label_matcher){ .label = take_name(c) };
	if (m->label == NULL)
		return tw_fail(err, TW_NOMEM, "selector");
	if (m->label[0] == '\0')
		return tw_fail(err, TW_PARSE, "no label at '%.32s'", c->at);
	skip_blanks(c);
	if (take_operator(c, &m->is_not, &is_regex, err) < 0)
		return -1;
	skip_blanks(c);
	if (take_value(c, &m->value, err) < 0 ||
	    tw_strs_add(&s->texts, from, (size_t)(c->at - from), err) < 0)
		return -1;
	return is_regex ? compile(m, err) : 0;
}

static int take_matchers(struct cursor *c, struct tw_selector *s, struct tw_err *err)
{
	c->at++; /* { */
	for (;;) {
		skip_blanks(c);
		if (*c->at == '}')
			break;
		if (take_matcher(c, s, err) < 0)
			return -1;
		skip_blanks(c);
		if (*c->at == ',')
			c->at++;
		else if (*c->at != '}')
			return tw_fail(err, TW_PARSE, "neither , nor } at '%.32s'",
				       c->at);
	}
	c->at++;
	return 0;
}

static int parse(const char *text, struct tw_selector *s, struct tw_err *err)
{
	struct cursor c = { text };

	if (strlen(text) > TEXT_MAX)
		return tw_fail(err, TW_INVALID, "a selector of over %d bytes", TEXT_MAX);
	skip_blanks(&c);
	s->metric = take_name(&c);
	if (s->metric == NULL)
		return tw_fail(err, TW_NOMEM, "selector");
	if (s->metric[0] == '\0')
		return tw_fail(err, TW_PARSE, "no name of a metric at '%.32s'", c.at);
	skip_blanks(&c);
	if (*c.at == '{' && take_matchers(&c, s, err) < 0)
		return -1;
	skip_blanks(&c);
	if (*c.at != '\0')
		return tw_fail(
			err, TW_PARSE,
			"'%.32s' behind the selector: want metric{label=\"value\"}",
			c.at);
	return 0;
}

int tw_selector_parse(const char *text, struct tw_selector *out, struct tw_err *err)
{
	struct tw_selector s = { 0 };

	if (parse(text, &s, err) < 0) {
		tw_selector_release(&s);
		return -1;
	}
	*out = s;
	return 0;
}

void tw_selector_release(struct tw_selector *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->at[i].label);
		free(s->at[i].value);
		if (s->at[i].is_regex)
			regfree(&s->at[i].regex);
	}
	free(s->at);
	free(s->metric);
	tw_strs_clear(&s->texts);
	*s = (struct tw_selector){ 0 };
}

bool tw_selector_takes(const struct tw_selector *s, const struct tw_series *series)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct tw_label_matcher *m = &s->at[i];
		const char *label = tw_series_label(series, m->label);
		const char *value = label != NULL ? label : "";
		const bool same = m->is_regex ? regexec(&m->regex, value, 0, NULL, 0) == 0
					      : strcmp(value, m->value) == 0;

		if (same == m->is_not)
			return false;
	}
	return true;
}

bool tw_selector_names(const struct tw_selector *s, const char *label)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->at[i].label, label) == 0)
			return true;
	return false;
}
