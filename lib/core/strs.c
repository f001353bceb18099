/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/strs.h"

#include "lib/core/arena.h"
#include "lib/core/array.h"
#include "lib/core/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_text(const char *text, size_t len, struct tw_err *err)
{
	if (len > 0 && memchr(text, '\0', len) != NULL)
		return tw_fail(err, TW_INVALID, "text contains a NUL byte");
	return 0;
}

int tw_text_copy(const char *text, size_t len, char **out, struct tw_err *err)
{
	char *copy;

	if (check_text(text, len, err) < 0)
		return -1;
	copy = malloc(len + 1);
	if (copy == NULL)
		return tw_fail(err, TW_NOMEM, "text of %zu bytes", len);
	if (len > 0)
		memcpy(copy, text, len);
	copy[len] = '\0';
	*out = copy;
	return 0;
}

static int make_room(struct tw_strs *l, struct tw_err *err)
{
	if (!tw_grow(&l->at, &l->size, l->count, sizeof(*l->at)))
		return tw_fail(err, TW_NOMEM, "list of %zu texts", l->count);
	return 0;
}

int tw_strs_add(struct tw_strs *l, const char *s, size_t len, struct tw_err *err)
{
	if (make_room(l, err) < 0 || tw_text_copy(s, len, &l->at[l->count], err) < 0)
		return -1;
	l->count++;
	return 0;
}

int tw_strs_add_in(struct tw_strs *l, struct tw_arena *a, const char *s, size_t len,
		   struct tw_err *err)
{
	if (check_text(s, len, err) < 0 || make_room(l, err) < 0)
		return -1;
	l->at[l->count] = tw_arena_text(a, s, len);
	if (l->at[l->count] == NULL)
		return tw_fail(err, TW_NOMEM, "text of %zu bytes", len);
	l->count++;
	return 0;
}

int tw_strs_adds(struct tw_strs *l, const char *s, struct tw_err *err)
{
	return tw_strs_add(l, s, strlen(s), err);
}

ptrdiff_t tw_strs_find(const struct tw_strs *l, const char *s)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->at[i], s) == 0)
			return (ptrdiff_t)i;
	return -1;
}

bool tw_strs_has(const struct tw_strs *l, const char *s)
{
	return tw_strs_find(l, s) >= 0;
}

int tw_strs_split(struct tw_strs *l, const char *text, struct tw_err *err)
{
	while (*text != '\0') {
		size_t len, skip = strspn(text, " \t");

		text += skip;
		len = strcspn(text, ",");
		skip = len;
		while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
			len--;
		if (len > 0 && tw_strs_add(l, text, len, err) < 0)
			return -1;
		text += skip;
		text += *text == ',';
	}
	return 0;
}

int tw_strs_copy(struct tw_strs *to, const struct tw_strs *from, struct tw_err *err)
{
	struct tw_strs copy = { 0 };

	for (size_t i = 0; i < from->count; i++) {
		if (tw_strs_adds(&copy, from->at[i], err) < 0) {
			tw_strs_clear(&copy);
			return -1;
		}
	}
	tw_strs_clear(to);
	*to = copy;
	return 0;
}

int tw_choice_find(const char *const *names, const char *text, unsigned *out,
		   struct tw_err *err)
{
	char known[128] = "";
	size_t used = 0;

	for (unsigned i = 0; names[i] != NULL; i++) {
		if (strcmp(names[i], text) == 0) {
			*out = i;
			return 0;
		}
		if (used < sizeof(known))
			used += (size_t)snprintf(known + used, sizeof(known) - used,
						 "%s%s", i > 0 ? ", " : "", names[i]);
	}
	return tw_fail(err, TW_INVALID, "'%.64s' is not one of %s", text, known);
}

bool tw_ends_with(const char *text, const char *end)
{
	const size_t len = strlen(text), n = strlen(end);

	return len >= n && strcmp(text + len - n, end) == 0;
}

int tw_compare_texts(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;

	if (x == NULL || y == NULL)
		return (x != NULL) - (y != NULL);
	return x == y ? 0 : strcmp(x, y);
}

void tw_strs_sort(struct tw_strs *l)
{
	if (l->count > 1)
		qsort(l->at, l->count, sizeof(l->at[0]), tw_compare_texts);
}

void tw_strs_clear(struct tw_strs *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->at[i]);
	free(l->at);
	*l = (struct tw_strs){ 0 };
}

void tw_strs_drop(struct tw_strs *l)
{
	free(l->at);
	*l = (struct tw_strs){ 0 };
}
