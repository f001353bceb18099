/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_JSON_H
#define TW_JSON_H

/*
 * Small JSON documents: jansson's values, read with errors that name the place
 * ("metadata.json: package.features[2]: expected a string, got a number"), and written
 * with the shortest numbers. Large documents go through lib/json/jsax.h.
 *
 * Texts are parsed by lib/json/jsax.h, too, and not by json_loadb(): where memory is
 * short, jansson 2.14 loses characters of a string, aborts, or blames the text.
 *
 * `where` is the path to the value, for errors only; getters append ".key" or "[i]". A
 * getter writes *out on success only. With `optional`, an absent or null member is not a
 * failure and leaves *out unchanged. Values are borrowed from obj.
 *
 * Written by own code and not by json_dumpb(), which writes 17 digits of every number:
 * tw_buf_add_double() writes the shortest text that reads back the same.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct tw_buf;
struct tw_err;
struct tw_strs;

/* Deepest nesting that tw_json_parse() accepts. */
#define TW_JSON_DEPTH_MAX 64

/* Parse data[0..len). Duplicate keys are rejected. *out is yours: json_decref(). */
int tw_json_parse(const char *data, size_t len, const char *where, json_t **out,
		  struct tw_err *err);

/*
 * As tw_json_parse(), for peers whose text is not quite JSON in members that nobody
 * reads: control characters become spaces, bytes that are no UTF-8 become '?', and of two
 * members with one key the last one counts. A byte order mark, integers of more than 64
 * bits and \u0000 are allowed.
 */
int tw_json_parse_loose(const char *data, size_t len, const char *where, json_t **out,
			struct tw_err *err);

/* Parse a file of at most bytes_max. */
int tw_json_read(const char *path, size_t bytes_max, json_t **out, struct tw_err *err);

/* "an object", "a string", ...: for errors. */
const char *tw_json_type_name(const json_t *v);

int tw_json_member(const json_t *obj, const char *where, const char *key, bool optional,
		   const json_t **out, struct tw_err *err);
int tw_json_object(const json_t *obj, const char *where, const char *key, bool optional,
		   const json_t **out, struct tw_err *err);
int tw_json_array(const json_t *obj, const char *where, const char *key, bool optional,
		  const json_t **out, struct tw_err *err);
/* *out lives as long as obj. */
int tw_json_text(const json_t *obj, const char *where, const char *key, bool optional,
		 const char **out, struct tw_err *err);
/* A finite number, integer or not. */
int tw_json_number(const json_t *obj, const char *where, const char *key, bool optional,
		   double *out, struct tw_err *err);
/* An integer from min to max. */
int tw_json_int(const json_t *obj, const char *where, const char *key, bool optional,
		long long min, long long max, long long *out, struct tw_err *err);
int tw_json_bool(const json_t *obj, const char *where, const char *key, bool optional,
		 bool *out, struct tw_err *err);
/* Append a list of strings to *out. */
int tw_json_strs(const json_t *obj, const char *where, const char *key, bool optional,
		 struct tw_strs *out, struct tw_err *err);

/* A member that is only shown: `otherwise` if it is absent or of another type. */
double tw_json_number_or(const json_t *obj, const char *key, double otherwise);
const char *tw_json_text_or(const json_t *obj, const char *key, const char *otherwise);

/* Make an array of strings. NULL if out of memory, or if a text is not UTF-8. */
json_t *tw_json_texts(const struct tw_strs *l);

/* A number rounded to four decimals; null if v is not finite. NULL without memory. */
json_t *tw_json_rounded(double v);

/* Append s[0..len) as a quoted JSON string. Invalid UTF-8 becomes U+FFFD. */
void tw_buf_add_json_text(struct tw_buf *b, const char *s, size_t len);

/* Append a document without white space; keys in the order of insertion. */
void tw_buf_add_json(struct tw_buf *b, const json_t *v);

#endif /* TW_JSON_H */
