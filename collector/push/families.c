/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/push/families.h"

#include "lib/core/array.h"

#include <stdio.h>
#include <string.h>

struct walk {
	struct tw_push_family family;
	size_t from, most, seen, given;
	tw_push_sample_fn *fn;
	void *arg;
};

static void copy(char *to, size_t size, const char *from, size_t len)
{
	snprintf(to, size, "%.*s", (int)(len < size ? len : size - 1), from);
}

/* "# TYPE name counter": a line of a family's head. HELP is the first. */
static void take_comment(struct tw_push_family *f, const char *line, size_t len)
{
	const struct {
		const char *word;
		char *to;
		size_t size;
	} lines[] = { { "# HELP ", f->help, sizeof(f->help) },
		      { "# TYPE ", f->type, sizeof(f->type) },
		      { "# UNIT ", f->unit, sizeof(f->unit) } };
	const size_t head = strlen(lines[0].word);

	for (size_t i = 0; i < TW_COUNT(lines); i++) {
		const char *space;

		if (len <= head || memcmp(line, lines[i].word, head) != 0)
			continue;
		space = memchr(line + head, ' ', len - head);
		if (space == NULL)
			return;
		if (i == 0) {
			*f = (struct tw_push_family){ 0 };
			copy(f->name, sizeof(f->name), line + head,
			     (size_t)(space - line) - head);
		}
		copy(lines[i].to, lines[i].size, space + 1,
		     len - (size_t)(space - line) - 1);
	}
}

static int take_sample(void *arg, struct tw_exposition_sample *s, struct tw_err *err)
{
	struct walk *w = arg;

	if (w->seen++ < w->from || w->given == w->most)
		return 0;
	w->given++;
	return w->fn(w->arg, &w->family, s, err);
}

/* The length of the lines before the next comment. */
static size_t samples_length(const char *text, size_t len)
{
	const char *comment = memmem(text, len, "\n#", 2);

	return comment != NULL ? (size_t)(comment - text) + 1 : len;
}

int tw_push_walk(const char *text, size_t len, size_t from, size_t most, size_t *given,
		 tw_push_sample_fn *fn, void *arg, struct tw_err *err)
{
	struct walk w = { .from = from, .most = most, .fn = fn, .arg = arg };

	while (len > 0 && w.given < w.most) {
		const char *end = memchr(text, '\n', len);
		size_t part = end != NULL ? (size_t)(end - text) + 1 : len;

		if (*text == '#') {
			take_comment(&w.family, text, part - (end != NULL));
		} else {
			part = samples_length(text, len);
			if (tw_exposition_parse(text, part, false, take_sample, &w, err) <
			    0)
				return -1;
		}
		text += part;
		len -= part;
	}
	*given = w.given;
	return 0;
}
