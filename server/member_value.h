/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_MEMBER_VALUE_H
#define TW_SERVER_MEMBER_VALUE_H

/*
 * The value of a request's member, as the parser tells it: a text, true or false, a whole
 * number. null is none. Errors are TW_PARSE and name the member: "request.weight:
 * expected true or false, got a string".
 */

#include <stdbool.h>

struct tw_err;
struct tw_jsax_event;

/* What members are of, in errors. */
#define TW_REQUEST_WHERE "request"

/* "a list", "true": what came, for errors. */
const char *tw_member_describe(const struct tw_jsax_event *e);

/* Fails: expected `want`, got what came. */
int tw_member_fail_type(const char *name, const char *want, const struct tw_jsax_event *e,
			struct tw_err *err);

/* That it is a text without a NUL. */
int tw_member_check_text(const char *name, const struct tw_jsax_event *e,
			 struct tw_err *err);

/* A copy into *out, yours; an empty text is as good as none. */
int tw_member_text(const char *name, const struct tw_jsax_event *e, char **out,
		   struct tw_err *err);

int tw_member_bool(const char *name, const struct tw_jsax_event *e, bool *out,
		   struct tw_err *err);

/* The same, or its name as text in any case: "true", "False". */
int tw_member_bool_word(const char *name, const struct tw_jsax_event *e, bool *out,
			struct tw_err *err);

/* Whether the number is written without a point and an exponent in the document. */
bool tw_member_is_whole(const struct tw_jsax_event *e, const char *document);

#endif /* TW_SERVER_MEMBER_VALUE_H */
