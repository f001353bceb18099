/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "profiler/cpu_identity.h"
#include "profiler/cpuinfo.h"
#include "profiler/name.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A name is terminated and valid within JSON text and paths without escapes. */
static void check_name(const char name[TW_SPEC_TEXT])
{
	if (memchr(name, '\0', TW_SPEC_TEXT) == NULL)
		abort();
	if (name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.+")] != '\0')
		abort();
}

static void check_span(const char *data, size_t size, const char *at, size_t len)
{
	if (at < data || at > data + size || len > (size_t)(data + size - at))
		abort();
}

static void check_identity(const struct tw_cpu_identity *id)
{
	const char *const texts[] = { id->vendor, id->architecture, id->generation,
				      id->memory, id->low_power };

	check_name(id->processor);
	for (size_t i = 0; i < TW_COUNT(texts); i++)
		if (texts[i] == NULL)
			abort();
	if (id->nominal_mhz > 10000 || id->turbo_mhz > 10000)
		abort();
}

/* Property: any input gives valid names, and no read is out of bounds. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct tw_smbios_processor p;
	struct tw_cpu_identity id;
	struct tw_cpuinfo info;
	char name[TW_SPEC_TEXT];

	tw_processor_name(text, size, name);
	check_name(name);
	tw_vendor_name(text, size, name);
	check_name(name);
	tw_cpuinfo_parse(text, size, &info);
	check_name(info.vendor);
	check_name(info.processor);
	if (info.frequency_mhz > 100000)
		abort();
	tw_cpu_identify(text, size, &info.signature, &id);
	check_identity(&id);
	tw_cpu_identify(info.brand, strnlen(info.brand, sizeof(info.brand)), NULL, &id);
	check_identity(&id);
	if (tw_smbios_processor_parse(text, size, &p)) {
		check_span(text, size, p.vendor, p.vendor_len);
		check_span(text, size, p.version, p.version_len);
	}
	return 0;
}
