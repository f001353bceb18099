/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ONLINE_GLITCHES_H
#define TW_ONLINE_GLITCHES_H

/*
 * Segments whose power no load explains: a wrong step of the meter, a counter that
 * jumped, a side that stood still. A segment, and a run of them between two held-out
 * ones, has too few rows to be cleaned (trainer/extract/clean_rows.h) by itself.
 *
 * The mean power of the segments is compared with the line through their mean loads, the
 * median of the slopes between them. One or two segments in sequence that are off it by
 * six usual deviations, and by 2 % of the median power, are a glitch; so are any
 * number without any work but with the power of a load. A segment beside them is, too, if
 * it is off by half of that. The last two segments are never marked: a machine whose law
 * has changed is to be learned. If more than a fifth is off, the line is not trusted, and
 * no segment is marked.
 */

struct tw_err;
struct tw_segments;

/* Mark the glitches of a window: neither trained on nor judged by. */
int tw_glitches_mark(struct tw_segments *w, struct tw_err *err);

#endif /* TW_ONLINE_GLITCHES_H */
