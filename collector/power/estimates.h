/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ESTIMATES_H
#define TW_COLLECTOR_ESTIMATES_H

/*
 * Power by trained models of what the machine does, where there is no meter: one estimate
 * for each energy source that a model is given for or wanted of. The watts are of the
 * estimator's socket, if there is one and it answers in time, else of a model in this
 * process: a file's, or the last good one that the keeper
 * (collector/power/model_finder.h) has handed on. What fails leaves the model before it
 * in place.
 */

#include "collector/meters/meter.h"
#include "estimator/question.h"
#include "lib/core/strs.h"
#include "lib/field/energy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_estimates; /* opaque */
struct tw_node;
struct tw_power_model;
struct tw_workloads;

#define TW_ESTIMATES_MAX 8

/*
 * Power without load, which in a virtual machine is the host's, and shared with others:
 * left out, or scaled by the ratio of this machine's cores to those of the model's.
 * Automatic: left out in a virtual machine.
 */
enum tw_estimated_idle {
	TW_ESTIMATED_IDLE_AUTO,
	TW_ESTIMATED_IDLE_HIDE,
	TW_ESTIMATED_IDLE_SCALE,
};

/* "auto", "hide", "scale", NULL. */
extern const char *const tw_estimated_idle_names[];

/* Texts live as long as the estimates. */
struct tw_estimates_config {
	const struct tw_strs *paths;   /* models: directories or zips; NULL: none */
	const struct tw_strs *sources; /* energy sources to ask others for */
	const char *trainer, *filter;  /* of the estimator's socket; NULL: any */
	const char *estimator;         /* socket; NULL: none */
	unsigned wait_ms;              /* for the estimator, in a tick */
	int finder_fd;                 /* taken, even on failure; -1: none */
	enum tw_estimated_idle idle;
	const char *proc, *sys; /* roots */
};

/* An estimate as it is told. */
struct tw_estimate {
	const struct tw_energy_source *source;
	const struct tw_power_model *model; /* in this process; NULL: none yet */
	const char *origin, *from; /* of that: "file", "server", ..; path or URL */
	double core_ratio;         /* this machine's cores / the model's; 1: unknown */
	int64_t confirmed_s; /* when its origin last said so, of the epoch; 0: a file */
	uint64_t loads, failures; /* models taken, and refused; since the start */
	unsigned failing;         /* origins that were asked in vain the last time */
	const char *why;          /* of the last failure; "": none */

	bool told;         /* watts were, in the last tick */
	bool by_estimator; /* they were the socket's: worth says of what model */
	struct tw_worth worth;
	bool outside;                /* of what the model was trained on */
	uint64_t rows, rows_outside; /* estimates, and those that extrapolate */
	uint64_t ns, outside_ns;     /* how long they were for */
};

/* The socket's, since the start. */
struct tw_estimator_counts {
	uint64_t answers, failures;
};

/*
 * TW_NOTFOUND where no model is given and nobody is to be asked. *out is yours. Features
 * are those that node and workloads tell now; both live as long.
 */
int tw_estimates_open(const struct tw_estimates_config *c, const struct tw_node *node,
		      const struct tw_workloads *workloads, struct tw_estimates **out,
		      struct tw_err *err);
void tw_estimates_close(struct tw_estimates *e); /* NULL is fine */

/* Readable when the keeper has something to say: tw_estimates_hear(). -1: no keeper. */
int tw_estimates_fd(const struct tw_estimates *e);

/* Take what the keeper has said. False: it is gone, and the descriptor with it. */
bool tw_estimates_hear(struct tw_estimates *e);

/* Look everywhere again. */
void tw_estimates_reload(struct tw_estimates *e);

/* What they are of: all components of the sources, each once. */
const struct tw_zone *tw_estimates_zones(const struct tw_estimates *e, size_t *count);

/*
 * The watts of the last tick, for each zone. Allocates where the estimator is asked, or a
 * model has been replaced.
 */
void tw_estimates_read(struct tw_estimates *e, struct tw_reading *out);

size_t tw_estimates_count(const struct tw_estimates *e);
struct tw_estimate tw_estimates_at(const struct tw_estimates *e, size_t i);

/* The name of the model that it is by; "": none yet. */
const char *tw_estimate_model(const struct tw_estimate *s);

/* The estimate that a zone is of. */
struct tw_estimate tw_estimates_of_zone(const struct tw_estimates *e,
					const struct tw_zone *z);

/* Its mean absolute error in W, as its validation says; NaN: not known, or no model. */
double tw_estimates_mae(const struct tw_estimates *e, const struct tw_zone *z);

/* NULL: no estimator is asked. */
const struct tw_estimator_counts *tw_estimates_estimator(const struct tw_estimates *e);

/* Whether power without load is left out. */
bool tw_estimates_hide_idle(const struct tw_estimates *e);

#endif /* TW_COLLECTOR_ESTIMATES_H */
