/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_LINEAR_TEXT_H
#define TW_TRAINER_LINEAR_TEXT_H

/*
 * The file of a linear component (docs/model-format.md), which is also the form in
 * which Kepler takes weights.
 */

struct tw_buf;
struct tw_design;
struct tw_err;
struct tw_samples;

/*
 * Append {"All_Weights":{..}} for watts = bias + sum weight[j] x_j / scale[j], with the
 * design's scales and the constant that goes with the weights.
 */
int tw_linear_text(const struct tw_samples *s, const struct tw_design *d,
		   const double *weight, struct tw_buf *text, struct tw_err *err);

#endif /* TW_TRAINER_LINEAR_TEXT_H */
