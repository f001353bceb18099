/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_FITS_H
#define TW_TRAINER_FITS_H

/*
 * Texts of fits that two validations need.
 *
 * Nested folds fit the same rows twice: rows without the blocks j and k are those of
 * inner fold k of outer fold j, and of inner fold j of outer fold k. Rows without block j
 * are those of an inner fold of all rows, and of the model of outer fold j. A fit is
 * deterministic (trainer/fit/trainer.h), so the second one gets the text of the first.
 *
 * A fit is known by the content of its samples, so a shared text has the bytes of a new
 * one. A text is kept until the second fit takes it. Threads may share an object.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;
struct tw_fits;
struct tw_samples;
struct tw_trainer;

/* NULL without memory. */
struct tw_fits *tw_fits_new(void);
void tw_fits_free(struct tw_fits *f); /* NULL is fine */

/* Append the text of t->fit() of these samples. f: NULL: nothing is shared. */
int tw_fits_fit(struct tw_fits *f, const struct tw_trainer *t, const struct tw_samples *s,
		uint64_t seed, struct tw_buf *text, struct tw_err *err);

/* Number of fits that got the text of another one. */
size_t tw_fits_shared(struct tw_fits *f);

#endif /* TW_TRAINER_FITS_H */
