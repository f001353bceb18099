/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/expose/expose.h"

#include <stdlib.h>

#define SERIES_MIN 256

static bool make_room(struct tw_shown *s)
{
	const size_t size = s->size != 0 ? s->size * 2 : SERIES_MIN;
	struct tw_shown_one *of;

	if (s->count < s->size)
		return true;
	of = realloc(s->of, size * sizeof(*of));
	if (of == NULL)
		return false;
	s->of = of;
	s->size = size;
	return true;
}

void tw_shown_add(struct tw_shown *s, const struct tw_exposure *x,
		  const struct tw_workload *w, tw_label_of *label)
{
	const size_t at = s->labels.len;
	struct tw_labels l = { .count = 0 };

	label(&l, w);
	tw_expo_add_labels(&s->labels, l.at, l.count);
	if (!make_room(s) || tw_buf_failed(&s->labels)) {
		x->e->out->failed = true;
		return;
	}
	s->of[s->count++] =
		(struct tw_shown_one){ .w = w, .at = at, .len = s->labels.len - at };
}

void tw_shown_add_level(struct tw_shown *s, const struct tw_exposure *x,
			enum tw_level level, bool seen, tw_label_of *label)
{
	const struct tw_workload *w = NULL;

	while ((w = seen ? tw_exposure_next_seen(x, level, w)
			 : tw_exposure_next(x, level, w)) != NULL &&
	       !x->e->out->failed)
		tw_shown_add(s, x, w, label);
}

struct tw_expo_text tw_shown_text(const struct tw_exposure *x, struct tw_buf *b,
				  const struct tw_expo_label *labels, size_t count)
{
	tw_buf_clear(b);
	tw_expo_add_labels(b, labels, count);
	if (tw_buf_failed(b))
		x->e->out->failed = true;
	return (struct tw_expo_text){ b->data, b->len };
}

void tw_shown_say(const struct tw_exposure *x, const struct tw_shown *s, size_t i,
		  const struct tw_expo_text *more, uint64_t value, unsigned decimals)
{
	const struct tw_expo_text text[] = {
		{ s->labels.data + s->of[i].at, s->of[i].len },
		more != NULL ? *more : (struct tw_expo_text){ "", 0 },
	};

	tw_expo_fixed(x->e, text, 2, value, decimals);
}

void tw_shown_release(struct tw_shown *s)
{
	free(s->of);
	tw_buf_clear(&s->labels);
}
