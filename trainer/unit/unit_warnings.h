/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_UNIT_WARNINGS_H
#define TW_TRAINER_UNIT_WARNINGS_H

/* Reasons to doubt the joules of a unit, each one line that says what to do. */

struct tw_err;
struct tw_strs;
struct tw_unit_blocks;
struct tw_unit_data;
struct tw_unit_fit;

/* Append to *out those of a fit of the data's blocks. Fails without memory only. */
int tw_unit_warnings(struct tw_unit_data *d, const struct tw_unit_blocks *b,
		     const struct tw_unit_fit *f, struct tw_strs *out,
		     struct tw_err *err);

#endif /* TW_TRAINER_UNIT_WARNINGS_H */
