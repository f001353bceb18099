/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_SNAPPY_H
#define TW_COLLECTOR_SNAPPY_H

/*
 * The block format of Snappy (google/snappy, format_description.txt), which Prometheus'
 * remote write demands. Own code and not libsnappy, which brings the run time library of
 * C++ into tw-ask for one call.
 */

#include <stddef.h>

struct tw_buf;

/* Append data[0..len), compressed, as one block; len fits 32 bits. */
void tw_snappy_add(struct tw_buf *out, const char *data, size_t len);

#endif /* TW_COLLECTOR_SNAPPY_H */
