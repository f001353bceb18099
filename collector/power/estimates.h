/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ESTIMATES_H
#define TW_COLLECTOR_ESTIMATES_H

/*
 * Power estimates by trained models, for machines without a meter: one estimate for each
 * energy source with a model.
 *
 * A model is a file, or the last good one from the model finder
 * (collector/power/model_finder.h). A failed reload keeps the old model.
 *
 * The meter "model" reads them. Once it retires, there are no models and no zones; what
 * was returned stays.
 *
 * Models of AbsPower go first. Where there is none for a source, a model of DynPower
 * estimates the power above idle: the sum over all workloads.
 */

#include "collector/meters/meter.h"
#include "collector/power/source_model.h"
#include "lib/core/strs.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_estimates; /* opaque */
struct tw_node;
struct tw_workloads;

#define TW_ESTIMATES_MAX 8

/*
 * How to treat idle power, which in a virtual machine belongs to the host and is shared:
 * hide it, or scale it by the ratio of this machine's cores to the model's. AUTO hides it
 * in a virtual machine.
 */
enum tw_estimated_idle {
	TW_ESTIMATED_IDLE_AUTO,
	TW_ESTIMATED_IDLE_HIDE,
	TW_ESTIMATED_IDLE_SCALE,
};

/* "auto", "hide", "scale", NULL. */
extern const char *const tw_estimated_idle_names[];

/* Texts outlive the estimates. */
struct tw_estimates_config {
	const struct tw_strs *paths;   /* models: directories or zips; NULL: none */
	const struct tw_strs *sources; /* energy sources to find models for */
	int finder_fd;                 /* taken, even on failure; -1: none */
	bool last_resort; /* only where no meter measures the machine or its CPUs */
	enum tw_estimated_idle idle;
	const char *proc, *sys; /* roots */
};

/*
 * TW_NOTFOUND if there is no model and no source of models. The features are those that
 * node and workloads provide now; both outlive the estimates. *out is yours.
 */
int tw_estimates_open(const struct tw_estimates_config *c, const struct tw_node *node,
		      const struct tw_workloads *workloads, struct tw_estimates **out,
		      struct tw_err *err);
void tw_estimates_close(struct tw_estimates *e); /* NULL is fine */

/* Readable when the finder has a message: tw_estimates_hear(). -1: no finder. */
int tw_estimates_fd(const struct tw_estimates *e);

/*
 * Process some of the finder's messages. False: the finder has exited and its descriptor
 * is closed.
 */
bool tw_estimates_hear(struct tw_estimates *e);

/* Reload all models: from files, and through the finder. */
void tw_estimates_reload(struct tw_estimates *e);

/* The zones: all components of the sources, each once. */
const struct tw_zone *tw_estimates_zones(const struct tw_estimates *e, size_t *count);

/* Estimate the watts of the last tick for each zone. Allocates if a model was replaced.
 */
void tw_estimates_read(struct tw_estimates *e, struct tw_reading *out);

size_t tw_estimates_count(const struct tw_estimates *e);
/* It lives as long as the estimates. */
const struct tw_estimate *tw_estimates_at(const struct tw_estimates *e, size_t i);

/* The name of the model; "": none yet. */
const char *tw_estimate_model(const struct tw_estimate *s);

/* The estimate of a zone. */
const struct tw_estimate *tw_estimates_of_zone(const struct tw_estimates *e,
					       const struct tw_zone *z);

/* Mean absolute error of its model in W, from validation; NaN: unknown. */
double tw_estimates_mae(const struct tw_estimates *e, const struct tw_zone *z);

/* True if the estimate has no idle power: it is hidden, or the model knows none. */
bool tw_estimates_hide_idle(const struct tw_estimates *e, const struct tw_estimate *s);

#endif /* TW_COLLECTOR_ESTIMATES_H */
