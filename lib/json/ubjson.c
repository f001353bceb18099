/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/ubjson.h"

#include "lib/core/array.h"
#include "lib/core/err.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define DEPTH_MAX 64

struct container {
	char close;
	char type; /* of all elements; 0: each has its own */
	bool counted;
	uint64_t left; /* elements, if counted */
};

struct reader {
	const unsigned char *data;
	size_t len, at;
	const struct tw_jsax_limits *limits;
	tw_jsax_fn *fn;
	void *arg;
	struct container in[DEPTH_MAX];
	unsigned depth;
};

static int fail_at(const struct reader *r, const char *what, struct tw_err *err)
{
	return tw_fail(err, TW_PARSE, "byte %zu of UBJSON: %s", r->at, what);
}

static int emit(struct reader *r, struct tw_jsax_event e, struct tw_err *err)
{
	e.depth = r->depth;
	e.offset = r->at;
	return r->fn(r->arg, &e, err);
}

/* Numbers by type: bytes, and whether they are an integer with a sign or a float. */
static const struct number {
	char type;
	unsigned char bytes;
	bool is_signed, is_float;
} numbers[] = {
	{ 'i', 1, true, false }, { 'U', 1, false, false }, { 'I', 2, true, false },
	{ 'l', 4, true, false }, { 'L', 8, true, false },  { 'd', 4, false, true },
	{ 'D', 8, false, true },
};

static const struct number *number_of(char type)
{
	for (size_t i = 0; i < TW_COUNT(numbers); i++)
		if (numbers[i].type == type)
			return &numbers[i];
	return NULL;
}

static int take_type(struct reader *r, char *out, struct tw_err *err)
{
	if (r->at == r->len)
		return fail_at(r, "cut short", err);
	*out = (char)r->data[r->at++];
	return 0;
}

/* Big endian, two's complement, IEEE 754. */
static int take_number(struct reader *r, const struct number *n, double *out,
		       struct tw_err *err)
{
	uint64_t bits = 0;
	float f;

	if (r->len - r->at < n->bytes)
		return fail_at(r, "cut short in a number", err);
	for (unsigned i = 0; i < n->bytes; i++)
		bits = bits << 8 | r->data[r->at++];
	if (n->is_float && n->bytes == 4) {
		const uint32_t half = (uint32_t)bits;

		memcpy(&f, &half, sizeof(f));
		*out = (double)f;
	} else if (n->is_float) {
		memcpy(out, &bits, sizeof(*out));
	} else {
		*out = (double)bits;
		if (n->is_signed && bits >> (8 * n->bytes - 1) != 0)
			*out = n->bytes == 8 ? -(double)(~bits) - 1
					     : *out - ldexp(1, 8 * n->bytes);
	}
	return isfinite(*out) ? 0 : fail_at(r, "a number that is not finite", err);
}

/* A length, or a count of elements, which have a byte each, at least. */
static int take_count(struct reader *r, uint64_t *out, struct tw_err *err)
{
	const struct number *n;
	double v;
	char type;

	if (take_type(r, &type, err) < 0)
		return -1;
	n = number_of(type);
	if (n == NULL || n->is_float)
		return fail_at(r, "expected a length", err);
	if (take_number(r, n, &v, err) < 0)
		return -1;
	if (!(v >= 0 && v <= (double)(r->len - r->at)))
		return fail_at(r, "a length beyond the end", err);
	*out = (uint64_t)v;
	return 0;
}

static int take_text(struct reader *r, enum tw_jsax_type type, struct tw_err *err)
{
	struct tw_jsax_event e = { .type = type };
	uint64_t len;

	if (take_count(r, &len, err) < 0)
		return -1;
	if (len > r->limits->text_bytes)
		return fail_at(r, "a string above the limit", err);
	e.text = (const char *)r->data + r->at;
	e.len = (size_t)len;
	r->at += e.len;
	return emit(r, e, err);
}

static int begin(struct reader *r, char open, struct tw_err *err)
{
	struct container c = { .close = open == '{' ? '}' : ']' };

	if (r->depth == DEPTH_MAX || r->depth == r->limits->depth)
		return fail_at(r, "nested too deeply", err);
	if (emit(r,
		 (struct tw_jsax_event){ .type = open == '{' ? TW_JSAX_OBJECT
							     : TW_JSAX_ARRAY },
		 err) < 0)
		return -1;
	if (r->at < r->len && r->data[r->at] == '$') {
		r->at++;
		if (take_type(r, &c.type, err) < 0)
			return -1;
		if (strchr("[{S", c.type) == NULL && number_of(c.type) == NULL)
			return fail_at(r, "elements of an unknown type", err);
		if (r->at == r->len || r->data[r->at] != '#')
			return fail_at(r, "expected a count after the type", err);
	}
	if (r->at < r->len && r->data[r->at] == '#') {
		r->at++;
		c.counted = true;
		if (take_count(r, &c.left, err) < 0)
			return -1;
	}
	r->in[r->depth++] = c;
	return 0;
}

static int take_value(struct reader *r, char type, struct tw_err *err)
{
	const struct number *n = number_of(type);
	struct tw_jsax_event e = { .type = TW_JSAX_NUMBER };

	if (n != NULL)
		return take_number(r, n, &e.number, err) < 0 ? -1 : emit(r, e, err);
	switch (type) {
	case '[':
	case '{':
		return begin(r, type, err);
	case 'S':
		return take_text(r, TW_JSAX_TEXT, err);
	case 'Z':
		e.type = TW_JSAX_NULL;
		return emit(r, e, err);
	case 'T':
	case 'F':
		e.type = type == 'T' ? TW_JSAX_TRUE : TW_JSAX_FALSE;
		return emit(r, e, err);
	default:
		return fail_at(r, "an unknown type", err);
	}
}

/* Whether the innermost container ends here; consume its end. */
static bool ends(struct reader *r)
{
	const struct container *c = &r->in[r->depth - 1];

	if (c->counted)
		return c->left == 0;
	if (r->at == r->len || (char)r->data[r->at] != c->close)
		return false;
	r->at++;
	return true;
}

/* Take an element of the innermost container, or its end. */
static int step(struct reader *r, struct tw_err *err)
{
	struct container *c = &r->in[r->depth - 1];
	char type = c->type;

	if (ends(r)) {
		r->depth--;
		return emit(r,
			    (struct tw_jsax_event){ .type = c->close == '}'
								    ? TW_JSAX_OBJECT_END
								    : TW_JSAX_ARRAY_END },
			    err);
	}
	if (c->counted)
		c->left--;
	if (c->close == '}' && take_text(r, TW_JSAX_KEY, err) < 0)
		return -1;
	if (type == 0 && take_type(r, &type, err) < 0)
		return -1;
	return take_value(r, type, err);
}

bool tw_ubjson_is(const char *data, size_t len)
{
	return len > 1 && data[0] == '{' && memchr("iUIlL$#", data[1], 7) != NULL;
}

int tw_ubjson_parse(const struct tw_jsax_limits *limits, tw_jsax_fn *fn, void *arg,
		    const char *data, size_t len, struct tw_err *err)
{
	struct reader r = { .data = (const unsigned char *)data,
			    .len = len,
			    .limits = limits,
			    .fn = fn,
			    .arg = arg };
	char type;

	if (take_type(&r, &type, err) < 0 || take_value(&r, type, err) < 0)
		return -1;
	while (r.depth > 0)
		if (step(&r, err) < 0)
			return -1;
	return r.at == len ? 0 : fail_at(&r, "text after the end", err);
}
