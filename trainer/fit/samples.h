/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SAMPLES_H
#define TW_TRAINER_SAMPLES_H

/*
 * What holds for all samples before any trainer sees them.
 */

#include "lib/field/feature.h"

#include <stddef.h>

struct tw_err;
struct tw_samples;

/*
 * The largest magnitude of a feature or a power. Far above anything that is
 * measured; squares of it stay finite in double, the value itself in float.
 */
#define TW_SAMPLE_MAX 1e30

/*
 * Refuse fewer rows than min_rows, no features, and values that are not finite or too
 * large, with TW_INVALID: "row 3, feature 'cpu_cycles': nan is no measurement".
 */
int tw_samples_check(const struct tw_samples *s, size_t min_rows, struct tw_err *err);

#endif /* TW_TRAINER_SAMPLES_H */
