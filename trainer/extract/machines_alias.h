/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_MACHINES_ALIAS_H
#define TW_TRAINER_MACHINES_ALIAS_H

/*
 * Which text of a less telling label is whose: Kepler says exported_instance on energy,
 * and only instance on usage. A part of trainer/extract/machines.c.
 */

#include <stddef.h>

struct tw_err;
struct tw_series;

/* A label and its text. Equal texts of a response have equal addresses. */
struct tw_machine_tag {
	const char *label, *text;
};

/* That who has this text in this label is whom another label names. */
struct tw_machine_alias {
	const char *label, *text, *to_label, *to_text;
};

/* All zero bytes is none. Texts are the response's. */
struct tw_machine_aliases {
	struct tw_machine_alias *at;
	size_t count, size;
};

/* The first of the labels from *i on that the series has; its text is NULL if none. */
struct tw_machine_tag tw_machine_tag_next(const struct tw_series *s,
					  const char *const *labels, size_t *i);

int tw_machine_alias_add(struct tw_machine_aliases *a, struct tw_machine_tag from,
			 struct tw_machine_tag to, struct tw_err *err);

/* In order, each once: before tw_machine_alias_resolve(). */
void tw_machine_alias_sort(struct tw_machine_aliases *a);

/*
 * Let each alias lead to the end. It leads to a more telling label, whose aliases have
 * been led there before. One that leads to somebody who is two stays: the series that it
 * is from is refused. Sorts them.
 */
void tw_machine_alias_follow(struct tw_machine_aliases *a);

/*
 * Whom a tag names: itself, or whom its alias names, once that leads to the end. NULL
 * where it names two, which are in other.
 */
const char *tw_machine_alias_resolve(const struct tw_machine_aliases *a,
				     struct tw_machine_tag tag, const char *other[2]);

void tw_machine_alias_release(struct tw_machine_aliases *a);

#endif /* TW_TRAINER_MACHINES_ALIAS_H */
