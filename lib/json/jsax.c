/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/jsax.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/jstring.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Tokens that may come next. */
enum {
	WANT_VALUE = 1u << 0,
	WANT_KEY = 1u << 1,
	WANT_END = 1u << 2,
	WANT_COLON = 1u << 3,
	WANT_COMMA = 1u << 4,
	SPACE = 1u << 5, /* a class of bytes only: white space is always skipped */
};

/* The token in progress; it may have begun in an earlier piece. */
enum token {
	TOKEN_NONE,
	TOKEN_STRING,
	TOKEN_NUMBER,
	TOKEN_WORD,
};

static const struct {
	const char *text;
	enum tw_jsax_type type;
} words[] = {
	{ "true", TW_JSAX_TRUE },
	{ "false", TW_JSAX_FALSE },
	{ "null", TW_JSAX_NULL },
};

/* Bytes of the longest number: exact decimal doubles have up to 767 digits. */
#define NUMBER_MAX 1024

/* A number that lies within one piece, with a byte after it, is not copied. */
struct number {
	double value; /* valid once the number has ended */
	size_t len;   /* bytes of earlier pieces, in text */
	char text[NUMBER_MAX];
};

struct tw_jsax {
	tw_jsax_fn *fn;
	void *arg;
	unsigned depth_max;

	uint64_t offset;   /* of the current piece */
	uint64_t token_at; /* offset of the token's first byte */
	uint64_t arrays;   /* bit d: the container at depth d is an array */
	unsigned depth;
	unsigned want; /* WANT_*; 0 once the document has ended */
	enum token token;
	bool started, failed;
	bool is_key; /* TOKEN_STRING */
	unsigned word, word_len;
	struct number number;
	struct tw_jstring string;
};

int tw_jsax_new(const struct tw_jsax_limits *limits, tw_jsax_fn *fn, void *arg,
		struct tw_jsax **out, struct tw_err *err)
{
	struct tw_jsax *p;

	assert(limits->depth <= 64 && limits->text_bytes <= SIZE_MAX / 4);
	if (TW_NEW(p, 1, err) < 0)
		return -1;
	p->fn = fn;
	p->arg = arg;
	p->depth_max = limits->depth;
	p->string.limit = limits->text_bytes;
	tw_jsax_reset(p);
	*out = p;
	return 0;
}

void tw_jsax_reset(struct tw_jsax *p)
{
	p->offset = 0;
	p->depth = 0;
	p->want = WANT_VALUE;
	p->token = TOKEN_NONE;
	p->started = false;
	p->failed = false;
	p->number.len = 0; /* drop a partial number */
	tw_jstring_begin(&p->string);
}

bool tw_jsax_done(const struct tw_jsax *p)
{
	return p->want == 0 && p->token == TOKEN_NONE;
}

bool tw_jsax_started(const struct tw_jsax *p)
{
	return p->started;
}

void tw_jsax_free(struct tw_jsax *p)
{
	if (p == NULL)
		return;
	tw_jstring_release(&p->string);
	free(p);
}

static bool in_array(const struct tw_jsax *p)
{
	return p->depth > 0 && (p->arrays >> (p->depth - 1) & 1) != 0;
}

/* Report an event. All bytes of its token are consumed. */
static int emit(struct tw_jsax *p, struct tw_jsax_event *e, struct tw_err *err)
{
	e->depth = p->depth;
	if (e->type == TW_JSAX_KEY)
		p->want = WANT_COLON;
	else
		p->want = p->depth > 0 ? WANT_COMMA | WANT_END : 0;
	p->token = TOKEN_NONE;
	return p->fn(p->arg, e, err);
}

/* ---- numbers ---- */

static int fail_number(uint64_t offset, struct tw_err *err)
{
	return tw_fail(err, TW_PARSE, "byte %" PRIu64 ": not a number, or too large",
		       offset);
}

static bool is_number_byte(char c)
{
	return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' ||
	       c == 'E';
}

/* End the number at the end of the input. */
static int end_number(struct number *n, uint64_t offset, struct tw_err *err)
{
	const size_t len = n->len;

	n->len = 0;
	return tw_parse_double(n->text, len, &n->value) ? 0 : fail_number(offset, err);
}

/* Copy a number that spans pieces, or may continue in the next one. */
static int gather_number(struct number *n, const char *data, size_t len, uint64_t offset,
			 size_t *used, bool *ended, struct tw_err *err)
{
	size_t i = 0;

	while (i < len && is_number_byte(data[i]))
		i++;
	if (i > sizeof(n->text) - n->len)
		return fail_number(offset, err);
	memcpy(n->text + n->len, data, i);
	n->len += i;
	*used = i;
	*ended = i < len;
	return *ended ? end_number(n, offset, err) : 0;
}

/*
 * Take the bytes of data[0..len) that belong to the number. *used is their count. *ended
 * becomes true at a byte that does not belong to it. offset is the number's place in the
 * document, for errors.
 */
static int feed_number(struct number *n, const char *data, size_t len, uint64_t offset,
		       size_t *used, bool *ended, struct tw_err *err)
{
	size_t scanned;

	if (n->len > 0)
		return gather_number(n, data, len, offset, used, ended, err);
	scanned = tw_scan_double(data, len, &n->value);
	if (scanned == len || scanned == 0 || is_number_byte(data[scanned]))
		return gather_number(n, data, len, offset, used, ended, err);
	if (scanned > sizeof(n->text))
		return fail_number(offset, err);
	*used = scanned;
	*ended = true;
	return 0;
}

static int emit_number(struct tw_jsax *p, struct tw_err *err)
{
	struct tw_jsax_event e = { .type = TW_JSAX_NUMBER,
				   .number = p->number.value,
				   .offset = p->token_at };

	return emit(p, &e, err);
}

static int take_number(struct tw_jsax *p, const char *data, size_t len, size_t *at,
		       struct tw_err *err)
{
	size_t used = 0;
	bool ended;

	if (feed_number(&p->number, data + *at, len - *at, p->token_at, &used, &ended,
			err) < 0)
		return -1;
	*at += used;
	return ended ? emit_number(p, err) : 0;
}

static int take_string(struct tw_jsax *p, const char *data, size_t len, size_t *at,
		       struct tw_err *err)
{
	struct tw_jsax_event e = { .type = p->is_key ? TW_JSAX_KEY : TW_JSAX_TEXT };
	size_t used = 0;
	bool ended;

	if (tw_jstring_feed(&p->string, data + *at, len - *at, p->offset + *at, &used,
			    &ended, err) < 0)
		return -1;
	*at += used;
	if (!ended)
		return 0;
	e.text = p->string.text;
	e.len = p->string.text_len;
	e.offset = p->token_at;
	return emit(p, &e, err);
}

/* The fast path: most strings lie within a piece and need no decoding. */
static int take_new_string(struct tw_jsax *p, const char *data, size_t len, size_t *at,
			   struct tw_err *err)
{
	const size_t plain = tw_jstring_plain(data + *at, len - *at);
	struct tw_jsax_event e = { .type = p->is_key ? TW_JSAX_KEY : TW_JSAX_TEXT,
				   .text = data + *at,
				   .len = plain,
				   .offset = p->token_at };

	if (plain == len - *at || data[*at + plain] != '"' || plain > p->string.limit) {
		p->token = TOKEN_STRING;
		tw_jstring_begin(&p->string);
		return take_string(p, data, len, at, err);
	}
	*at += plain + 1;
	return emit(p, &e, err);
}

static int take_word(struct tw_jsax *p, const char *data, size_t len, size_t *at,
		     struct tw_err *err)
{
	const char *word = words[p->word].text;
	struct tw_jsax_event e = { .type = words[p->word].type, .offset = p->token_at };

	for (; *at < len && word[p->word_len] != '\0'; ++*at)
		if (data[*at] != word[p->word_len++])
			return tw_fail(err, TW_PARSE, "byte %" PRIu64 ": expected '%s'",
				       p->token_at, word);
	return word[p->word_len] == '\0' ? emit(p, &e, err) : 0;
}

static int fail_unexpected(const struct tw_jsax *p, uint64_t offset, struct tw_err *err)
{
	bool array = in_array(p);
	const char *want;

	switch (p->want) {
	case WANT_KEY:
		want = "a key";
		break;
	case WANT_KEY | WANT_END:
		want = "a key or '}'";
		break;
	case WANT_COLON:
		want = "':'";
		break;
	case WANT_COMMA | WANT_END:
		want = array ? "',' or ']'" : "',' or '}'";
		break;
	case WANT_VALUE | WANT_END:
		want = "a value or ']'";
		break;
	default:
		want = "a value";
	}
	return tw_fail(err, TW_PARSE, "byte %" PRIu64 ": expected %s", offset, want);
}

static int open_container(struct tw_jsax *p, bool array, uint64_t offset,
			  struct tw_err *err)
{
	struct tw_jsax_event e = { .type = array ? TW_JSAX_ARRAY : TW_JSAX_OBJECT,
				   .depth = p->depth,
				   .offset = offset };

	if (p->depth == p->depth_max)
		return tw_fail(err, TW_PARSE, "byte %" PRIu64 ": nested deeper than %u",
			       offset, p->depth_max);
	p->arrays &= ~(UINT64_C(1) << p->depth);
	p->arrays |= (uint64_t)array << p->depth;
	p->depth++;
	p->want = array ? WANT_VALUE | WANT_END : WANT_KEY | WANT_END;
	return p->fn(p->arg, &e, err);
}

static int close_container(struct tw_jsax *p, bool array, uint64_t offset,
			   struct tw_err *err)
{
	struct tw_jsax_event e = { .type = array ? TW_JSAX_ARRAY_END : TW_JSAX_OBJECT_END,
				   .offset = offset };

	if (array != in_array(p))
		return fail_unexpected(p, offset, err);
	p->depth--;
	return emit(p, &e, err);
}

/* The tokens that a byte can begin. */
static const unsigned char classes[256] = {
	['"'] = WANT_VALUE | WANT_KEY,
	[','] = WANT_COMMA,
	[':'] = WANT_COLON,
	['}'] = WANT_END,
	[']'] = WANT_END,
	['{'] = WANT_VALUE,
	['['] = WANT_VALUE,
	['-'] = WANT_VALUE,
	['0'] = WANT_VALUE,
	['1'] = WANT_VALUE,
	['2'] = WANT_VALUE,
	['3'] = WANT_VALUE,
	['4'] = WANT_VALUE,
	['5'] = WANT_VALUE,
	['6'] = WANT_VALUE,
	['7'] = WANT_VALUE,
	['8'] = WANT_VALUE,
	['9'] = WANT_VALUE,
	['t'] = WANT_VALUE,
	['f'] = WANT_VALUE,
	['n'] = WANT_VALUE,
	[' '] = SPACE,
	['\t'] = SPACE,
	['\n'] = SPACE,
	['\r'] = SPACE,
};

static unsigned class_of(char c)
{
	return classes[(unsigned char)c];
}

/* Skip white space and expected separators. False at the end of the piece. */
static bool skip_to_token(struct tw_jsax *p, const char *data, size_t len, size_t *at)
{
	for (; *at < len; ++*at) {
		const unsigned class = class_of(data[*at]);

		if (class == SPACE)
			continue;
		if ((class & p->want & (WANT_COMMA | WANT_COLON)) == 0)
			return true;
		p->want = class == WANT_COMMA && !in_array(p) ? WANT_KEY : WANT_VALUE;
	}
	return false;
}

/* Begin the next token. */
static int take_first(struct tw_jsax *p, const char *data, size_t len, size_t *at,
		      struct tw_err *err)
{
	uint64_t offset;
	char c;

	if (!skip_to_token(p, data, len, at))
		return 0;
	c = data[*at];
	offset = p->offset + *at;
	p->started = true;
	if ((class_of(c) & p->want) == 0)
		return fail_unexpected(p, offset, err);
	p->token_at = offset;
	switch (c) {
	case '"':
		p->is_key = (p->want & WANT_KEY) != 0;
		++*at;
		return take_new_string(p, data, len, at, err);
	case '{':
	case '[':
		++*at;
		return open_container(p, c == '[', offset, err);
	case '}':
	case ']':
		++*at;
		return close_container(p, c == ']', offset, err);
	case 't':
	case 'f':
	case 'n':
		p->token = TOKEN_WORD;
		p->word = c == 't' ? 0 : c == 'f' ? 1 : 2;
		p->word_len = 0;
		return 0;
	default:
		p->token = TOKEN_NUMBER;
		return take_number(p, data, len, at, err);
	}
}

static int take(struct tw_jsax *p, const char *data, size_t len, size_t *at,
		struct tw_err *err)
{
	switch (p->token) {
	case TOKEN_STRING:
		return take_string(p, data, len, at, err);
	case TOKEN_NUMBER:
		return take_number(p, data, len, at, err);
	case TOKEN_WORD:
		return take_word(p, data, len, at, err);
	default:
		return take_first(p, data, len, at, err);
	}
}

int tw_jsax_feed(struct tw_jsax *p, const char *data, size_t len, size_t *used,
		 struct tw_err *err)
{
	size_t at = 0;

	assert(!p->failed);
	while (at < len && !tw_jsax_done(p)) {
		if (take(p, data, len, &at, err) < 0) {
			p->failed = true;
			return -1;
		}
	}
	p->offset += at;
	*used = at;
	return 0;
}

static const char *describe_open(const struct tw_jsax *p)
{
	switch (p->token) {
	case TOKEN_STRING:
		return p->is_key ? "in a key" : "in a string";
	case TOKEN_NUMBER:
	case TOKEN_WORD:
		return "in a value";
	default:
		if (p->depth == 0)
			return "before a value";
		return in_array(p) ? "in an array" : "in an object";
	}
}

int tw_jsax_end(struct tw_jsax *p, struct tw_err *err)
{
	assert(!p->failed);
	if (p->token == TOKEN_NUMBER && p->depth == 0) {
		p->failed = end_number(&p->number, p->token_at, err) < 0 ||
			    emit_number(p, err) < 0;
		return p->failed ? -1 : 0;
	}
	if (tw_jsax_done(p))
		return 0;
	p->failed = true;
	return tw_fail(err, TW_PARSE, "byte %" PRIu64 ": cut short %s", p->offset,
		       describe_open(p));
}

bool tw_jsax_is_text(const struct tw_jsax_event *e, const char *text)
{
	return e->len == strlen(text) && memcmp(e->text, text, e->len) == 0;
}

const char *tw_jsax_type_name(enum tw_jsax_type type)
{
	switch (type) {
	case TW_JSAX_OBJECT:
		return "an object";
	case TW_JSAX_ARRAY:
		return "an array";
	case TW_JSAX_TEXT:
		return "a string";
	case TW_JSAX_NUMBER:
		return "a number";
	case TW_JSAX_TRUE:
	case TW_JSAX_FALSE:
		return "a boolean";
	case TW_JSAX_NULL:
		return "null";
	default:
		return "the end";
	}
}

#define PIECE_BYTES ((size_t)256 << 10)

int tw_jsax_feed_only(struct tw_jsax *p, const char *data, size_t len, struct tw_err *err)
{
	size_t used = 0;

	if (tw_jsax_feed(p, data, len, &used, err) < 0)
		return -1;
	for (; used < len; used++, p->offset++)
		if (data[used] == '\0' || strchr(" \t\r\n", data[used]) == NULL)
			return tw_fail(err, TW_PARSE,
				       "byte %" PRIu64 ": text after the end", p->offset);
	return 0;
}

int tw_jsax_parse(const struct tw_jsax_limits *limits, tw_jsax_fn *fn, void *arg,
		  const char *data, size_t len, struct tw_err *err)
{
	struct tw_jsax *p = NULL;
	int rc = -1;

	if (tw_jsax_new(limits, fn, arg, &p, err) == 0 &&
	    tw_jsax_feed_only(p, data, len, err) == 0 && tw_jsax_end(p, err) == 0)
		rc = 0;
	tw_jsax_free(p);
	return rc;
}

static int feed_file(struct tw_jsax *p, int fd, char *piece, struct tw_err *err)
{
	for (;;) {
		ssize_t n = read(fd, piece, PIECE_BYTES);

		if (n == 0)
			return tw_jsax_end(p, err);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return tw_fail_errno(err, errno, "cannot read");
		if (tw_jsax_feed_only(p, piece, (size_t)n, err) < 0)
			return -1;
	}
}

int tw_jsax_read(const struct tw_jsax_limits *limits, tw_jsax_fn *fn, void *arg,
		 const char *path, struct tw_err *err)
{
	struct tw_jsax *p = NULL;
	char *piece = malloc(PIECE_BYTES);
	int fd = -1, rc = -1;

	if (piece == NULL) {
		tw_fail(err, TW_NOMEM, "'%s'", path);
		goto out;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		tw_fail_errno(err, errno, "cannot open '%s'", path);
		goto out;
	}
	if (tw_jsax_new(limits, fn, arg, &p, err) < 0 ||
	    feed_file(p, fd, piece, err) < 0) {
		tw_err_wrap(err, "'%s'", path);
		goto out;
	}
	rc = 0;
out:
	tw_jsax_free(p);
	if (fd >= 0)
		close(fd);
	free(piece);
	return rc;
}
