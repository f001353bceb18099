/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_TEXTS_H
#define TW_COLLECTOR_TEXTS_H

/*
 * Large answers, written by child processes.
 *
 * A child is a copy of the collector between two ticks. So its text shows one tick, and
 * writing the text delays no later tick. The child writes to a file in memory, from which
 * connections are sent what is there (lib/http/server/httpd_growing.h). Answers of the
 * same tick and kind share a text.
 *
 * Limits: TW_TEXTS_RUNNING children; TW_TEXTS_MAX texts, of TW_TEXTS_BYTES_MAX together
 * when another begins. A new text replaces the oldest that no connection reads, else the
 * oldest above the age of TW_TEXTS_SLOW_MS, whose connections are closed.
 */

#include "lib/core/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct tw_err;
struct tw_growing;
struct tw_text_sink;
struct tw_texts;

#define TW_TEXTS_RUNNING 4
#define TW_TEXTS_MAX 8
#define TW_TEXTS_BYTES_MAX ((uint64_t)256 << 20)
#define TW_TEXTS_SLOW_MS 10000

/* Where a text is written: appended to buf, with tw_text_drain() now and then. */
struct tw_text_out {
	struct tw_buf buf;
	struct tw_text_sink *sink; /* NULL: the text stays in buf */
};

/* Move the text from buf to the sink, if there is a sink and the text is large. */
void tw_text_drain(struct tw_text_out *o);

typedef void tw_text_writer(void *arg, struct tw_text_out *o);

/* A text is identified by the first three members. */
struct tw_text_wanted {
	uint64_t tick;
	unsigned kind;
	bool gzip;
	tw_text_writer *write; /* runs in the child */
	void *arg;
};

int tw_texts_open(struct tw_texts **out, struct tw_err *err);
void tw_texts_close(struct tw_texts *t); /* NULL is fine; unfinished texts are cut */

/* Call tw_texts_hear() when the descriptor is readable. */
int tw_texts_fd(const struct tw_texts *t);
void tw_texts_hear(struct tw_texts *t);

/* Free texts of earlier ticks that no connection reads. */
void tw_texts_tidy(struct tw_texts *t, uint64_t tick);

/* The text, which lives until the next call; NULL: there is none yet. */
struct tw_growing *tw_texts_find(const struct tw_texts *t,
				 const struct tw_text_wanted *wanted);

/*
 * Start a child for the text. It fails with TW_UNSUPPORTED if there can be no child, and
 * with TW_NOMEM if the limits are reached. *out lives until the next call.
 */
int tw_texts_make(struct tw_texts *t, const struct tw_text_wanted *wanted,
		  struct tw_growing **out, struct tw_err *err);

/* Wait for children, at most wait_ms; at the end of the program. */
void tw_texts_finish(struct tw_texts *t, int wait_ms);

#endif /* TW_COLLECTOR_TEXTS_H */
