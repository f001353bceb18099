/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ANSWER_H
#define TW_COLLECTOR_ANSWER_H

/*
 * Answers with a text of the last tick. A small text is written at once, on the thread of
 * the ticks; a large one by a child process (collector/texts.h).
 */

#include "collector/texts.h"

#include <stdbool.h>

struct tw_collector;
struct tw_http_reply;
struct tw_http_request;

struct tw_answer {
	unsigned kind; /* answers of a kind and tick share a large text */
	const char *content_type;
	tw_text_writer *write;
	void *arg;  /* lives during the call */
	bool small; /* however many workloads there are */
};

/* The kinds; TW_ANSWER_POWER plus bits for the levels. */
enum { TW_ANSWER_METRICS_TEXT, TW_ANSWER_METRICS_OPEN, TW_ANSWER_POWER };

/* Answer with a large text that exists already, or a HEAD that needs none. */
bool tw_answer_again(const struct tw_collector *c, const struct tw_http_request *q,
		     struct tw_http_reply *r, const struct tw_answer *a);

/* Write the answer, or have it written. False: the reply is an error. */
bool tw_answer(const struct tw_collector *c, const struct tw_http_request *q,
	       struct tw_http_reply *r, const struct tw_answer *a);

#endif /* TW_COLLECTOR_ANSWER_H */
