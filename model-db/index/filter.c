/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/filter.h"

#include "lib/core/err.h"
#include "lib/core/num.h"
#include "model-db/index/index.h"

#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t";

/* Skip the blanks at both ends of s[0..len). */
static const char *trim(const char *s, size_t *len)
{
	size_t skip = 0;

	while (skip < *len && strchr(blanks, s[skip]) != NULL)
		skip++;
	s += skip;
	*len -= skip;
	while (*len > 0 && strchr(blanks, s[*len - 1]) != NULL)
		(*len)--;
	return s;
}

static int malformed(const char *part, size_t len, const char *what, struct tw_err *err)
{
	return tw_fail(err, TW_INVALID, "filter '%.*s': %s", len < 100 ? (int)len : 100,
		       part, what);
}

static int parse_features(const char *list, size_t len, struct tw_strs *out,
			  struct tw_err *err)
{
	char *text = strndup(list, len);
	int rc = -1;

	if (text == NULL) {
		tw_fail(err, TW_NOMEM, "filter");
		goto out;
	}
	if (tw_strs_split(out, text, err) < 0)
		goto out;

	rc = 0;
out:
	free(text);
	return rc;
}

/* Parse part[0..len), trimmed and not empty. *out must be all zero. */
static int parse_part(const char *part, size_t len, struct tw_filter_part *out,
		      struct tw_err *err)
{
	const char *colon = memchr(part, ':', len), *name, *value;
	size_t name_len, value_len;

	if (colon == NULL)
		return malformed(part, len, "expected attribute:threshold", err);
	name_len = (size_t)(colon - part);
	value_len = len - name_len - 1;
	name = trim(part, &name_len);
	value = trim(colon + 1, &value_len);
	if (name_len == 0)
		return malformed(part, len, "no attribute before ':'", err);
	out->attribute = strndup(name, name_len);
	if (out->attribute == NULL)
		return tw_fail(err, TW_NOMEM, "filter");
	if (strcmp(out->attribute, "features") == 0) {
		if (parse_features(value, value_len, &out->only, err) < 0)
			return -1;
		if (out->only.count == 0)
			return malformed(part, len, "no features behind ':'", err);
		return 0;
	}
	if (!tw_parse_double(value, value_len, &out->threshold))
		return malformed(part, len, "the threshold is not a number", err);
	return 0;
}

int tw_filter_parse(const char *text, struct tw_filter *out, struct tw_err *err)
{
	struct tw_filter f = { 0 };
	int rc = -1;

	if (text == NULL)
		return 0;
	f.part = calloc(TW_FILTER_PARTS_MAX, sizeof(f.part[0]));
	if (f.part == NULL) {
		tw_fail(err, TW_NOMEM, "filter");
		goto out;
	}
	while (*text != '\0') {
		size_t whole = strcspn(text, ";"), len = whole;
		const char *part = trim(text, &len);

		text += whole;
		text += *text == ';';
		if (len == 0)
			continue;
		if (f.count == TW_FILTER_PARTS_MAX) {
			tw_fail(err, TW_INVALID, "filter: more than %d parts",
				TW_FILTER_PARTS_MAX);
			goto out;
		}
		f.count++;
		if (parse_part(part, len, &f.part[f.count - 1], err) < 0)
			goto out;
	}

	*out = f;
	f = (struct tw_filter){ 0 };
	rc = 0;
out:
	tw_filter_release(&f);
	return rc;
}

static bool pass(const struct tw_filter_part *p, const struct tw_index_entry *e)
{
	double d;

	if (p->only.count > 0) {
		for (size_t f = 0; f < e->feature_count; f++)
			if (!tw_strs_has(&p->only, e->features[f]))
				return false;
		return true;
	}
	d = tw_index_figure(e, p->attribute);
	return tw_index_figure_more_is_better(p->attribute) ? d >= p->threshold
							    : d <= p->threshold;
}

bool tw_filter_pass(const struct tw_filter *f, const struct tw_index_entry *e,
		    const char **failed)
{
	for (size_t p = 0; p < f->count; p++) {
		if (!pass(&f->part[p], e)) {
			if (failed != NULL)
				*failed = f->part[p].attribute;
			return false;
		}
	}
	return true;
}

void tw_filter_release(struct tw_filter *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->part[i].attribute);
		tw_strs_clear(&f->part[i].only);
	}
	free(f->part);
	*f = (struct tw_filter){ 0 };
}
