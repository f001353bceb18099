/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_DISCOVER_H
#define TW_PROFILER_DISCOVER_H

/*
 * What this machine is, or the one whose /proc and /sys were recorded.
 */

struct tw_err;
struct tw_machine_spec;

/*
 * The spec by the files below proc and sys (docs/profiler.md). What they do not tell
 * stays unknown; a file that is malformed is a failure. TW_NOTFOUND if they tell nothing.
 */
int tw_machine_spec_discover(const char *proc, const char *sys,
			     struct tw_machine_spec *out, struct tw_err *err);

#endif /* TW_PROFILER_DISCOVER_H */
