/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/train/input_query.h"

#include "lib/core/buf.h"
#include "lib/core/date.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "trainer/record/prom_query.h"
#include "trainer/record/stop.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "prometheus+"
#define POINTS 11000
#define TIMEOUT_MS 150000
#define RETRY_MS 120000
#define ANSWER_MAX ((size_t)2 << 30)
#define CHUNKS_MAX 10000

struct query {
	char *url; /* without the query part */
	struct tw_strs match;
	struct tw_prom_range range;
	uint64_t chunk_ms; /* 0: the whole range */
};

static void release(struct query *q)
{
	free(q->url);
	tw_strs_clear(&q->match);
}

bool tw_input_query_is(const char *file)
{
	return strncmp(file, PREFIX "http://", strlen(PREFIX "http://")) == 0 ||
	       strncmp(file, PREFIX "https://", strlen(PREFIX "https://")) == 0;
}

/* ---- text ---- */

/* Replace %XX in place. False for a malformed one and for %00. */
static bool unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from != '\0'; from++) {
		char hex[3] = { 0 };

		if (*from != '%') {
			*to++ = *from;
			continue;
		}
		if (!isxdigit((unsigned char)from[1]) ||
		    !isxdigit((unsigned char)from[2]))
			return false;
		memcpy(hex, from + 1, 2);
		*to = (char)strtol(hex, NULL, 16);
		if (*to++ == '\0')
			return false;
		from += 2;
	}
	*to = '\0';
	return true;
}

static int take(struct query *q, const char *key, char *value, struct tw_err *err)
{
	uint64_t step_ms;

	if (!unescape(value))
		return tw_fail(err, TW_INVALID, "a malformed %%XX");
	if (strcmp(key, "match") == 0)
		return tw_strs_adds(&q->match, value, err);
	if (strcmp(key, "start") == 0)
		return tw_parse_date_ms(value, &q->range.start_ms, err);
	if (strcmp(key, "end") == 0)
		return tw_parse_date_ms(value, &q->range.end_ms, err);
	if (strcmp(key, "chunk") == 0)
		return tw_parse_duration_ms(value, &q->chunk_ms, err);
	if (strcmp(key, "step") != 0)
		return tw_fail(err, TW_INVALID,
			       "unknown key; want match, start, end, step or chunk");
	if (tw_parse_duration_ms(value, &step_ms, err) < 0)
		return -1;
	q->range.step_ms = (int64_t)(step_ms <= TW_DATE_MAX_MS ? step_ms : 0);
	return 0;
}

static int check(const struct query *q, struct tw_err *err)
{
	if (q->range.start_ms == 0 || q->range.end_ms == 0 || q->range.step_ms <= 0)
		return tw_fail(err, TW_INVALID, "want start, end and step");
	if (q->range.start_ms > q->range.end_ms)
		return tw_fail(err, TW_INVALID, "the start is after the end");
	if (q->chunk_ms % (uint64_t)q->range.step_ms != 0)
		return tw_fail(err, TW_INVALID, "chunk is no multiple of step");
	if (q->chunk_ms > 0 &&
	    (uint64_t)(q->range.end_ms - q->range.start_ms) / q->chunk_ms >= CHUNKS_MAX)
		return tw_fail(err, TW_INVALID, "more than %d chunks", CHUNKS_MAX);
	return 0;
}

/* *q must be all zero; release() in any case. */
static int parse(const char *file, struct query *q, struct tw_err *err)
{
	char *rest, *pair;

	q->url = strdup(file + strlen(PREFIX));
	if (q->url == NULL)
		return tw_fail(err, TW_NOMEM, "query");
	rest = strchr(q->url, '?');
	if (rest != NULL)
		*rest++ = '\0';
	while ((pair = strsep(&rest, "&")) != NULL) {
		char *value = pair + strcspn(pair, "=");

		if (*value != '\0')
			*value++ = '\0';
		if (take(q, pair, value, err) < 0) {
			tw_err_wrap(err, "%.32s", pair);
			goto fail;
		}
	}
	if (check(q, err) == 0)
		return 0;
fail:
	return tw_err_wrap(err, "input " PREFIX "%.80s", q->url);
}

/* ---- chunks ---- */

/* The text up to the query part, and all its pairs but start, end and chunk. */
static void add_common(const char *input, struct tw_buf *out)
{
	const char *at = strchr(input, '?') + 1;

	tw_buf_add(out, input, (size_t)(at - input));
	while (*at != '\0') {
		const size_t len = strcspn(at, "&");

		if (strncmp(at, "start=", 6) != 0 && strncmp(at, "end=", 4) != 0 &&
		    strncmp(at, "chunk=", 6) != 0) {
			tw_buf_add(out, at, len);
			tw_buf_adds(out, "&");
		}
		at += len + (at[len] == '&');
	}
}

static int add_chunks(const char *input, const struct query *q, struct tw_strs *out,
		      struct tw_err *err)
{
	int64_t from = q->range.start_ms;
	int rc = 0;

	do {
		const int64_t left = q->range.end_ms - from;
		const int64_t to = left > (int64_t)q->chunk_ms
					   ? from + (int64_t)q->chunk_ms
					   : q->range.end_ms;
		struct tw_buf text = { 0 };

		add_common(input, &text);
		tw_buf_addf(&text, "start=%" PRId64 ".%03d&end=%" PRId64 ".%03d",
			    from / 1000, (int)(from % 1000), to / 1000, (int)(to % 1000));
		rc = tw_buf_failed(&text) ? tw_fail(err, TW_NOMEM, "chunks")
					  : tw_strs_adds(out, text.data, err);
		tw_buf_clear(&text);
		from = to;
	} while (rc == 0 && from < q->range.end_ms);
	return rc;
}

/* The query of an input [MACHINE=]QUERY, or NULL. */
static const char *find_query(const char *input)
{
	const char *equals = strchr(input, '=');

	if (tw_input_query_is(input))
		return input;
	return equals != NULL && tw_input_query_is(equals + 1) ? equals + 1 : NULL;
}

static int chunk_one(const char *input, struct tw_strs *out, struct tw_err *err)
{
	const char *query = find_query(input);
	struct query q = { 0 };
	int rc = -1;

	if (query == NULL)
		return tw_strs_adds(out, input, err);
	if (parse(query, &q, err) == 0)
		rc = q.chunk_ms > 0 ? add_chunks(input, &q, out, err)
				    : tw_strs_adds(out, input, err);
	release(&q);
	return rc;
}

int tw_input_query_chunk(struct tw_strs *inputs, struct tw_err *err)
{
	struct tw_strs all = { 0 };

	for (size_t i = 0; i < inputs->count; i++)
		if (chunk_one(inputs->at[i], &all, err) < 0) {
			tw_strs_clear(&all);
			return -1;
		}
	tw_strs_clear(inputs);
	*inputs = all;
	return 0;
}

/* ---- the query ---- */

static void say(const char *text)
{
	fprintf(stderr, "tallywatt: %s\n", text);
}

int tw_input_query_run(const char *file, const struct tw_http_access *access,
		       const char *path, struct tw_err *err)
{
	struct tw_prom_client *client = NULL;
	struct tw_prom_query_result result;
	struct tw_stop stop = { 0 };
	struct query q = { 0 };
	int rc = -1;

	if (tw_stop_open_by_call(&stop, err) < 0)
		return -1;
	if (parse(file, &q, err) < 0 ||
	    tw_prom_client_new(&(struct tw_prom_client_config){ .url = q.url,
								.access = *access,
								.timeout_ms = TIMEOUT_MS,
								.retry_ms = RETRY_MS,
								.answer_max = ANSWER_MAX,
								.stop = &stop,
								.say = say },
			       &client, err) < 0)
		goto out;
	rc = tw_prom_query_run(client,
			       &(struct tw_prom_query){ .range = q.range,
							.match = &q.match,
							.points = POINTS,
							.output = path },
			       &result, err);
out:
	tw_prom_client_free(client);
	tw_stop_close(&stop);
	release(&q);
	return rc;
}
