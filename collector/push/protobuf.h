/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_PROTOBUF_H
#define TW_COLLECTOR_PROTOBUF_H

/*
 * Messages in the wire format of Protocol Buffers (protobuf.dev, "Encoding"), field by
 * field.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;

/* A plain varint, without a field. */
void tw_pb_add_varint(struct tw_buf *b, uint64_t v);

void tw_pb_add_uint(struct tw_buf *b, unsigned field, uint64_t v);
void tw_pb_add_fixed64(struct tw_buf *b, unsigned field, uint64_t v);
void tw_pb_add_double(struct tw_buf *b, unsigned field, double v);
void tw_pb_add_text(struct tw_buf *b, unsigned field, const char *text);

/* Begin a message inside another. Pass the returned place to tw_pb_end(). */
size_t tw_pb_begin(struct tw_buf *b, unsigned field);
void tw_pb_end(struct tw_buf *b, size_t began);

/* A field that was read: the value of a varint or a fixed64, else data[0..len). */
struct tw_pb_field {
	unsigned number;
	uint64_t value;
	const char *data; /* NULL: a number */
	size_t len;
};

/*
 * Read the field at *at of a message, and move *at behind it. False at the end, or if the
 * message is broken. The last field of a cut message has the bytes that remain.
 */
bool tw_pb_next(const char *message, size_t len, size_t *at, struct tw_pb_field *out);

#endif /* TW_COLLECTOR_PROTOBUF_H */
