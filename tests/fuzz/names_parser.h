/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_FUZZ_NAMES_PARSER_H
#define TW_FUZZ_NAMES_PARSER_H

/*
 * A fuzz target of a parser of names: struct PARSER, and PARSER_new(), _feed(), _end()
 * and _free() of one form. The property: check_names() finds that names have their form,
 * and adds up what is told; pieces make no difference.
 */

#include "lib/ask/ask.h"
#include "lib/core/err.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FUZZ_NAMES_PARSER(parser)                                                        \
	/* Names in data that is fed in pieces; SIZE_MAX: refused. */                    \
	static size_t parse(const char *data, size_t size, size_t piece)                 \
	{                                                                                \
		struct parser *p = NULL;                                                 \
		struct tw_err err = { 0 };                                               \
		size_t told = 0;                                                         \
		int rc = 0;                                                              \
                                                                                         \
		if (parser##_new(check_names, &told, &p, &err) < 0)                      \
			abort();                                                         \
		for (size_t at = 0; rc == 0 && at < size; at += piece)                   \
			rc = parser##_feed(p, data + at,                                 \
					   size - at < piece ? size - at : piece, &err); \
		if (rc == 0)                                                             \
			rc = parser##_end(p, &err);                                      \
		parser##_free(p);                                                        \
		if (rc < 0 && err.code == TW_OK)                                         \
			abort();                                                         \
		return rc < 0 ? SIZE_MAX : told;                                         \
	}                                                                                \
                                                                                         \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);                    \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                     \
	{                                                                                \
		if (parse((const char *)data, size, 3) !=                                \
		    parse((const char *)data, size, size + 1))                           \
			abort();                                                         \
		return 0;                                                                \
	}

#endif /* TW_FUZZ_NAMES_PARSER_H */
