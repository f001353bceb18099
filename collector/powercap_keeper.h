/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_POWERCAP_KEEPER_H
#define TW_COLLECTOR_POWERCAP_KEEPER_H

/*
 * A process that outlives the collector: it retires the counters of the powercap trees
 * (powercap.h) once the collector is killed, or has had no tick for a while. A counter
 * that stands still would be read as a measured 0 W.
 *
 * It does nothing else, and has no rights but those of the user who writes the trees.
 */

#include "collector/system/aside.h"
#include "collector/system/privilege.h"

struct tw_err;

/* The counter of a zone, and its name while no collector writes it. */
#define TW_POWERCAP_COUNTER "energy_uj"
#define TW_POWERCAP_LAST "last_uj"

struct tw_powercap_keeper_config {
	const char *node_dir, *vm_dir; /* as in struct tw_powercap; NULL: none */
	struct tw_privilege privilege;
	int patience_ms; /* without a tick */
};

/*
 * Start the keeper, and retire counters that an earlier collector has left. Does nothing
 * if there are no trees. tw_aside_close() ends the keeper, which then retires the
 * counters that are left; call it after a failure, too.
 */
int tw_powercap_keeper_start(const struct tw_powercap_keeper_config *c,
			     struct tw_aside *out, struct tw_err *err);

/* The collector has ticked. */
void tw_powercap_keeper_beat(const struct tw_aside *k);

/* Rename the counter of a zone, so that no reader takes it for 0 W. */
void tw_powercap_retire_zone(const char *zone_dir);

#endif /* TW_COLLECTOR_POWERCAP_KEEPER_H */
