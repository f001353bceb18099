/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_EXPOSE_H
#define TW_COLLECTOR_EXPOSE_H

/*
 * The collector's state as metrics: our own names, and those of both generations of
 * Kepler where they are asked for.
 */

#include "collector/workloads/workload.h"
#include "lib/core/buf.h"
#include "lib/http/expo.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_collector;
struct tw_err;
struct tw_power_zone;

/* Between two ticks. */
struct tw_exposure {
	const struct tw_collector *c;
	struct tw_expo *e;
	uint64_t least[TW_LEVEL_COUNT]; /* what has less is not shown */
	bool by_energy;                 /* least is in uJ; else in ns of CPU time */
};

/* Fails for want of memory. */
int tw_exposure_begin(struct tw_exposure *x, const struct tw_collector *c,
		      struct tw_expo *e, struct tw_err *err);

/* The next workload of a level to show after w (NULL: the first); NULL at the end. */
const struct tw_workload *tw_exposure_next(const struct tw_exposure *x,
					   enum tw_level level,
					   const struct tw_workload *w);

/*
 * The same without what Kepler's labels do not tell apart: what was not seen one by one,
 * and a process whose pid and name one that has ended had. The earlier is told first, and
 * is gone at the next scrape: a counter that begins again then loses nothing.
 */
const struct tw_workload *tw_exposure_next_seen(const struct tw_exposure *x,
						enum tw_level level,
						const struct tw_workload *w);

/* A workload, and where the text of its labels is. */
struct tw_shown_one {
	const struct tw_workload *w;
	size_t at, len;
};

/*
 * What is shown, with the labels of each workload as text: made once for all families of
 * a level.
 */
struct tw_shown {
	struct tw_shown_one *of;
	size_t count, size;
	struct tw_buf labels;
};

/* The name of the meter of a kind, as long as it tells it; else NULL. Sensors of which it
 * is not known what they are have none: their energy is not given to workloads. */
const char *tw_exposure_source(const struct tw_exposure *x, enum tw_zone_kind kind);

/* Whether a zone is told, and of the meter that is believed of its kind. */
bool tw_exposure_believes(const struct tw_exposure *x, const struct tw_power_zone *z);

/* Whether a source, as it is told, is a model. */
bool tw_source_estimates(const char *source);

#define TW_LABELS_MAX 16

/* Labels that say which workload it is. */
struct tw_labels {
	struct tw_expo_label at[TW_LABELS_MAX];
	size_t count;
	char text[2][24];
};

void tw_labels_add(struct tw_labels *l, const char *name, const char *value);

/* As of process, cgroup, ... in our names. */
void tw_labels_of(struct tw_labels *l, const struct tw_workload *w);

/* ---- expose_series.c: many samples of the same workloads ---- */

typedef void tw_label_of(struct tw_labels *l, const struct tw_workload *w);

/* One more. Without memory the exposition fails, here and below. */
void tw_shown_add(struct tw_shown *s, const struct tw_exposure *x,
		  const struct tw_workload *w, tw_label_of *label);

/* All of a level, or those that were seen one by one. */
void tw_shown_add_level(struct tw_shown *s, const struct tw_exposure *x,
			enum tw_level level, bool seen, tw_label_of *label);

/* Labels as text, at the end of b, which lives as long. */
struct tw_expo_text tw_shown_text(const struct tw_exposure *x, struct tw_buf *b,
				  const struct tw_expo_label *labels, size_t count);

/* A sample of value / 10^decimals of s->of[i], whose labels are followed by more. */
void tw_shown_sample(const struct tw_exposure *x, const struct tw_shown *s, size_t i,
		     const struct tw_expo_text *more, uint64_t value, unsigned decimals);

void tw_shown_release(struct tw_shown *s);

/* ---- ---- */

/* id of the container (TW_LEVEL_CONTAINER) or VM that it is in; "" if none. */
const char *tw_owner_id(const struct tw_workload *w, enum tw_level level);

/* text, or "" if it is NULL. */
const char *tw_text(const char *text);

/* Of either mode; as in labels. */
const char *tw_mode_name(bool idle);

double tw_joules(uint64_t uj);
double tw_seconds(uint64_t ns);

void tw_expose_workloads(const struct tw_exposure *x);
void tw_expose_node(const struct tw_exposure *x);
void tw_expose_models(const struct tw_exposure *x);
void tw_expose_kepler(const struct tw_exposure *x);
void tw_expose_kepler_legacy(const struct tw_exposure *x);

#endif /* TW_COLLECTOR_EXPOSE_H */
