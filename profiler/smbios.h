/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_SMBIOS_H
#define TW_PROFILER_SMBIOS_H

/*
 * The processor's names in the firmware's SMBIOS (DMI) tables: the structure of type 4 of
 * DMTF's SMBIOS specification, which /sys/firmware/dmi/entries/4-0/raw contains.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_smbios_processor {
	/* Point into the parsed data; not NUL-terminated. Length 0 if missing. */
	const char *vendor, *version;
	size_t vendor_len, version_len;
};

/* False unless data[0..len) is such a structure. */
bool tw_smbios_processor_parse(const char *data, size_t len,
			       struct tw_smbios_processor *out);

#endif /* TW_PROFILER_SMBIOS_H */
