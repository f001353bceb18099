/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/expose.h"

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

void tw_shown_make(struct tw_shown *s, const struct tw_exposure *x, enum tw_level level)
{
	const struct tw_workload *w = NULL;

	*s = (struct tw_shown){ .count = 0 };
	while ((w = tw_exposure_next(x, level, w)) != NULL) {
		const size_t at = s->labels.len;
		struct tw_labels l;

		tw_labels_of(&l, w);
		tw_expo_add_labels(&s->labels, l.at, l.count);
		if (!make_room(s) || tw_buf_failed(&s->labels)) {
			x->e->out->failed = true;
			return;
		}
		s->of[s->count++] = (struct tw_shown_one){ .w = w,
							   .at = at,
							   .len = s->labels.len - at };
	}
}

void tw_shown_release(struct tw_shown *s)
{
	free(s->of);
	tw_buf_clear(&s->labels);
}
