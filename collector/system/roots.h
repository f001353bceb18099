/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ROOTS_H
#define TW_COLLECTOR_ROOTS_H

/*
 * Where the machine's own files are. Everything that the collector reads is below one of
 * these, so that a test can point it at a recorded tree, and a container at its host's.
 * Without a '/' at the end.
 */
struct tw_roots {
	const char *proc;     /* "/proc" */
	const char *sys;      /* "/sys" */
	const char *dev;      /* "/dev": MSRs, IPMI */
	const char *powercap; /* in place of "/sys/class/powercap"; NULL: not */
};

#endif /* TW_COLLECTOR_ROOTS_H */
