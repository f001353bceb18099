/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_ARM_H
#define TW_PROFILER_ARM_H

/*
 * Names for the numbers by which Arm processors tell who made them and what they are (the
 * register MIDR_EL1, "CPU implementer" and "CPU part" of /proc/cpuinfo).
 */

#include <stdint.h>

/* "arm", "ampere"; NULL for one that is not in the table. */
const char *tw_arm_vendor(uint32_t implementer);

/* "Neoverse-N1"; NULL for one that is not in the table. */
const char *tw_arm_part(uint32_t implementer, uint32_t part);

#endif /* TW_PROFILER_ARM_H */
