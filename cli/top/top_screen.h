/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_TOP_SCREEN_H
#define TW_CLI_TOP_SCREEN_H

/*
 * A terminal in raw mode: drawn as a whole, read by key. Its settings are restored at the
 * end, at a fatal signal, and while the program is stopped (^Z).
 */

#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;
struct tw_screen; /* opaque */

enum tw_screen_event {
	TW_SCREEN_TIMEOUT,
	TW_SCREEN_KEY,
	TW_SCREEN_RESIZED,
	TW_SCREEN_END, /* a signal, or the terminal closed */
};

/* Escape sequences as keys. */
enum { TW_KEY_UP = 256, TW_KEY_DOWN, TW_KEY_PAGE_UP, TW_KEY_PAGE_DOWN, TW_KEY_OTHER };

/* Open the terminal of stdin and stdout. *out is yours: tw_screen_close(). */
int tw_screen_open(struct tw_screen **out, struct tw_err *err);
void tw_screen_close(struct tw_screen *s); /* NULL is fine */

/* The current size; 80 by 24 if the terminal does not report it. */
void tw_screen_size(const struct tw_screen *s, size_t *columns, size_t *lines);

/* Replace the contents of the screen. */
int tw_screen_draw(struct tw_screen *s, const struct tw_buf *text, struct tw_err *err);

/* Wait for a key or an event, at most wait_ms. */
enum tw_screen_event tw_screen_wait(struct tw_screen *s, uint64_t wait_ms, int *key);

#endif /* TW_CLI_TOP_SCREEN_H */
