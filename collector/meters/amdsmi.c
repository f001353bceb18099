/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/meters/amdsmi.h"

#include "collector/meters/library.h"
#include "lib/core/array.h"
#include "lib/core/err.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* Members that a card lacks have all bits set, of 16 bits in older versions. */
#define UNKNOWN_POWER 0xffff
#define ENERGY_MAX_UJ 1.8e19

/* The first version whose amdsmi_power_info_t begins with another number of 8 bytes. */
#define VERSION_WIDE 25

static const struct tw_symbol symbols[] = {
#define NEEDED(name, member) TW_SYMBOL(struct tw_amdsmi, member, name, true)
#define WANTED(name, member) TW_SYMBOL(struct tw_amdsmi, member, name, false)
	NEEDED("amdsmi_init", init),
	NEEDED("amdsmi_shut_down", shutdown),
	NEEDED("amdsmi_status_code_to_string", error_text),
	NEEDED("amdsmi_get_lib_version", version_of),
	NEEDED("amdsmi_get_socket_handles", sockets),
	NEEDED("amdsmi_get_processor_handles", processors),
	NEEDED("amdsmi_get_processor_type", type),
	NEEDED("amdsmi_get_energy_count", energy),
	NEEDED("amdsmi_get_power_info", power),
	WANTED("amdsmi_get_gpu_device_bdf", bdf),
	WANTED("amdsmi_get_gpu_device_uuid", uuid),
	WANTED("amdsmi_get_gpu_asic_info", asic),
	WANTED("amdsmi_get_gpu_activity", usage),
};

/* The name of a development package, then those of ABIs, then ROCm's own folder. */
static const char *const usual[] = { "libamd_smi.so", "libamd_smi.so.26",
				     "libamd_smi.so.25", "libamd_smi.so.24",
				     "/opt/rocm/lib/libamd_smi.so" };

static int load(struct tw_amdsmi *a, const char *file, struct tw_err *err)
{
	if (file != NULL)
		return tw_library_open(file, symbols, TW_COUNT(symbols), a, &a->library,
				       err);
	for (size_t i = 0; i < TW_COUNT(usual); i++) {
		/* Without the symbols of a library that lacked some, and is closed. */
		*a = (struct tw_amdsmi){ 0 };
		if (tw_library_open(usual[i], symbols, TW_COUNT(symbols), a, &a->library,
				    err) == 0)
			return 0;
	}
	return tw_fail(err, TW_NOTFOUND, "no %s", usual[0]);
}

static int initialise(struct tw_amdsmi *a, struct tw_err *err)
{
	uint32_t version[TW_AMDSMI_ROOM / sizeof(uint32_t)] = { 0 };
	unsigned code = a->init(TW_AMDSMI_GPUS);

	if (code != TW_AMDSMI_OK)
		return tw_amdsmi_fail(a, code, "initialisation", err);
	code = a->version_of(version);
	if (code == TW_AMDSMI_OK) {
		a->version = version[0];
		return 0;
	}
	a->shutdown();
	return tw_amdsmi_fail(a, code, "version", err);
}

int tw_amdsmi_open(const char *file, struct tw_amdsmi **out, struct tw_err *err)
{
	struct tw_amdsmi *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return tw_fail(err, TW_NOMEM, "AMD SMI");
	if (load(a, file, err) < 0 || initialise(a, err) < 0) {
		tw_library_close(a->library);
		free(a);
		return -1;
	}
	*out = a;
	return 0;
}

void tw_amdsmi_close(struct tw_amdsmi *a)
{
	if (a == NULL)
		return;
	a->shutdown();
	tw_library_close(a->library);
	free(a);
}

int tw_amdsmi_fail(const struct tw_amdsmi *a, unsigned code, const char *what,
		   struct tw_err *err)
{
	static const struct {
		unsigned code;
		enum tw_code means;
	} known[] = {
		{ TW_AMDSMI_NOT_SUPPORTED, TW_UNSUPPORTED },
		{ TW_AMDSMI_NO_DATA, TW_UNSUPPORTED },
		{ TW_AMDSMI_NO_PERMISSION, TW_DENIED },
		{ TW_AMDSMI_NOT_FOUND, TW_NOTFOUND },
		{ TW_AMDSMI_DRIVER_NOT_LOADED, TW_NOTFOUND },
		{ TW_AMDSMI_MEMORY, TW_NOMEM },
	};
	const char *text = NULL;
	enum tw_code means = TW_IO;

	for (size_t i = 0; i < TW_COUNT(known); i++)
		if (known[i].code == code)
			means = known[i].means;
	if (a->error_text(code, &text) != TW_AMDSMI_OK || text == NULL)
		text = "failed";
	return tw_fail(err, means, "%s: AMD SMI: %s", what, text);
}

unsigned tw_amdsmi_energy(const struct tw_amdsmi *a, tw_amdsmi_processor p,
			  uint64_t *energy_uj)
{
	uint64_t count = 0, time_ns = 0;
	float unit_uj = 0;
	const unsigned code = a->energy(p, &count, &unit_uj, &time_ns);
	const double uj = (double)count * (double)unit_uj;

	if (code != TW_AMDSMI_OK)
		return code;
	if (count == 0 || count == UINT64_MAX || !(unit_uj > 0) || !(uj < ENERGY_MAX_UJ))
		return TW_AMDSMI_NO_DATA;
	*energy_uj = (uint64_t)uj;
	return TW_AMDSMI_OK;
}

/*
 * amdsmi_power_info_t has current_socket_power (MI300 and later), then
 * average_socket_power (earlier cards), in W, each of 4 bytes.
 */
unsigned tw_amdsmi_power(const struct tw_amdsmi *a, tw_amdsmi_processor p,
			 double *power_w)
{
	uint32_t info[TW_AMDSMI_ROOM / sizeof(uint32_t)] = { 0 };
	const uint32_t *at = &info[a->version >= VERSION_WIDE ? 2 : 0];
	const unsigned code = a->power(p, info);

	if (code != TW_AMDSMI_OK)
		return code;
	for (int i = 0; i < 2; i++)
		if (at[i] < UNKNOWN_POWER && (at[i] > 0 || i == 1)) {
			*power_w = at[i];
			return TW_AMDSMI_OK;
		}
	return TW_AMDSMI_NO_DATA;
}

void tw_amdsmi_name(const struct tw_amdsmi *a, tw_amdsmi_processor p, char *out,
		    size_t size)
{
	uint64_t info[TW_AMDSMI_ROOM / sizeof(uint64_t)] = { 0 };

	out[0] = '\0';
	if (a->asic == NULL || a->asic(p, info) != TW_AMDSMI_OK)
		return;
	snprintf(out, size, "%.*s", (int)size - 1, (const char *)info);
	for (char *c = out; *c != '\0'; c++)
		if (!isascii((unsigned char)*c) || !isprint((unsigned char)*c))
			*c = '?';
}
