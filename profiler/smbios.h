/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_SMBIOS_H
#define TW_PROFILER_SMBIOS_H

/*
 * What the firmware's tables (DMI) call a processor: the structure of type 4 of DMTF's
 * SMBIOS specification, as /sys/firmware/dmi/entries/4-0/raw has it.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_smbios_processor {
	/* Within the data parsed; not NUL-terminated. Length 0 where it is not told. */
	const char *vendor, *version;
	size_t vendor_len, version_len;
};

/* False if data[0..len) is no such structure. */
bool tw_smbios_processor_parse(const char *data, size_t len,
			       struct tw_smbios_processor *out);

#endif /* TW_PROFILER_SMBIOS_H */
