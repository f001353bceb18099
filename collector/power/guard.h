/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_GUARD_H
#define TW_COLLECTOR_GUARD_H

/*
 * Whether the readings of a meter may count.
 *
 * Physics is a check, over the last minute:
 *
 *   - the parts of a zone have no more power than the zone, within 5 % or 2 W;
 *   - the power of a board lies between what its supplies take and what they or its
 *     modules give and have, within 10 % or 10 W;
 *   - a package has at most 5 times, and outside of virtual machines at least 1 %, of its
 *     thermal design power;
 *   - counters of two packages, memories or GPUs that grow alike in each tick, while the
 *     load varies, are one counter.
 *
 * A zone that breaks a rule has the reason in `doubt`. If its own readings are false, or
 * repeat another zone's, it is also `rejected`: it must not count. Its readings are
 * judged on, as if it counted: after a reset of its firmware, or late in its boot, a
 * meter may report a part of its power for a while. A zone that breaks no rule for long
 * enough is accepted again.
 *
 * A zone of a dead meter is rejected without a doubt before: for two spans no zone of the
 * meter and of the zone's kind was read, and another meter reads the same. It counts
 * again once it is read for long enough: for one span, if no other meter is read.
 */

#include "collector/power/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A rule must be broken in two spans of this length in a row. */
#define TW_GUARD_SPAN_NS UINT64_C(30000000000)

/*
 * A rejected zone must break no rule in this many spans in a row: 2 minutes. Each further
 * rejection doubles it, up to 64 minutes, so a zone that changes all the time counts ever
 * more rarely.
 */
#define TW_GUARD_RETURN_SPANS 4U
#define TW_GUARD_DOUBLINGS 5U

struct tw_power_guard {
	uint64_t span_ns; /* of the current span */
	uint64_t ticks;
	bool doubted; /* the parts of a platform that counts have more power than it */
	bool virtual; /* a package is that of the host, or a part of it: QEMU's RAPL */
};

/*
 * Note the energies of a tick, and judge at the end of each span. Returns true if a zone
 * is newly doubted, rejected or accepted. tdp_w: of a processor, for packages that do not
 * have it; 0: unknown.
 */
bool tw_guard_tick(struct tw_power_guard *g, struct tw_power_zone *z, size_t count,
		   uint64_t tick_ns, double tdp_w);

/* Judge the current span now, as if the last one had broken the same rules. */
void tw_guard_judge(struct tw_power_guard *g, struct tw_power_zone *z, size_t count,
		    double tdp_w);

#endif /* TW_COLLECTOR_GUARD_H */
