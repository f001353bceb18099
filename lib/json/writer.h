/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_JSON_WRITER_H
#define TW_JSON_WRITER_H

/*
 * Writes JSON without white space into a text, value after value:
 *
 *	tw_json_add_object(b, NULL);
 *	tw_json_add_text(b, "zone", "package");
 *	tw_json_add_number(b, "watts", 12.5);
 *	tw_json_end_object(b);
 *
 * The key is that of a member. It is NULL for an element of an array and for the document
 * itself. A comma is added where the text so far ends with a value. So the text itself is
 * the only state: other code may append to it, too, and it may be emptied after an
 * opening bracket. A document right after another one must begin by tw_buf_adds(b, "{").
 *
 * Keys and texts are escaped, and invalid UTF-8 becomes U+FFFD. Running out of memory
 * marks the buffer, as always (lib/core/buf.h).
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_strs;

/* Add the comma that is due, and the key. The caller appends the value. */
void tw_json_add_key(struct tw_buf *b, const char *key);

void tw_json_add_object(struct tw_buf *b, const char *key);
void tw_json_end_object(struct tw_buf *b);
void tw_json_add_array(struct tw_buf *b, const char *key);
void tw_json_end_array(struct tw_buf *b);

/* NULL is null. */
void tw_json_add_text(struct tw_buf *b, const char *key, const char *text);
/* The shortest text that reads back the same; null if v is not finite. */
void tw_json_add_number(struct tw_buf *b, const char *key, double v);
/* Rounded to this number of decimals, without zeros at the end. */
void tw_json_add_rounded(struct tw_buf *b, const char *key, double v, unsigned decimals);
/* Add a number with exactly this number of decimals. */
void tw_json_add_fixed(struct tw_buf *b, const char *key, double v, unsigned decimals);
void tw_json_add_int(struct tw_buf *b, const char *key, int64_t v);
void tw_json_add_uint(struct tw_buf *b, const char *key, uint64_t v);
void tw_json_add_bool(struct tw_buf *b, const char *key, bool v);
void tw_json_add_null(struct tw_buf *b, const char *key);

/* An array of texts. */
void tw_json_add_texts(struct tw_buf *b, const char *key, const struct tw_strs *l);
/* An array of numbers, as tw_json_add_number() writes them. */
void tw_json_add_numbers(struct tw_buf *b, const char *key, const double *v, size_t n);
/* A document of jansson. NULL marks the buffer: there was no memory for it. */
void tw_json_add_value(struct tw_buf *b, const char *key, const json_t *v);
/* As tw_json_add_value(), and frees the document. */
void tw_json_add_value_take(struct tw_buf *b, const char *key, json_t *v);

/*
 * Replace a document without white space by its indented form, with two spaces a level
 * and a final newline: for files and people. An array of plain values stays on one line.
 */
void tw_json_indent(struct tw_buf *b);

/* As tw_buf_add_json(), indented as by tw_json_indent(). */
void tw_buf_add_json_pretty(struct tw_buf *b, const json_t *v);

#endif /* TW_JSON_WRITER_H */
