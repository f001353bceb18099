/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ONLINE_WINDOW_H
#define TW_ONLINE_WINDOW_H

/*
 * A window of segments, and the choice of those that it keeps.
 *
 * A bounded window of the newest data would hold hours of the state that is most usual,
 * and lose rest, full load and unusual mixes. So a full window forgets the older of the
 * two segments that are most alike: their features, divided by the largest of the window,
 * are nearest. Power takes no part, or a machine whose law has changed would keep both
 * laws for ever.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_feature;
struct tw_prom;

/* Features of a summary. */
#define TW_SEGMENT_FEATURES_MAX 16

/*
 * A segment: the samples of one machine in one interval, and a summary that tells how
 * usual its state of the machine is. A window is the list of a machine's segments.
 */
struct tw_segment {
	int64_t id;             /* in the store; 0: not stored */
	int64_t from_ms, to_ms; /* its samples are later than from_ms, up to to_ms */
	size_t rows;            /* rows of power */
	size_t bytes;           /* in the store */
	bool held;              /* held out: judges models, and does not train them */
	bool glitch;            /* wrong power or work (glitches.h): does neither */
	/* The mean of each feature over the rows. */
	const struct tw_feature *feature[TW_SEGMENT_FEATURES_MAX];
	double mean[TW_SEGMENT_FEATURES_MAX];
	size_t features;
	double load_low, load_high; /* range of the main feature */
	double watts; /* mean power of the first component; NAN: not known */
};

/* In order of time. All zero bytes is empty. */
struct tw_segments {
	struct tw_segment *at;
	size_t count, size;
};

int tw_segments_add(struct tw_segments *l, const struct tw_segment *s,
		    struct tw_err *err);
void tw_segments_release(struct tw_segments *l);

/*
 * Summarize the samples of a machine: rows, means and load of *s. TW_NOTFOUND if the
 * response has no measured energy source with a feature group, or no row.
 */
int tw_segment_summarize(const struct tw_prom *p, struct tw_segment *s,
			 struct tw_err *err);

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
 * A run: segments first to last, held out or not, that begin after_ms or later and are no
 * glitches, each of which begins where the one before ends. Find the first run from index
 * *at on, and set *at behind it. False: there is no more.
 */
struct tw_window_run {
	size_t first, last;
};

bool tw_window_next_run(const struct tw_segments *w, int64_t after_ms, size_t *at,
			struct tw_window_run *out);

/*
 * Whether the segments after a time alone show the machine: their loads reach down to the
 * lowest tenth of the window's range, and up to its highest fifth. The range leaves out
 * the lowest and the highest tenth of the segments, which may be single spikes. False
 * without memory.
 */
bool tw_window_covers(const struct tw_segments *w, int64_t after_ms);

#endif /* TW_ONLINE_WINDOW_H */
