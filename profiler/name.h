/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_NAME_H
#define TW_PROFILER_NAME_H

/*
 * The names by which machines are told apart in a model database, from what the
 * hardware calls itself. Server processors have the names that published databases use.
 * Brand and vendor texts are foreign bytes: no NUL is needed, none ends them.
 */

#include "profiler/spec.h"

#include <stddef.h>

/*
 * "Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz" is "intel_xeon_e5_2686v4",
 * "AMD EPYC 9654 96-Core Processor" is "amd_epyc_9654". "" where the text names nothing.
 * Words that do not fit into TW_SPEC_TEXT are left out, from the first such on.
 */
void tw_processor_name(const char *brand, size_t len, char out[TW_SPEC_TEXT]);

/*
 * Cut the number of cores off the end of a name: "amd_epyc_9654_96_core", as Kepler and
 * kepler-model-server have it, becomes "amd_epyc_9654".
 */
void tw_processor_drop_cores(char *name);

/* The first word: "Amazon EC2" is "amazon", "Hewlett-Packard" "hewlett_packard". */
void tw_vendor_name(const char *vendor, size_t len, char out[TW_SPEC_TEXT]);

#endif /* TW_PROFILER_NAME_H */
