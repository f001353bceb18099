/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/push/families.h"

#include "lib/core/array.h"

#include <stdio.h>
#include <string.h>

struct walk {
	struct tw_push_body *body;
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

	w->body->given++;
	return w->fn(w->arg, &w->body->place->family, s, err);
}

/* The length of the first line, with its end. */
static size_t line_length(const char *text, size_t len)
{
	const char *end = memchr(text, '\n', len);

	return end != NULL ? (size_t)(end - text) + 1 : len;
}

/* The length of at most this many lines of samples. */
static size_t samples_length(const char *text, size_t len, size_t most)
{
	size_t n = 0;

	for (; most > 0 && n < len && text[n] != '#'; most--)
		n += line_length(text + n, len - n);
	return n;
}

int tw_push_walk(struct tw_push_body *b, tw_push_sample_fn *fn, void *arg,
		 struct tw_err *err)
{
	struct walk w = { .body = b, .fn = fn, .arg = arg };
	struct tw_push_place *place = b->place;

	b->given = 0;
	while (place->at < b->head->len && b->given < b->most) {
		const char *at = b->text + place->at;
		const size_t left = b->head->len - place->at;
		size_t part = line_length(at, left);

		if (*at == '#') {
			take_comment(&place->family, at, part - (at[part - 1] == '\n'));
		} else {
			part = samples_length(at, left, b->most - b->given);
			if (tw_exposition_parse(at, part, false, take_sample, &w, err) <
			    0)
				return -1;
		}
		place->at += part;
	}
	return 0;
}
