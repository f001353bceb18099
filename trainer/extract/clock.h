/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_CLOCK_H
#define TW_TRAINER_CLOCK_H

/*
 * The exporter's own clock. A sample carries the time at which the scrape began; a late
 * answer has counters of a later time. Some exporters publish the time of their counters:
 *
 * - tw-collector the time of its last tick;
 * - node_exporter the time that each CPU spent in each mode, whose sum is elapsed time.
 *
 * Rates are divided by this time. Rows keep the times of their samples.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_extract_input;

/* All zero bytes is a clock that shows the times of the samples. */
struct tw_clock {
	int64_t *ms;   /* times of samples, ascending */
	double *at_ms; /* the exporter's time there, not falling */
	size_t count;
	double cpus; /* number of CPUs by their modes' time; 0: not known */
};

/* The clock of the input's exporter, if the response has it. */
int tw_clock_find(const struct tw_extract_input *in, struct tw_clock *out,
		  struct tw_err *err);

/* The exporter's time at a time of samples, ms. *place is where the last call found it,
 * at first 0; any value is valid. */
double tw_clock_at(const struct tw_clock *c, int64_t ms, size_t *place);

void tw_clock_release(struct tw_clock *c);

#endif /* TW_TRAINER_CLOCK_H */
