/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ROOTS_H
#define TW_COLLECTOR_ROOTS_H

/*
 * The directories below which the collector reads all files of the machine. Tests set
 * them to a recorded tree, containers to their host's. No trailing '/'.
 */
struct tw_roots {
	const char *proc;     /* "/proc" */
	const char *sys;      /* "/sys" */
	const char *dev;      /* "/dev": MSRs, IPMI */
	const char *powercap; /* replaces "/sys/class/powercap"; NULL: does not */
};

#endif /* TW_COLLECTOR_ROOTS_H */
