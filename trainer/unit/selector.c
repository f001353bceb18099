/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/unit/selector.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "trainer/response/prom_store.h"

#include <stdbool.h>
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
			   : tw_fail(err, TW_PARSE, "'%.64s' is not a regular expression",
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

/* Whether a matcher names the label. */
static bool names(const struct tw_selector *s, const char *label)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->at[i].label, label) == 0)
			return true;
	return false;
}

static const char *label_of(const struct tw_series *s, const char *name)
{
	const char *value = tw_series_label(s, name);

	return value != NULL ? value : "";
}

static bool equal_labels(const struct tw_series *a, const struct tw_series *b)
{
	if (a->labels != b->labels)
		return false;
	for (uint32_t i = 0; i < a->labels; i++)
		if (strcmp(a->label[i].value, b->label[i].value) != 0 ||
		    strcmp(a->label[i].name, b->label[i].name) != 0)
			return false;
	return true;
}

static bool has(const struct tw_selection *s, const struct tw_series *series,
		const char *metric)
{
	for (size_t i = 0; i < s->count; i++)
		if (equal_labels(s->at[i], series) && strcmp(s->metric[i], metric) == 0)
			return true;
	return false;
}

static int add(struct tw_selection *s, const struct tw_series *series, const char *metric,
	       struct tw_err *err)
{
	const size_t size = s->size > 0 ? 2 * s->size : 16;

	if (has(s, series, metric))
		return 0;
	if (s->count == TW_SELECTION_MAX)
		return tw_fail(err, TW_INVALID, "over %d series: narrow the selector",
			       TW_SELECTION_MAX);
	if (s->count == s->size) {
		if (!tw_resize(&s->at, size, sizeof(*s->at)) ||
		    !tw_resize(&s->metric, size, sizeof(*s->metric)))
			return tw_fail(err, TW_NOMEM, "%zu series", size);
		s->size = size;
	}
	s->at[s->count] = series;
	s->metric[s->count++] = metric;
	return 0;
}

int tw_selection_add(struct tw_selection *s, const struct tw_prom *p,
		     const struct tw_selector *by, struct tw_err *err)
{
	size_t count;
	const struct tw_series *series = tw_prom_series(p, by->metric, &count);

	for (size_t i = 0; i < count; i++)
		if (tw_selector_takes(by, &series[i]) &&
		    add(s, &series[i], by->metric, err) < 0)
			return -1;
	return 0;
}

/* ---- zones ---- */

/* Zones whose energy has no other zone's: a package makes a sum of the first, else the
 * others count alone, in this order. */
static const char *const parts[] = { "package", "dram", "gpu", "other" };
static const char *const wholes[] = { "platform", "psys" };

static bool is_part(const char *zone)
{
	for (size_t i = 0; i < TW_COUNT(parts); i++)
		if (strcmp(zone, parts[i]) == 0)
			return true;
	return false;
}

/* Whether the machine of a series has a zone among these series. */
static bool has_zone(const struct tw_series *series, size_t count,
		     const struct tw_selector *by, const char *instance, const char *zone)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(label_of(&series[i], "zone"), zone) == 0 &&
		    strcmp(label_of(&series[i], "instance"), instance) == 0 &&
		    tw_selector_takes(by, &series[i]))
			return true;
	return false;
}

/* Whether the zone of series s adds up with the others of its machine. */
static bool adds_up(const struct tw_series *s, const struct tw_series *series,
		    size_t count, const struct tw_selector *by)
{
	const char *instance = label_of(s, "instance"), *zone = label_of(s, "zone");

	if (zone[0] == '\0')
		return true;
	if (has_zone(series, count, by, instance, parts[0]))
		return is_part(zone);
	for (size_t i = 0; i < TW_COUNT(wholes); i++)
		if (has_zone(series, count, by, instance, wholes[i]))
			return strcmp(zone, wholes[i]) == 0;
	return is_part(zone);
}

int tw_selection_add_energy(struct tw_selection *s, struct tw_selection *idle,
			    const struct tw_prom *p, const struct tw_selector *by,
			    struct tw_err *err)
{
	size_t count;
	const struct tw_series *series = tw_prom_series(p, by->metric, &count);
	const bool any_zone = names(by, "zone");
	const bool any_mode = names(by, "mode");

	for (size_t i = 0; i < count; i++) {
		const bool is_idle =
			!any_mode && strcmp(label_of(&series[i], "mode"), "idle") == 0;

		if (tw_selector_takes(by, &series[i]) &&
		    (any_zone || adds_up(&series[i], series, count, by)) &&
		    add(is_idle ? idle : s, &series[i], by->metric, err) < 0)
			return -1;
	}
	return 0;
}

struct tw_unit_source tw_selection_source(const struct tw_selection *s, const char *name)
{
	return (struct tw_unit_source){ name, s->at, s->count };
}

void tw_selection_release(struct tw_selection *s)
{
	free(s->at);
	free(s->metric);
	*s = (struct tw_selection){ 0 };
}
