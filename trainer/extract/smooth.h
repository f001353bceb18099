/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SMOOTH_H
#define TW_TRAINER_SMOOTH_H

/*
 * The smooth extractor: moving averages of features and power over w times.
 *
 *	x'[i] = (x[i - w + 1] + .. + x[i]) / w
 *
 * Smoothed are workload features and the components' power, but not the frequency and the
 * node type. A package's share becomes its share of the window's usage. The first w - 1
 * times are dropped.
 *
 * At container level the times are the node's. A workload without a row at a time counts
 * as 0 there, and gets no new rows.
 */

#include <stddef.h>

struct tw_dataset;
struct tw_err;

/* The default is kepler-model-server's. */
#define TW_SMOOTH_WINDOW_DEFAULT 30
#define TW_SMOOTH_WINDOW_MAX 100000

/* Names of the extractors, for options: "default" and "smooth"; ends with NULL. */
extern const char *const tw_extractor_names[];

/*
 * Smooth *d in place; its rows are in order of time, then of id. window is at least 1.
 * TW_INVALID if d has fewer times than the window.
 */
int tw_smooth(struct tw_dataset *d, size_t window, struct tw_err *err);

#endif /* TW_TRAINER_SMOOTH_H */
