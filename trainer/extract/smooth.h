/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SMOOTH_H
#define TW_TRAINER_SMOOTH_H

/*
 * The smooth extractor: use and power of a time are means over the last times.
 *
 *	x'[i] = (x[i - w + 1] + .. + x[i]) / w
 *
 * for each workload feature and each component's power; what is of the system (its
 * frequency) and of the node (its type) is left as it is. Shares of packages become those
 * in what was used in the window. The first w - 1 times
 * fall away. At container level a workload that was not there used nothing, and the
 * times are the node's; it has rows where it had some.
 */

#include <stddef.h>

struct tw_dataset;
struct tw_err;

/* kepler-model-server's, and the most that is taken. */
#define TW_SMOOTH_WINDOW_DEFAULT 30
#define TW_SMOOTH_WINDOW_MAX 100000

/* How extractors are called, for options: default and smooth; ended by NULL. */
extern const char *const tw_extractor_names[];

/*
 * Replace *d, whose rows are in order of time, then of id. window is at least 1.
 * TW_INVALID where there are fewer times.
 */
int tw_smooth(struct tw_dataset *d, size_t window, struct tw_err *err);

#endif /* TW_TRAINER_SMOOTH_H */
