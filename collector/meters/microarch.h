/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_MICROARCH_H
#define TW_COLLECTOR_MICROARCH_H

/* The names of microarchitectures in Kepler's label cpu_architecture. */

struct tw_processor;

/* "Haswell", "Zen 3"; NULL: unknown. */
const char *tw_microarch_name(const struct tw_processor *p);

#endif /* TW_COLLECTOR_MICROARCH_H */
