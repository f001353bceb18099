/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/zip/fileset.h"

#include "lib/core/err.h"
#include "lib/core/file.h"

#include <stdlib.h>
#include <string.h>

/* Each part of the path must be a plain name. */
static int check_name(const char *name, struct tw_err *err)
{
	const char *part = name;

	for (;;) {
		size_t len = strcspn(part, "/");

		if (tw_name_check("file name", part, len, err) < 0)
			return -1;
		if (part[len] == '\0')
			return 0;
		part += len + 1;
	}
}

static int grow(struct tw_fileset *s, struct tw_err *err)
{
	size_t size = s->size != 0 ? s->size * 2 : 16;
	struct tw_fileset_file *at;

	if (s->count < s->size)
		return 0;
	at = realloc(s->at, size * sizeof(*at));
	if (at == NULL)
		return tw_fail(err, TW_NOMEM, "set of %zu files", size);
	s->at = at;
	s->size = size;
	return 0;
}

int tw_fileset_take(struct tw_fileset *s, const char *name, char *data, size_t len,
		    struct tw_err *err)
{
	char *copy = NULL;

	if (check_name(name, err) < 0)
		goto fail;
	if (tw_fileset_find(s, name) != NULL) {
		tw_fail(err, TW_INVALID, "file '%s' is there twice", name);
		goto fail;
	}
	copy = strdup(name);
	if (copy == NULL) {
		tw_fail(err, TW_NOMEM, "file '%s'", name);
		goto fail;
	}
	if (grow(s, err) < 0)
		goto fail;
	s->at[s->count++] =
		(struct tw_fileset_file){ .name = copy, .data = data, .len = len };
	return 0;

fail:
	free(copy);
	free(data);
	return -1;
}

int tw_fileset_add(struct tw_fileset *s, const char *name, const void *data, size_t len,
		   struct tw_err *err)
{
	char *copy = malloc(len + 1);

	if (copy == NULL)
		return tw_fail(err, TW_NOMEM, "file '%s' of %zu bytes", name, len);
	if (len > 0)
		memcpy(copy, data, len);
	copy[len] = '\0';
	return tw_fileset_take(s, name, copy, len, err);
}

const struct tw_fileset_file *tw_fileset_find(const struct tw_fileset *s,
					      const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->at[i].name, name) == 0)
			return &s->at[i];
	return NULL;
}

static int by_name(const void *a, const void *b)
{
	const struct tw_fileset_file *x = a, *y = b;

	return strcmp(x->name, y->name);
}

void tw_fileset_sort(struct tw_fileset *s)
{
	if (s->count > 1)
		qsort(s->at, s->count, sizeof(s->at[0]), by_name);
}

int tw_fileset_merge(struct tw_fileset *to, struct tw_fileset *from, struct tw_err *err)
{
	const size_t count = to->count + from->count;
	struct tw_fileset_file *all;
	size_t i = 0, k = 0;

	tw_fileset_sort(to);
	tw_fileset_sort(from);
	all = calloc(count + 1, sizeof(*all));
	if (all == NULL)
		return tw_fail(err, TW_NOMEM, "set of %zu files", count);
	while (i + k < count) {
		int d = i == to->count     ? 1
			: k == from->count ? -1
					   : strcmp(to->at[i].name, from->at[k].name);

		if (d == 0) {
			free(all);
			return tw_fail(err, TW_INVALID, "file '%s' is there twice",
				       to->at[i].name);
		}
		if (d < 0) {
			all[i + k] = to->at[i];
			i++;
		} else {
			all[i + k] = from->at[k];
			k++;
		}
	}
	free(to->at);
	*to = (struct tw_fileset){ .at = all, .count = count, .size = count + 1 };
	free(from->at);
	*from = (struct tw_fileset){ 0 };
	return 0;
}

void tw_fileset_clear(struct tw_fileset *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->at[i].name);
		free(s->at[i].data);
	}
	free(s->at);
	*s = (struct tw_fileset){ 0 };
}
