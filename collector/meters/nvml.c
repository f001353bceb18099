/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/meters/nvml.h"

#include "lib/core/array.h"
#include "lib/core/err.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Alternative names of a member: the first that the library has is used. */
static const struct symbol {
	const char *name;
	size_t offset;
	bool needed;
} symbols[] = {
#define NEEDED(name, member)                                 \
	{                                                    \
		name, offsetof(struct tw_nvml, member), true \
	}
#define WANTED(name, member)                                  \
	{                                                     \
		name, offsetof(struct tw_nvml, member), false \
	}
	NEEDED("nvmlInit_v2", init),
	NEEDED("nvmlShutdown", shutdown),
	NEEDED("nvmlErrorString", error_text),
	NEEDED("nvmlDeviceGetCount_v2", count),
	NEEDED("nvmlDeviceGetHandleByIndex_v2", by_index),
	NEEDED("nvmlDeviceGetHandleByUUID", by_uuid),
	NEEDED("nvmlDeviceGetUUID", uuid),
	NEEDED("nvmlDeviceGetName", name),
	NEEDED("nvmlDeviceGetPowerUsage", power_mw),
	WANTED("nvmlDeviceGetTotalEnergyConsumption", energy_mj),
	WANTED("nvmlDeviceGetUtilizationRates", utilization),
	WANTED("nvmlDeviceGetMigMode", mig_mode),
	WANTED("nvmlDeviceGetProcessUtilization", samples),
	WANTED("nvmlDeviceGetComputeRunningProcesses_v3", processes[0]),
	WANTED("nvmlDeviceGetComputeRunningProcesses_v2", processes[0]),
	WANTED("nvmlDeviceGetComputeRunningProcesses", processes_v1[0]),
	WANTED("nvmlDeviceGetGraphicsRunningProcesses_v3", processes[1]),
	WANTED("nvmlDeviceGetGraphicsRunningProcesses_v2", processes[1]),
	WANTED("nvmlDeviceGetGraphicsRunningProcesses", processes_v1[1]),
};

/* POSIX lets dlsym() return a function as an object pointer, so copy its bytes. */
static bool is_set(const struct tw_nvml *n, const struct symbol *s)
{
	void *found;

	memcpy(&found, (const char *)n + s->offset, sizeof(found));
	return found != NULL;
}

static int find_symbols(struct tw_nvml *n, const char *file, struct tw_err *err)
{
	for (size_t i = 0; i < TW_COUNT(symbols); i++) {
		void *found;

		if (is_set(n, &symbols[i]))
			continue;
		found = dlsym(n->library, symbols[i].name);
		if (found == NULL && symbols[i].needed)
			return tw_fail(err, TW_UNSUPPORTED, "'%s' has no %s", file,
				       symbols[i].name);
		memcpy((char *)n + symbols[i].offset, &found, sizeof(found));
	}
	return 0;
}

static void unload(struct tw_nvml *n)
{
	if (n->library != NULL)
		dlclose(n->library);
	free(n);
}

int tw_nvml_open(const char *file, struct tw_nvml **out, struct tw_err *err)
{
	struct tw_nvml *n = calloc(1, sizeof(*n));
	int code;

	if (n == NULL)
		return tw_fail(err, TW_NOMEM, "NVML");
	n->library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (n->library == NULL) {
		const char *why = dlerror();

		tw_fail(err, TW_NOTFOUND, "%s", why != NULL ? why : file);
		unload(n);
		return -1;
	}
	if (find_symbols(n, file, err) < 0) {
		unload(n);
		return -1;
	}
	code = n->init();
	if (code != TW_NVML_OK) {
		tw_nvml_fail(n, code, file, err);
		unload(n);
		return -1;
	}
	*out = n;
	return 0;
}

void tw_nvml_close(struct tw_nvml *n)
{
	if (n == NULL)
		return;
	n->shutdown();
	unload(n);
}

int tw_nvml_fail(const struct tw_nvml *n, int code, const char *what, struct tw_err *err)
{
	static const struct {
		int code;
		enum tw_code means;
	} known[] = {
		{ TW_NVML_NOT_SUPPORTED, TW_UNSUPPORTED },
		{ TW_NVML_NO_PERMISSION, TW_DENIED },
		{ TW_NVML_NOT_FOUND, TW_NOTFOUND },
		{ TW_NVML_DRIVER_NOT_LOADED, TW_NOTFOUND },
		{ TW_NVML_MEMORY, TW_NOMEM },
	};
	const char *text = n->error_text(code);
	enum tw_code means = TW_IO;

	for (size_t i = 0; i < TW_COUNT(known); i++)
		if (known[i].code == code)
			means = known[i].means;
	return tw_fail(err, means, "%s: NVML: %s", what, text != NULL ? text : "failed");
}
