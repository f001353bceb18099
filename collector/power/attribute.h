/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ATTRIBUTE_H
#define TW_COLLECTOR_ATTRIBUTE_H

/*
 * Attribution of the machine's energy to its workloads, in whole microjoules that add up
 * exactly.
 *
 * Dynamic energy (by load) is divided by the best usage that the machine counts for a
 * kind of zone: cycles and instructions for package and core, last level cache misses for
 * dram, else CPU time. That is the plain rule. Where it is known which package each slice
 * ran on, the energy of a package is divided among those only, and by learned weights
 * (causes.h) once these are ready. Idle energy is divided by CPU time, or by the
 * requested CPU shares of the cgroups that ran; never by the number of processes. GPU
 * energy goes to the processes that used the GPU while it was measured; the rest stays
 * with the machine.
 */

#include "collector/meters/zone.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_package_use;
struct tw_slice;
struct tw_workloads;
struct tw_attribution; /* opaque */

enum tw_idle_by { TW_IDLE_BY_USE, TW_IDLE_BY_SHARE };

/* "use", "share", NULL. */
extern const char *const tw_idle_by_names[];

/* Since the start. given + waiting is all energy so far. */
struct tw_attribution_stats {
	struct tw_charge given;
	/* The part of it that is power of the last tick. */
	struct tw_charge ticked;
	/*
	 * Kept for the next tick in which something runs; GPU energy stays here for good.
	 */
	struct tw_charge waiting;
	uint64_t errors; /* divisions whose parts did not add up: always 0 */
};

int tw_attribution_open(enum tw_idle_by idle_by, struct tw_attribution **out,
			struct tw_err *err);
void tw_attribution_close(struct tw_attribution *a); /* NULL is fine */

/*
 * Attribute the energy of the last tick to the slices of that tick. package: its part of
 * each package, in the order of tw_workloads_schedule(); NULL: not known. If nothing ran
 * or memory is short, the energy waits for the next tick (GPU energy is not attributed
 * later). Allocates only if more processes ran than ever before.
 */
int tw_attribute(struct tw_attribution *a, struct tw_workloads *t,
		 const struct tw_charge *energy, const struct tw_package_energy *package,
		 uint64_t over_ns, struct tw_err *err);

/*
 * Set the emissions and costs of energy of these kinds from now on: tariff_pico of struct
 * tw_charge for a microjoule. At first it is 0.
 */
void tw_attribution_set_tariff(struct tw_attribution *a, unsigned kinds,
			       const double pico_per_uj[TW_TARIFF_COUNT]);

/* Energy to divide, and the workloads that share it. */
struct tw_dividend {
	const struct tw_charge *energy; /* of the machine */
	uint64_t over_ns;
	const struct tw_slice *slice;
	size_t count;
	/*
	 * Where packages are told apart, else NULL: what slice i used on package p, at
	 * i * packages + p; the part of the energy that each package had.
	 */
	size_t packages;
	const struct tw_package_use *use;
	const struct tw_package_energy *package;
};

/*
 * Divide energy among slices without charging it to workloads. *out has the charge of
 * each slice until the next call; NULL: nothing ran, or memory is short, and the energy
 * waits.
 */
int tw_attribution_divide(struct tw_attribution *a, const struct tw_dividend *d,
			  const struct tw_charge **out, struct tw_err *err);

/*
 * The rule that divided dynamic energy of a kind, in the last tick that had any:
 * "learned" weights, the plain rule by "package", or "plain".
 */
const char *tw_attribution_rule(const struct tw_attribution *a, enum tw_zone_kind kind);

const struct tw_attribution_stats *tw_attribution_stats(const struct tw_attribution *a);

#endif /* TW_COLLECTOR_ATTRIBUTE_H */
