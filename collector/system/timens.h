/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_TIMENS_H
#define TW_COLLECTOR_TIMENS_H

/*
 * The time namespace of this process (Linux 5.6). Its clocks, and the start times in
 * /proc/PID/stat, differ by an offset from those of the kernel, which BPF programs read.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_clock_offsets {
	int64_t boot_ns, monotonic_ns; /* to add to the kernel's times */
};

/* Parse a text like /proc/self/timens_offsets. A malformed line leaves 0. */
struct tw_clock_offsets tw_clock_offsets_parse(const char *text);

/* Those of this process; 0 on older kernels. */
struct tw_clock_offsets tw_clock_offsets(void);

#endif /* TW_COLLECTOR_TIMENS_H */
