/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_SAMPLED_H
#define TW_TEST_SAMPLED_H

#include <stddef.h>

struct tw_prom;

/* A series: samples "100,0 103,30" have the value 0 at 100 s and 30 at 103 s. */
struct sampled {
	const char *metric, *labels, *samples;
};

/* A response of the series; those of a metric follow each other. */
struct tw_prom *sampled_response(const struct sampled *series, size_t count);

#endif /* TW_TEST_SAMPLED_H */
