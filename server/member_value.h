/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_MEMBER_VALUE_H
#define TW_SERVER_MEMBER_VALUE_H

/*
 * The value of a member of a request, read from parser events. null counts as absent.
 * Errors are TW_PARSE and name the member: "request.weight: expected true or false, got a
 * string".
 */

#include <stdbool.h>

struct tw_err;
struct tw_jsax_event;

/* Prefix of members in errors. */
#define TW_REQUEST_WHERE "request"

/* The type of the value, for errors: "a list", "true". */
const char *tw_member_describe(const struct tw_jsax_event *e);

/* Fail with "expected `want`, got <type>". */
int tw_member_fail_type(const char *name, const char *want, const struct tw_jsax_event *e,
			struct tw_err *err);

/* Check that the value is text without a NUL. */
int tw_member_check_text(const char *name, const struct tw_jsax_event *e,
			 struct tw_err *err);

/* Copy the text to *out, which is yours. An empty text counts as absent. */
int tw_member_text(const char *name, const struct tw_jsax_event *e, char **out,
		   struct tw_err *err);

int tw_member_bool(const char *name, const struct tw_jsax_event *e, bool *out,
		   struct tw_err *err);

/* A boolean, or its name as text in any case: "true", "False". */
int tw_member_bool_word(const char *name, const struct tw_jsax_event *e, bool *out,
			struct tw_err *err);

/* Whether the document writes the number without a point and without an exponent. */
bool tw_member_is_whole(const struct tw_jsax_event *e, const char *document);

#endif /* TW_SERVER_MEMBER_VALUE_H */
