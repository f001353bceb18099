/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_API_SCHEMA_H
#define TW_TEST_API_SCHEMA_H

#include <jansson.h>

struct tw_err;

/* A schema of a daemon's openapi.json; the caller frees it. */
json_t *api_schema(const char *path, const char *name);

/*
 * Check that a parser reads each property of a schema, at `level` ("trainer.", or ""): a
 * value that no property may have, [[1]], is an error that names the property.
 */
void api_schema_is_read(const json_t *schema, const char *level,
			int (*parse)(const char *text, struct tw_err *err));

#endif /* TW_TEST_API_SCHEMA_H */
