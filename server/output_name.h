/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_OUTPUT_NAME_H
#define TW_SERVER_OUTPUT_NAME_H

/*
 * Every name that an output type ever had in a request, and what it tells of the client
 * (docs/wire.md, "Client generations").
 */

#include "model-db/index/choose.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_output_name {
	const char *name;
	enum tw_output output;
	bool weight;           /* what it asked for before there was a key "weight" */
	enum tw_client client; /* what Kepler up to 0.5.3 takes as its weights */
};

/* NULL if there is none. */
const struct tw_output_name *tw_output_name_find(const char *name, size_t len);

#endif /* TW_SERVER_OUTPUT_NAME_H */
