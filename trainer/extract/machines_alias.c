/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/machines_alias.h"

#include "lib/core/err.h"
#include "trainer/extract/prom.h"
#include "trainer/extract/schema.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct tw_machine_tag tw_machine_tag_next(const struct tw_series *s,
					  const char *const *labels, size_t *i)
{
	struct tw_machine_tag tag = { 0 };

	for (; labels[*i] != NULL && tag.text == NULL; ++*i)
		tag = (struct tw_machine_tag){ labels[*i],
					       tw_series_label(s, labels[*i]) };
	return tag;
}

static int compare_aliases(const void *left, const void *right)
{
	const struct tw_machine_alias *x = left, *y = right;
	int d = strcmp(x->label, y->label);

	d = d != 0 ? d : strcmp(x->text, y->text);
	d = d != 0 ? d : strcmp(x->to_label, y->to_label);
	return d != 0 ? d : strcmp(x->to_text, y->to_text);
}

int tw_machine_alias_add(struct tw_machine_aliases *a, struct tw_machine_tag from,
			 struct tw_machine_tag to, struct tw_err *err)
{
	const struct tw_machine_alias alias = { from.label, from.text, to.label,
						to.text };

	/* Series of one machine come one behind the other. */
	if (a->count > 0 && compare_aliases(&a->at[a->count - 1], &alias) == 0)
		return 0;
	if (a->count == a->size) {
		size_t size = a->size != 0 ? a->size * 2 : 64;
		struct tw_machine_alias *more = realloc(a->at, size * sizeof(*more));

		if (more == NULL)
			return tw_fail(err, TW_NOMEM, "%zu labels of machines", size);
		a->at = more;
		a->size = size;
	}
	a->at[a->count++] = alias;
	return 0;
}

void tw_machine_alias_sort(struct tw_machine_aliases *a)
{
	size_t n = 0;

	if (a->count > 1)
		qsort(a->at, a->count, sizeof(*a->at), compare_aliases);
	for (size_t i = 0; i < a->count; i++)
		if (i == 0 || compare_aliases(&a->at[n - 1], &a->at[i]) != 0)
			a->at[n++] = a->at[i];
	a->count = n;
}

/* The first alias of the tag, which others of it follow; a->count if it has none. */
static size_t find_alias(const struct tw_machine_aliases *a, struct tw_machine_tag tag)
{
	const struct tw_machine_alias wanted = { tag.label, tag.text, "", "" };
	size_t low = 0, high = a->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_aliases(&a->at[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_alias_of(const struct tw_machine_aliases *a, size_t i,
			struct tw_machine_tag tag)
{
	return i < a->count && strcmp(a->at[i].label, tag.label) == 0 &&
	       strcmp(a->at[i].text, tag.text) == 0;
}

const char *tw_machine_alias_resolve(const struct tw_machine_aliases *a,
				     struct tw_machine_tag tag, const char *other[2])
{
	const size_t i = find_alias(a, tag);

	if (!is_alias_of(a, i, tag))
		return tag.text;
	if (!is_alias_of(a, i + 1, tag))
		return a->at[i].to_text;
	other[0] = a->at[i].to_text;
	other[1] = a->at[i + 1].to_text;
	return NULL;
}

void tw_machine_alias_follow(struct tw_machine_aliases *a)
{
	const char *const *labels = tw_schema_at(0)->machine_labels;

	tw_machine_alias_sort(a);
	for (size_t l = 1; labels[l] != NULL; l++) {
		for (size_t i = 0; i < a->count; i++) {
			struct tw_machine_alias *one = &a->at[i];
			const struct tw_machine_tag to = { one->to_label, one->to_text };
			const char *other[2], *name;

			if (strcmp(one->label, labels[l]) != 0)
				continue;
			name = tw_machine_alias_resolve(a, to, other);
			one->to_text = name != NULL ? name : one->to_text;
		}
		/* Their label is not told any more: those of one name are one. */
		for (size_t i = 0; i < a->count; i++)
			if (strcmp(a->at[i].label, labels[l]) == 0)
				a->at[i].to_label = "";
		tw_machine_alias_sort(a);
	}
}

void tw_machine_alias_release(struct tw_machine_aliases *a)
{
	free(a->at);
	*a = (struct tw_machine_aliases){ 0 };
}
