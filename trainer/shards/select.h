/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SELECT_H
#define TW_TRAINER_SELECT_H

/*
 * Which units of a plan a worker trains.
 */

#include <stdbool.h>

struct tw_err;
struct tw_plan;

/*
 * "3/16": the third of sixteen shards of about equal cost, each of adjacent units, so
 * that few workers read the same input. "2+1/16" is the same, for an index that counts
 * from 0. Else the path of a file with a unit a line, by
 * number or by address; blank lines and lines that start with '#' are skipped. *wanted is
 * yours (free()): an entry for each unit.
 */
int tw_plan_select(const struct tw_plan *p, const char *text, bool **wanted,
		   struct tw_err *err);

#endif /* TW_TRAINER_SELECT_H */
