/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ONLINE_WINDOW_H
#define TW_ONLINE_WINDOW_H

/*
 * The choice of the segments that a window keeps.
 *
 * A bounded window of the newest data would hold hours of the state that is most usual,
 * and lose rest, full load and unusual mixes. So a full window forgets the older of the
 * two segments that are most alike: their features, divided by the largest of the window,
 * are nearest. Power takes no part, or a machine whose law has changed would keep both
 * laws for ever.
 */

#include "trainer/online/segment.h"

struct tw_window_limits {
	size_t rows, bytes;
};

/* Whether the segments together exceed a limit. */
bool tw_window_full(const struct tw_segments *w, const struct tw_window_limits *limits);

/*
 * The index of the segment to forget. Held-out segments are forgotten among themselves,
 * so that they stay a quarter. The last segment is kept. w has two segments or more.
 */
size_t tw_window_surplus(const struct tw_segments *w);

/*
 * Whether to hold out the segment: one of four in sequence, chosen by a hash, so that no
 * period of the load can be in step with it.
 */
bool tw_window_holds_out(int64_t from_ms, int64_t to_ms);

/* Segments to choose from a window. */
struct tw_window_choice {
	bool held;
	int64_t after_ms; /* those that begin then or later */
};

/* Rows of the chosen segments. */
size_t tw_window_rows(const struct tw_segments *w, struct tw_window_choice c);

/*
 * A run: chosen segments first to last, each of which begins where the one before ends.
 * Find the first run from index *at on, and set *at behind it. False: there is no more.
 */
struct tw_window_run {
	size_t first, last;
};

bool tw_window_next_run(const struct tw_segments *w, struct tw_window_choice c,
			size_t *at, struct tw_window_run *out);

/*
 * Whether the segments after a time alone show the machine: their loads reach down to the
 * lowest tenth of the window's range, and up to its highest fifth. The range leaves out
 * the lowest and the highest tenth of the segments, which may be single spikes. False
 * without memory.
 */
bool tw_window_covers(const struct tw_segments *w, int64_t after_ms);

#endif /* TW_ONLINE_WINDOW_H */
