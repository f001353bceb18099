/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_SAMPLED_H
#define TW_TEST_SAMPLED_H

#include <stddef.h>

struct tw_extract_args;
struct tw_prom;

/*
 * A series. Labels are in single quotes, "'pid':'1','comm':'sh'". Samples "100,0 103,30"
 * have the value 0 at 100 s and 30 at 103 s.
 */
struct sampled {
	const char *metric, *labels, *samples;
};

/* The JSON text of a response; series of a metric follow each other. free() it. */
char *sampled_text(const struct sampled *series, size_t count);

/* The same, parsed. */
struct tw_prom *sampled_response(const struct sampled *series, size_t count);

/* Assert that an extraction tells of each failed allocation. */
void sampled_extract_without_memory(const struct tw_prom *p,
				    const struct tw_extract_args *args);

#endif /* TW_TEST_SAMPLED_H */
