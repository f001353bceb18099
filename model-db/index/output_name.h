/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_OUTPUT_NAME_H
#define TW_MODEL_DB_OUTPUT_NAME_H

/*
 * All names of output types in requests, and the client generation that each name implies
 * (docs/wire.md, "Client generations").
 */

#include "model-db/index/choose.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_output_name {
	const char *name;
	enum tw_output output;
	bool weight;           /* implied value of "weight", before that key existed */
	enum tw_client client; /* implied form of the weights, for Kepler up to 0.5.3 */
};

/* NULL if there is none. */
const struct tw_output_name *tw_output_name_find(const char *name, size_t len);

#endif /* TW_MODEL_DB_OUTPUT_NAME_H */
