/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/meters/nvml.h"

#include "collector/meters/library.h"
#include "lib/core/array.h"
#include "lib/core/err.h"

#include <stdlib.h>

#define NEEDED(name, member) TW_SYMBOL(struct tw_nvml, member, name, true)
#define WANTED(name, member) TW_SYMBOL(struct tw_nvml, member, name, false)

static const struct tw_symbol symbols[] = {
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
	WANTED("nvmlDeviceGetFieldValues", fields),
	WANTED("nvmlDeviceGetUtilizationRates", utilization),
	WANTED("nvmlDeviceGetMigMode", mig_mode),
	WANTED("nvmlDeviceGetProcessUtilization", samples),
	WANTED("nvmlDeviceGetComputeRunningProcesses_v2", processes),
	WANTED("nvmlDeviceGetComputeRunningProcesses_v3", processes),
	WANTED("nvmlDeviceGetMPSComputeRunningProcesses_v2", mps_clients),
	WANTED("nvmlDeviceGetMPSComputeRunningProcesses_v3", mps_clients),
	WANTED("nvmlDeviceGetMaxMigDeviceCount", mig_count),
	WANTED("nvmlDeviceGetMigDeviceHandleByIndex", mig_at),
	WANTED("nvmlDeviceGetGpuInstanceId", instance_of),
	WANTED("nvmlDeviceGetAttributes_v2", attributes),
	WANTED("nvmlGpmSampleAlloc", gpm_alloc),
	WANTED("nvmlGpmSampleFree", gpm_free),
	WANTED("nvmlGpmMigSampleGet", gpm_of_instance),
	WANTED("nvmlGpmMetricsGet", gpm_metrics),
};

int tw_nvml_open(const char *file, struct tw_nvml **out, struct tw_err *err)
{
	struct tw_nvml *n = calloc(1, sizeof(*n));
	int code;

	if (n == NULL)
		return tw_fail(err, TW_NOMEM, "NVML");
	if (tw_library_open(file, symbols, TW_COUNT(symbols), n, &n->library, err) < 0) {
		free(n);
		return -1;
	}
	code = n->init();
	if (code != TW_NVML_OK) {
		tw_nvml_fail(n, code, file, err);
		tw_library_close(n->library);
		free(n);
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
	tw_library_close(n->library);
	free(n);
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
