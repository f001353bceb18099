/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/smbios.h"

#include <string.h>

/* Byte offsets: SMBIOS 3.x, 7.5 "Processor Information (Type 4)". */
#define TYPE 4
#define AT_TYPE 0x00
#define AT_LENGTH 0x01
#define AT_VENDOR 0x07
#define AT_VERSION 0x10

/* The nth string behind the structure, counted from 1; each ends with a NUL. */
static const char *find_string(const char *at, const char *end, unsigned n, size_t *len)
{
	*len = 0;
	while (n > 0 && at < end && *at != '\0') {
		const char *stop = memchr(at, '\0', (size_t)(end - at));

		if (stop == NULL)
			return at;
		if (--n == 0) {
			*len = (size_t)(stop - at);
			return at;
		}
		at = stop + 1;
	}
	return at;
}

bool tw_smbios_processor_parse(const char *data, size_t len,
			       struct tw_smbios_processor *out)
{
	const char *end = data + len;
	size_t length;

	if (len <= AT_VERSION || data[AT_TYPE] != TYPE)
		return false;
	length = (unsigned char)data[AT_LENGTH];
	if (length <= AT_VERSION || length > len)
		return false;
	out->vendor = find_string(data + length, end, (unsigned char)data[AT_VENDOR],
				  &out->vendor_len);
	out->version = find_string(data + length, end, (unsigned char)data[AT_VERSION],
				   &out->version_len);
	return true;
}
