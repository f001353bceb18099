/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_JSON_H
#define TW_JSON_H

/*
 * Access to small JSON documents (jansson) with errors that name the place:
 * "metadata.json: package.features[2]: expected a string, got a number".
 *
 * `where` is the path so far, for the errors only; members add ".key", elements
 * "[i]". Getters never write *out on failure. With `optional` true an absent or null
 * member is no failure and leaves *out as it was.
 *
 * Large documents (Prometheus responses, estimator requests) go through lib/json/jsax.h.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct tw_buf;
struct tw_err;
struct tw_strs;

/* Deepest nesting that is accepted. */
#define TW_JSON_DEPTH_MAX 64

/* Parse data[0..len); duplicate keys are refused. *out is yours: json_decref(). */
int tw_json_parse(const char *data, size_t len, const char *where, json_t **out,
		  struct tw_err *err);

/* The same of a file of at most bytes_max. */
int tw_json_read(const char *path, size_t bytes_max, json_t **out, struct tw_err *err);

/* "an object", "a string", ... for errors. */
const char *tw_json_type_name(const json_t *v);

int tw_json_member(const json_t *obj, const char *where, const char *key, bool optional,
		   const json_t **out, struct tw_err *err);
int tw_json_object(const json_t *obj, const char *where, const char *key, bool optional,
		   const json_t **out, struct tw_err *err);
int tw_json_array(const json_t *obj, const char *where, const char *key, bool optional,
		  const json_t **out, struct tw_err *err);
/* Lives as long as obj. */
int tw_json_text(const json_t *obj, const char *where, const char *key, bool optional,
		 const char **out, struct tw_err *err);
/* Finite. Integers are taken. */
int tw_json_number(const json_t *obj, const char *where, const char *key, bool optional,
		   double *out, struct tw_err *err);
int tw_json_int(const json_t *obj, const char *where, const char *key, bool optional,
		long long min, long long max, long long *out, struct tw_err *err);
int tw_json_bool(const json_t *obj, const char *where, const char *key, bool optional,
		 bool *out, struct tw_err *err);
/* A list of strings, appended to *out. */
int tw_json_strs(const json_t *obj, const char *where, const char *key, bool optional,
		 struct tw_strs *out, struct tw_err *err);

/* The list as an array of strings. NULL without memory, or where one is not UTF-8. */
json_t *tw_json_texts(const struct tw_strs *l);

/* Append a JSON string with its quotes; invalid UTF-8 becomes U+FFFD. */
void tw_buf_add_json_text(struct tw_buf *b, const char *s, size_t len);

/* Append a document, keys in the order of insertion, no spaces, shortest numbers. */
void tw_buf_add_json(struct tw_buf *b, const json_t *v);

/* As above, two spaces of indent and a newline at the end: for files. */
void tw_buf_add_json_pretty(struct tw_buf *b, const json_t *v);

#endif /* TW_JSON_H */
