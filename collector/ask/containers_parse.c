/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/containers_parse.h"

#include "lib/core/err.h"
#include "lib/json/jsax.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_MAX 8192
#define ID_LEN 64

/* The labels of a container are in one object each, but each value is a text. */
static const struct tw_jsax_limits limits = { .depth = 64,
					      .text_bytes = (size_t)1 << 20 };

/* Nesting of [{"Id":..,"Names":["/web"]}]. */
enum { DEPTH_LIST, DEPTH_CONTAINER, DEPTH_KEY, DEPTH_NAME };

enum key { KEY_OTHER, KEY_ID, KEY_NAMES };

struct tw_containers_parser {
	struct tw_jsax *jsax;
	tw_containers_fn *fn;
	void *arg;
	char head[HEAD_MAX]; /* of the answer, until its end is found */
	size_t head_len;
	bool in_body;
	enum key key;
	struct tw_ask_names names; /* of the current container */
};

/* ---- the list ---- */

/* Names are zeroed for each container: their ends are there. */
static void take_id(const struct tw_jsax_event *e, char *out)
{
	for (size_t i = 0; i < e->len; i++)
		if (!isdigit((unsigned char)e->text[i]) &&
		    (e->text[i] < 'a' || e->text[i] > 'f'))
			return;
	if (e->len != ID_LEN)
		return;
	memcpy(out, e->text, ID_LEN);
}

/*
 * "/web" names the container itself; "/other/alias" is a link to it. Engines allow
 * letters, digits and "_.-".
 */
static void take_name(const struct tw_jsax_event *e, char *out, size_t size)
{
	if (e->len < 2 || e->len > size || e->text[0] != '/')
		return;
	for (size_t i = 1; i < e->len; i++)
		if (!isalnum((unsigned char)e->text[i]) &&
		    strchr("_.-", e->text[i]) == NULL)
			return;
	memcpy(out, e->text + 1, e->len - 1);
}

static int take(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	struct tw_containers_parser *p = arg;

	if (e->depth == DEPTH_LIST && e->type != TW_JSAX_ARRAY &&
	    e->type != TW_JSAX_ARRAY_END)
		return tw_fail(err, TW_PARSE, "want a list of containers, got %s",
			       tw_jsax_type_name(e->type));
	switch (e->type) {
	case TW_JSAX_OBJECT:
		if (e->depth == DEPTH_CONTAINER)
			memset(&p->names, 0, sizeof(p->names));
		return 0;
	case TW_JSAX_KEY:
		if (e->depth == DEPTH_KEY)
			p->key = tw_jsax_is_text(e, "Id")      ? KEY_ID
				 : tw_jsax_is_text(e, "Names") ? KEY_NAMES
							       : KEY_OTHER;
		return 0;
	case TW_JSAX_TEXT:
		if (e->depth == DEPTH_KEY && p->key == KEY_ID)
			take_id(e, p->names.id);
		else if (e->depth == DEPTH_NAME && p->key == KEY_NAMES &&
			 p->names.container[0] == '\0')
			take_name(e, p->names.container, sizeof(p->names.container));
		return 0;
	case TW_JSAX_OBJECT_END:
		return e->depth == DEPTH_CONTAINER && p->names.id[0] != '\0' &&
				       p->names.container[0] != '\0'
			       ? p->fn(p->arg, &p->names, err)
			       : 0;
	default:
		return 0;
	}
}

/* ---- the answer ---- */

/* "HTTP/1.0 200 OK" */
static int check_status(const char *head, size_t len, struct tw_err *err)
{
	const char *line = memchr(head, '\r', len), *code = memchr(head, ' ', len);

	if (code == NULL || code > line || memcmp(head, "HTTP/1.", 7) != 0)
		return tw_fail(err, TW_PARSE, "no answer of HTTP");
	return strncmp(code, " 200", 4) == 0
		       ? 0
		       : tw_fail(err, TW_IO, "answers%.*s",
				 line - code < 64 ? (int)(line - code) : 64, code);
}

static int feed_body(struct tw_containers_parser *p, const char *data, size_t len,
		     struct tw_err *err)
{
	size_t used;

	/* Ignore white space after the document. */
	return tw_jsax_done(p->jsax) ? 0 : tw_jsax_feed(p->jsax, data, len, &used, err);
}

int tw_containers_parser_feed(struct tw_containers_parser *p, const char *data,
			      size_t len, struct tw_err *err)
{
	const size_t room = HEAD_MAX - p->head_len, n = len < room ? len : room;
	const char *end;

	if (p->in_body)
		return feed_body(p, data, len, err);
	memcpy(p->head + p->head_len, data, n);
	p->head_len += n;
	end = memmem(p->head, p->head_len, "\r\n\r\n", 4);
	if (end == NULL)
		return p->head_len < HEAD_MAX
			       ? 0
			       : tw_fail(err, TW_PARSE, "a header of over %d bytes",
					 HEAD_MAX);
	end += 4;
	p->in_body = true;
	if (check_status(p->head, (size_t)(end - p->head), err) < 0 ||
	    feed_body(p, end, (size_t)(p->head + p->head_len - end), err) < 0)
		return -1;
	return n < len ? feed_body(p, data + n, len - n, err) : 0;
}

int tw_containers_parser_end(struct tw_containers_parser *p, struct tw_err *err)
{
	return p->in_body ? tw_jsax_end(p->jsax, err)
			  : tw_fail(err, TW_PARSE, "cut short in the header");
}

int tw_containers_parser_new(tw_containers_fn *fn, void *arg,
			     struct tw_containers_parser **out, struct tw_err *err)
{
	struct tw_containers_parser *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return tw_fail(err, TW_NOMEM, "containers");
	p->fn = fn;
	p->arg = arg;
	if (tw_jsax_new(&limits, take, p, &p->jsax, err) < 0) {
		tw_containers_parser_free(p);
		return -1;
	}
	*out = p;
	return 0;
}

void tw_containers_parser_free(struct tw_containers_parser *p)
{
	if (p == NULL)
		return;
	tw_jsax_free(p->jsax);
	free(p);
}
