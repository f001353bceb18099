/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_TOP_SCREEN_H
#define TW_CLI_TOP_SCREEN_H

/*
 * A terminal that is drawn over and read key by key. What it was before is put back at
 * the end, at a signal that ends the program, and while it is stopped (^Z).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;
struct tw_screen; /* opaque */

enum tw_screen_event {
	TW_SCREEN_TIMEOUT,
	TW_SCREEN_KEY,
	TW_SCREEN_RESIZED,
	TW_SCREEN_END, /* a signal, or the end of the terminal */
};

/* Arrows and the like, as keys. */
enum { TW_KEY_UP = 256, TW_KEY_DOWN, TW_KEY_PAGE_UP, TW_KEY_PAGE_DOWN, TW_KEY_OTHER };

/* Of standard input and output. *out is yours: tw_screen_close(). */
int tw_screen_open(struct tw_screen **out, struct tw_err *err);
void tw_screen_close(struct tw_screen *s); /* NULL is fine */

/* As it is now; 80 and 24 where the terminal does not know. */
void tw_screen_size(const struct tw_screen *s, size_t *columns, size_t *lines);

/* Show this, and nothing else. */
int tw_screen_draw(struct tw_screen *s, const struct tw_buf *text, struct tw_err *err);

/* Until something happens, at most wait_ms. */
enum tw_screen_event tw_screen_wait(struct tw_screen *s, uint64_t wait_ms, int *key);

#endif /* TW_CLI_TOP_SCREEN_H */
