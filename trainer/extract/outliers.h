/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_OUTLIERS_H
#define TW_TRAINER_OUTLIERS_H

/* Marks of rows whose power and work do not belong together (clean_rows.h). */

struct tw_judged_rows;

/* Rows in which a column of power, a component or package, is impossible. */
void tw_outliers_mark_impossible(struct tw_judged_rows *j);

/* Rows in which a processor has far more than TDP. 0: unknown. Needs no load. */
void tw_outliers_mark_beyond_tdp(struct tw_judged_rows *j, double tdp_w);

void tw_outliers_mark_glitches(struct tw_judged_rows *j);

/* Rows in which counters, or a gauge, stood still while the other side moved. */
void tw_outliers_mark_still(struct tw_judged_rows *j);

#endif /* TW_TRAINER_OUTLIERS_H */
