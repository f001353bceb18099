/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_EXPOSE_H
#define TW_COLLECTOR_EXPOSE_H

/*
 * The collector's state as metrics, under our own names and optionally under those of
 * both generations of Kepler.
 */

#include "collector/workloads/workload.h"
#include "lib/core/buf.h"
#include "lib/http/server/expo.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_agents;
struct tw_collector;
struct tw_err;
struct tw_http_reply;
struct tw_power_zone;

/* An exposition. The collector makes it between two ticks. */
struct tw_exposure {
	const struct tw_collector *c;
	struct tw_expo *e;
	uint64_t least[TW_LEVEL_COUNT]; /* threshold of each level: workloads below it are
					   not exported */
	unsigned sum;                   /* tw_power_sum_kinds() */
	bool by_energy;                 /* least is in uJ; else in ns of CPU time */
	bool scrape;                    /* tw_exposure_choose() was called */
};

/* After a tick: start a child for each helper that waits for the text of /metrics. */
void tw_metrics_push(struct tw_collector *c);

/* True, and the reply is an error, if the collector only sums agents. */
bool tw_expose_no_machine(const struct tw_collector *c, struct tw_http_reply *r);

/* Fails only if out of memory. */
int tw_exposure_begin(struct tw_exposure *x, const struct tw_collector *c,
		      struct tw_expo *e, struct tw_err *err);

/*
 * Begin a scrape: decide which processes and cgroups have series of their own
 * (tw_workloads_choose()). Pass the collector that tw_exposure_begin() got.
 */
void tw_exposure_choose(struct tw_exposure *x, struct tw_collector *c);

/* The next workload of a level to export after w (NULL: the first); NULL at the end. */
const struct tw_workload *tw_exposure_next(const struct tw_exposure *x,
					   enum tw_level level,
					   const struct tw_workload *w);

/* A workload and the place of its label text. */
struct tw_shown_one {
	const struct tw_workload *w;
	size_t at, len;
};

/*
 * The exported workloads of a level with their labels as text, made once for all
 * families.
 */
struct tw_shown {
	struct tw_shown_one *of;
	size_t count, size;
	struct tw_buf labels;
};

/*
 * The name of the meter of a kind while its zones are readable; else NULL. Always NULL
 * for sensors of unknown coverage: workloads get none of their energy.
 */
const char *tw_exposure_source(const struct tw_exposure *x, enum tw_zone_kind kind);

/* True if a zone was read, and counts. */
bool tw_exposure_believes(const struct tw_power_zone *z);

/* True if the meter that counts for the kind has estimates, here or on the host. */
bool tw_exposure_estimates(const struct tw_exposure *x, enum tw_zone_kind kind);

/* The labels of our own metrics for a workload, or for "other" of a level. */
void tw_labels_of(struct tw_labels *l, const struct tw_workload *w);

/* ---- many samples of the same workloads ---- */

typedef void tw_label_of(struct tw_labels *l, const struct tw_workload *w);

/*
 * Append a workload. If out of memory, the exposition fails; so do the functions below.
 */
void tw_shown_add(struct tw_shown *s, const struct tw_exposure *x,
		  const struct tw_workload *w, tw_label_of *label);

/*
 * Append all workloads of a level but "other"; seen: without those that Kepler's labels
 * cannot distinguish.
 */
void tw_shown_add_level(struct tw_shown *s, const struct tw_exposure *x,
			enum tw_level level, bool seen, tw_label_of *label);

/* A number of workloads, in units of 1 / 10^decimals. */
struct tw_figure {
	/* False: the workload has no sample. */
	bool (*of)(const struct tw_figure *f, const struct tw_exposure *x,
		   const struct tw_shown_one *one, tw_u128 *out);
	unsigned decimals;
	enum tw_zone_kind kind;
	bool idle;
	enum tw_counter counter;
	enum tw_tariff tariff;
	const void *arg;
};

bool tw_figure_cpu_ns(const struct tw_figure *f, const struct tw_exposure *x,
		      const struct tw_shown_one *one, tw_u128 *out);
bool tw_figure_count(const struct tw_figure *f, const struct tw_exposure *x,
		     const struct tw_shown_one *one, tw_u128 *out);
/* Energy of f->kind, f->idle or dynamic, in uJ. */
bool tw_figure_uj(const struct tw_figure *f, const struct tw_exposure *x,
		  const struct tw_shown_one *one, tw_u128 *out);

/*
 * Write a sample for each of s, with the labels appended: `more`, or `ended` for
 * workloads that ended. Each may be NULL.
 */
void tw_shown_samples(const struct tw_exposure *x, const struct tw_shown *s,
		      const struct tw_labels *more, const struct tw_labels *ended,
		      const struct tw_figure *f);

void tw_shown_release(struct tw_shown *s);

/* ---- ---- */

/* The id of the container (TW_LEVEL_CONTAINER) or VM that contains w; "" if none. */
const char *tw_owner_id(const struct tw_workload *w, enum tw_level level);

/* text, or "" if it is NULL. */
const char *tw_text(const char *text);

/* "idle" or "dynamic", as in labels. */
const char *tw_mode_name(bool idle);

/* Members of answers, as those of lib/json/writer.h. */

/* The names of kinds, bits 1 << kind, as an array. */
void tw_json_add_kinds(struct tw_buf *b, const char *key, unsigned kinds);
/* Append watts, rounded to 1 mW. */
void tw_json_add_watts(struct tw_buf *b, const char *key, double w);
/* Append exact joules: a double would round microjoules from 4.5 GJ on. */
void tw_json_add_joules(struct tw_buf *b, const char *key, uint64_t uj);

double tw_joules(uint64_t uj);
double tw_seconds(uint64_t ns);

/* The families of each module, as in tw_expo_list(). */
extern const struct tw_expo_table tw_workload_families[], tw_node_families[],
	tw_estimate_families[], tw_agent_families[], tw_kepler_families[],
	tw_kepler_legacy_families[];

void tw_expose_workloads(const struct tw_exposure *x);
void tw_expose_node(const struct tw_exposure *x);
void tw_expose_models(const struct tw_exposure *x);
/* The sums of agents, and their health. */
void tw_expose_agents(struct tw_agents *a, struct tw_expo *e);

void tw_expose_kepler(const struct tw_exposure *x);
void tw_expose_kepler_legacy(const struct tw_exposure *x);

#endif /* TW_COLLECTOR_EXPOSE_H */
