/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_NAME_H
#define TW_PROFILER_NAME_H

/*
 * Normalised names of processors and vendors, by which a model database distinguishes
 * machines. For server processors they equal the names in published databases.
 *
 * Brand and vendor texts are untrusted bytes: they need no NUL, and a NUL does not end
 * them.
 */

#include <stddef.h>

/* Size of a name with its NUL. */
#define TW_SPEC_TEXT 64

/*
 * "Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz" becomes "intel_xeon_e5_2686v4", "AMD EPYC
 * 9654 96-Core Processor" becomes "amd_epyc_9654". *out is "" if the text has no name. A
 * name is cut before the first word that does not fit.
 */
void tw_processor_name(const char *brand, size_t len, char out[TW_SPEC_TEXT]);

/*
 * Remove the number of cores at the end of a name: "amd_epyc_9654_96_core", the form of
 * Kepler and kepler-model-server, becomes "amd_epyc_9654".
 */
void tw_processor_drop_cores(char *name);

/* The first word: "Amazon EC2" becomes "amazon", "Hewlett-Packard" "hewlett_packard". */
void tw_vendor_name(const char *vendor, size_t len, char out[TW_SPEC_TEXT]);

#endif /* TW_PROFILER_NAME_H */
