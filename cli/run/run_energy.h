/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_RUN_ENERGY_H
#define TW_CLI_RUN_ENERGY_H

/*
 * The energy of a run. A running tw-collector has the energy of the command. Without a
 * collector this process reads the meters, which have the energy of the whole machine.
 */

#include "cli/run/run_tariff.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_roots;
struct tw_run_child;

/* NaN: not known. */
struct tw_run_figures {
	double joules;         /* of the command above idle, or of the machine */
	double peak_w;         /* the largest mean power of a tick */
	double idle_joules;    /* the machine's without load, in the time of the run */
	double error_joules;   /* +- of an estimate: the model's mean error */
	double machine_joules; /* of a collector's machine so far, of zones that add up */
	double cpu_s;          /* as the collector counts it */
	double unseen; /* share of CPU time of processes that no tick saw; its joules are
			  in proportion */
	/* g of CO2e, and cost in the currency of --price, of these joules. */
	double tariff[TW_TARIFF_COUNT];
	char source[128]; /* "rapl-sysfs"; several with commas */
	bool estimated, simulated;
	bool with_idle; /* joules have idle power, which the collector has not learned yet
			 */
	bool machine;   /* joules are of the whole machine */
	bool processes; /* the collector's processes were added, for lack of a cgroup */
	char why[160];  /* why joules are not known; "": they are */
};

/* ---- cli/run/run_collector.c ---- */

struct tw_run_collector; /* opaque */

/* TW_IO: no collector answers, or it does not know the machine's power. *out is yours. */
int tw_run_collector_open(const char *url, struct tw_run_collector **out,
			  struct tw_err *err);
void tw_run_collector_close(struct tw_run_collector *c); /* NULL is fine */

/* Time between two of its ticks. */
uint64_t tw_run_collector_tick_ms(const struct tw_run_collector *c);

/*
 * Call it before tw_run_child_make(): a process that the collector knows by then is not
 * part of the run.
 */
int tw_run_collector_mark(struct tw_run_collector *c, struct tw_err *err);

/*
 * Call it after tw_run_child_make(), while the command waits. Returns after a tick that
 * sees the command, so that even the shortest command has a row.
 */
int tw_run_collector_begin(struct tw_run_collector *c, struct tw_err *err);

/* The tariffs of its last answer. */
const struct tw_run_rates *tw_run_collector_rates(const struct tw_run_collector *c);

/* Call it once in a tick while the command runs, for the peak. Ignores failures. */
void tw_run_collector_look(struct tw_run_collector *c, const struct tw_run_child *child);

/* After the command: waits for the tick that has all its energy. */
int tw_run_collector_end(struct tw_run_collector *c, const struct tw_run_child *child,
			 struct tw_run_figures *out, struct tw_err *err);

/*
 * Wait for a tick that begins after now, and read joules and CPU time of each child, by
 * its pids: processes that began after tw_run_collector_mark(). out[count] is the
 * machine's. *seconds is the time of the tick.
 */
int tw_run_collector_read(struct tw_run_collector *c, const struct tw_run_child *child,
			  size_t count, struct tw_run_figures *out, double *seconds,
			  struct tw_err *err);

/* ---- cli/run/run_meter.c ---- */

struct tw_run_meter; /* opaque */

/* Fails if no meter of the machine can be read. *out is yours. */
int tw_run_meter_open(const struct tw_roots *roots, struct tw_run_meter **out,
		      struct tw_err *err);
void tw_run_meter_close(struct tw_run_meter *m); /* NULL is fine */

/* The first look of a run begins it; call it when the command begins and ends, too. */
void tw_run_meter_begin(struct tw_run_meter *m);
void tw_run_meter_look(struct tw_run_meter *m);
void tw_run_meter_end(struct tw_run_meter *m, struct tw_run_figures *out);

#endif /* TW_CLI_RUN_ENERGY_H */
