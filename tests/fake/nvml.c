/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What looks like NVIDIA's Management Library, and tells what the file has that
 * TW_FAKE_NVML names, read anew at each call. Its lines, in this order for each GPU:
 *
 *	gpu UUID NAME
 *	energy MJ		in mJ; without it there is no counter
 *	power MW		in mW
 *	average MW		the power field of the GPU's scope, in mW
 *	busy PERCENT
 *	mig			in MIG mode
 *	lost			no query works
 *	life N			after a reset: handles of another life are lost
 *	use PID TIME SM ENCODER DECODER		a sample of the driver
 *	hold PID BYTES		a process that computes
 *	client PID BYTES	one of them that does so through a server of MPS
 *	slice ID SLICES BUSY	a GPU instance: of 7, and for how many ms it has worked
 *	in ID PID		a process that computes on it
 *	now MS			when that was: busy and now are what GPM samples
 *	fail FUNCTION CODE	samples, processes, instances or gpm
 *
 * As a real driver does (580.159 on an H200), it answers with the mean of each process
 * over the times of all samples that are newer than asked for.
 *
 * Before all of them, "code N" is what nvmlInit_v2() returns, and "driver N" which driver
 * is loaded: what was initialised with another one knows no GPU.
 */
#include "collector/meters/nvml.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As of the driver's own names. */
#define EXPORT __attribute__((visibility("default")))

#define GPUS 8
#define ENTRIES 600

struct entry {
	unsigned pid;
	unsigned long long value[4];
};

struct entries {
	struct entry at[ENTRIES];
	unsigned count;
};

enum fail { FAIL_SAMPLES, FAIL_PROCESSES, FAIL_INSTANCES, FAIL_GPM, FAIL_COUNT };

static const char *const fail_names[] = { "samples", "processes", "instances", "gpm" };

struct gpu {
	char uuid[64], name[64];
	unsigned life;
	bool has_energy, has_average, mig, lost;
	unsigned long long energy, now;
	unsigned power, average, busy;
	struct entries use, hold, client, slice, in;
	int fails[FAIL_COUNT];
};

struct tw_nvml_device {
	char uuid[64];
	unsigned life;
	int mig; /* the index of a MIG device; below 0: the GPU */
};

struct tw_nvml_gpm_sample {
	unsigned long long now, busy;
};

static struct gpu gpus[GPUS];
static unsigned count;
static unsigned driver, initialised;

/* All that were ever given away. */
static struct tw_nvml_device handles[128];

static unsigned long long number(char **save)
{
	const char *word = strtok_r(NULL, " ", save);

	return word != NULL ? strtoull(word, NULL, 10) : 0;
}

static void add(struct entries *e, char **save)
{
	struct entry *to = &e->at[e->count < ENTRIES ? e->count++ : ENTRIES - 1];

	to->pid = (unsigned)number(save);
	for (int i = 0; i < 4; i++)
		to->value[i] = number(save);
}

static void copy(char *to, size_t size, const char *word)
{
	snprintf(to, size, "%s", word != NULL ? word : "");
}

static void take(struct gpu *g, const char *key, char **save)
{
	if (strcmp(key, "energy") == 0) {
		g->has_energy = true;
		g->energy = number(save);
	} else if (strcmp(key, "power") == 0) {
		g->power = (unsigned)number(save);
	} else if (strcmp(key, "average") == 0) {
		g->has_average = true;
		g->average = (unsigned)number(save);
	} else if (strcmp(key, "busy") == 0) {
		g->busy = (unsigned)number(save);
	} else if (strcmp(key, "mig") == 0) {
		g->mig = true;
	} else if (strcmp(key, "lost") == 0) {
		g->lost = true;
	} else if (strcmp(key, "life") == 0) {
		g->life = (unsigned)number(save);
	} else if (strcmp(key, "use") == 0) {
		add(&g->use, save);
	} else if (strcmp(key, "hold") == 0) {
		add(&g->hold, save);
	} else if (strcmp(key, "client") == 0) {
		add(&g->client, save);
	} else if (strcmp(key, "slice") == 0) {
		add(&g->slice, save);
	} else if (strcmp(key, "in") == 0) {
		add(&g->in, save);
	} else if (strcmp(key, "now") == 0) {
		g->now = number(save);
	} else if (strcmp(key, "fail") == 0) {
		const char *what = strtok_r(NULL, " ", save);

		for (int i = 0; i < FAIL_COUNT && what != NULL; i++)
			if (strcmp(what, fail_names[i]) == 0)
				g->fails[i] = (int)number(save);
	}
}

/* What nvmlInit_v2() is to return. */
static int load(void)
{
	const char *path = getenv("TW_FAKE_NVML");
	FILE *f = path != NULL ? fopen(path, "r") : NULL;
	char line[256];
	int code = 0;

	if (f == NULL)
		return TW_NVML_DRIVER_NOT_LOADED;
	memset(gpus, 0, sizeof(gpus));
	count = 0;
	driver = 0;
	while (fgets(line, sizeof(line), f) != NULL) {
		char *save = NULL, *key = strtok_r(line, " \n", &save);

		if (key == NULL)
			continue;
		if (strcmp(key, "code") == 0) {
			code = (int)number(&save);
		} else if (strcmp(key, "driver") == 0) {
			driver = (unsigned)number(&save);
		} else if (strcmp(key, "gpu") == 0 && count < GPUS) {
			struct gpu *g = &gpus[count++];

			copy(g->uuid, sizeof(g->uuid), strtok_r(NULL, " ", &save));
			copy(g->name, sizeof(g->name), strtok_r(NULL, "\n", &save));
		} else if (count > 0) {
			take(&gpus[count - 1], key, &save);
		}
	}
	fclose(f);
	return code;
}

/* What a handle is of, as it is now; NULL: it is lost. */
static const struct gpu *find(const struct tw_nvml_device *d)
{
	load();
	for (unsigned i = 0; i < count; i++)
		if (strcmp(gpus[i].uuid, d->uuid) == 0 && gpus[i].life == d->life &&
		    !gpus[i].lost && driver == initialised)
			return &gpus[i];
	return NULL;
}

static int give(const struct gpu *g, int mig, tw_nvml_device *out)
{
	size_t i = 0;

	if (g->lost || driver != initialised)
		return TW_NVML_GPU_IS_LOST;
	while (handles[i].uuid[0] != '\0' &&
	       (strcmp(handles[i].uuid, g->uuid) != 0 || handles[i].life != g->life ||
		handles[i].mig != mig))
		i++;
	copy(handles[i].uuid, sizeof(handles[i].uuid), g->uuid);
	handles[i].life = g->life;
	handles[i].mig = mig;
	*out = &handles[i];
	return 0;
}

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT const char *nvmlErrorString(int code);
EXPORT int nvmlDeviceGetCount_v2(unsigned *out);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, tw_nvml_device *out);
EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, tw_nvml_device *out);
EXPORT int nvmlDeviceGetUUID(tw_nvml_device d, char *out, unsigned size);
EXPORT int nvmlDeviceGetName(tw_nvml_device d, char *out, unsigned size);
EXPORT int nvmlDeviceGetPowerUsage(tw_nvml_device d, unsigned *out);
EXPORT int nvmlDeviceGetTotalEnergyConsumption(tw_nvml_device d, unsigned long long *out);
EXPORT int nvmlDeviceGetFieldValues(tw_nvml_device d, int fields,
				    struct tw_nvml_field *out);
EXPORT int nvmlDeviceGetUtilizationRates(tw_nvml_device d,
					 struct tw_nvml_utilization *out);
EXPORT int nvmlDeviceGetMigMode(tw_nvml_device d, unsigned *now, unsigned *pending);
EXPORT int nvmlDeviceGetProcessUtilization(tw_nvml_device d, struct tw_nvml_sample *out,
					   unsigned *room, unsigned long long after);
EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(tw_nvml_device d, unsigned *room,
						   struct tw_nvml_process *out);
EXPORT int nvmlDeviceGetMPSComputeRunningProcesses_v2(tw_nvml_device d, unsigned *room,
						      struct tw_nvml_process *out);
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(tw_nvml_device d, unsigned *room,
						   struct tw_nvml_process *out);
EXPORT int nvmlDeviceGetMPSComputeRunningProcesses_v3(tw_nvml_device d, unsigned *room,
						      struct tw_nvml_process *out);
EXPORT int nvmlDeviceGetMaxMigDeviceCount(tw_nvml_device d, unsigned *out);
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(tw_nvml_device d, unsigned at,
					       tw_nvml_device *out);
EXPORT int nvmlDeviceGetGpuInstanceId(tw_nvml_device d, unsigned *id);
EXPORT int nvmlDeviceGetAttributes_v2(tw_nvml_device d, struct tw_nvml_attributes *out);
EXPORT int nvmlGpmSampleAlloc(tw_nvml_gpm_sample *out);
EXPORT int nvmlGpmSampleFree(tw_nvml_gpm_sample sample);
EXPORT int nvmlGpmMigSampleGet(tw_nvml_device d, unsigned instance,
			       tw_nvml_gpm_sample out);
EXPORT int nvmlGpmMetricsGet(struct tw_nvml_gpm *g);

int nvmlInit_v2(void)
{
	const int code = load();

	if (code == 0)
		initialised = driver;
	return code;
}

int nvmlShutdown(void)
{
	return 0;
}

const char *nvmlErrorString(int code)
{
	return code == TW_NVML_GPU_IS_LOST         ? "GPU is lost"
	       : code == TW_NVML_NOT_SUPPORTED     ? "Not Supported"
	       : code == TW_NVML_DRIVER_NOT_LOADED ? "Driver Not Loaded"
						   : "Unknown Error";
}

int nvmlDeviceGetCount_v2(unsigned *out)
{
	load();
	*out = count;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, tw_nvml_device *out)
{
	load();
	return give(&gpus[index], -1, out);
}

int nvmlDeviceGetHandleByUUID(const char *uuid, tw_nvml_device *out)
{
	load();
	for (unsigned i = 0; i < count; i++)
		if (strcmp(gpus[i].uuid, uuid) == 0)
			return give(&gpus[i], -1, out);
	return TW_NVML_NOT_FOUND;
}

int nvmlDeviceGetUUID(tw_nvml_device d, char *out, unsigned size)
{
	copy(out, size, d->uuid);
	return 0;
}

int nvmlDeviceGetName(tw_nvml_device d, char *out, unsigned size)
{
	const struct gpu *g = find(d);

	copy(out, size, g != NULL ? g->name : "");
	return g != NULL ? 0 : TW_NVML_GPU_IS_LOST;
}

int nvmlDeviceGetPowerUsage(tw_nvml_device d, unsigned *out)
{
	const struct gpu *g = find(d);

	if (g == NULL)
		return TW_NVML_GPU_IS_LOST;
	*out = g->power;
	return 0;
}

int nvmlDeviceGetTotalEnergyConsumption(tw_nvml_device d, unsigned long long *out)
{
	const struct gpu *g = find(d);

	if (g == NULL)
		return TW_NVML_GPU_IS_LOST;
	*out = g->energy;
	return g->has_energy ? 0 : TW_NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetFieldValues(tw_nvml_device d, int fields, struct tw_nvml_field *out)
{
	const struct gpu *g = find(d);

	if (g == NULL)
		return TW_NVML_GPU_IS_LOST;
	for (int i = 0; i < fields; i++) {
		struct tw_nvml_field *f = &out[i];

		f->code = TW_NVML_NOT_SUPPORTED;
		if (f->id != 185 || f->scope != 0 || !g->has_average)
			continue;
		f->code = 0;
		f->type = TW_NVML_UNSIGNED;
		f->value.number = g->average;
	}
	return 0;
}

int nvmlDeviceGetUtilizationRates(tw_nvml_device d, struct tw_nvml_utilization *out)
{
	const struct gpu *g = find(d);

	if (g == NULL || g->mig)
		return g == NULL ? TW_NVML_GPU_IS_LOST : TW_NVML_NOT_SUPPORTED;
	*out = (struct tw_nvml_utilization){ .gpu = g->busy, .memory = g->busy / 2 };
	return 0;
}

int nvmlDeviceGetMigMode(tw_nvml_device d, unsigned *now, unsigned *pending)
{
	const struct gpu *g = find(d);

	if (g == NULL)
		return TW_NVML_GPU_IS_LOST;
	*now = *pending = g->mig;
	return 0;
}

/* The times of samples that are newer. */
static unsigned times_after(const struct entries *use, unsigned long long after)
{
	unsigned times = 0;

	for (unsigned i = 0; i < use->count; i++) {
		const unsigned long long time = use->at[i].value[0];
		bool first = time > after;

		for (unsigned k = 0; k < i; k++)
			first = first && use->at[k].value[0] != time;
		times += first;
	}
	return times;
}

/* The sums of each process. Returns how many there are. */
static unsigned sum_up(const struct entries *use, unsigned long long after,
		       struct tw_nvml_sample *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < use->count; i++) {
		const struct entry *e = &use->at[i];
		unsigned k = 0;

		if (e->value[0] <= after)
			continue;
		while (k < n && out[k].pid != e->pid)
			k++;
		if (k == n)
			out[n++] = (struct tw_nvml_sample){ .pid = e->pid };
		if (e->value[0] > out[k].time_us)
			out[k].time_us = e->value[0];
		out[k].sm += (unsigned)e->value[1];
		out[k].encoder += (unsigned)e->value[2];
		out[k].decoder += (unsigned)e->value[3];
	}
	return n;
}

int nvmlDeviceGetProcessUtilization(tw_nvml_device d, struct tw_nvml_sample *out,
				    unsigned *room, unsigned long long after)
{
	static struct tw_nvml_sample sum[ENTRIES];
	const struct gpu *g = find(d);
	unsigned times, n;

	if (g == NULL || g->mig)
		return g == NULL ? TW_NVML_GPU_IS_LOST : TW_NVML_NOT_SUPPORTED;
	if (g->fails[FAIL_SAMPLES] != 0)
		return g->fails[FAIL_SAMPLES];
	times = times_after(&g->use, after);
	n = sum_up(&g->use, after, sum);
	if (n == 0)
		return TW_NVML_NOT_FOUND;
	if (n > *room) {
		*room = n;
		return TW_NVML_INSUFFICIENT_SIZE;
	}
	for (unsigned i = 0; i < n; i++) {
		out[i] = sum[i];
		out[i].sm /= times;
		out[i].encoder /= times;
		out[i].decoder /= times;
	}
	*room = n;
	return 0;
}

static int list(const struct entries *of, int id, unsigned *room,
		struct tw_nvml_process *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < of->count; i++) {
		const struct entry *e = &of->at[i];

		if (id >= 0 && e->pid != (unsigned)id)
			continue;
		if (n < *room)
			out[n] = (struct tw_nvml_process){
				.pid = id < 0 ? e->pid : (unsigned)e->value[0],
				.memory_bytes = e->value[0],
				.gpu_instance = ~0U,
				.compute_instance = ~0U
			};
		n++;
	}
	id = n > *room ? TW_NVML_INSUFFICIENT_SIZE : 0;
	*room = n;
	return id;
}

int nvmlDeviceGetComputeRunningProcesses_v2(tw_nvml_device d, unsigned *room,
					    struct tw_nvml_process *out)
{
	const struct gpu *g = find(d);

	if (g == NULL)
		return TW_NVML_GPU_IS_LOST;
	if (g->fails[FAIL_PROCESSES] != 0)
		return g->fails[FAIL_PROCESSES];
	if (d->mig >= 0)
		return list(&g->in, (int)g->slice.at[d->mig].pid, room, out);
	return g->mig ? TW_NVML_NO_PERMISSION : list(&g->hold, -1, room, out);
}

int nvmlDeviceGetMPSComputeRunningProcesses_v2(tw_nvml_device d, unsigned *room,
					       struct tw_nvml_process *out)
{
	const struct gpu *g = find(d);

	return g == NULL ? TW_NVML_GPU_IS_LOST : list(&g->client, -1, room, out);
}

/* Drivers 535.43 to 535.86 have entries of 32 bytes in lists of _v3. */
static int widen(int code, unsigned entries, struct tw_nvml_process *out)
{
	for (unsigned i = entries; code == 0 && i-- > 0;) {
		char *to = (char *)out + (size_t)32 * i;

		memmove(to, &out[i], sizeof(out[i]));
		memset(to + sizeof(out[i]), 0, 32 - sizeof(out[i]));
	}
	return code;
}

int nvmlDeviceGetComputeRunningProcesses_v3(tw_nvml_device d, unsigned *room,
					    struct tw_nvml_process *out)
{
	const int code = nvmlDeviceGetComputeRunningProcesses_v2(d, room, out);

	return widen(code, *room, out);
}

int nvmlDeviceGetMPSComputeRunningProcesses_v3(tw_nvml_device d, unsigned *room,
					       struct tw_nvml_process *out)
{
	const int code = nvmlDeviceGetMPSComputeRunningProcesses_v2(d, room, out);

	return widen(code, *room, out);
}

/* ---- MIG ---- */

int nvmlDeviceGetMaxMigDeviceCount(tw_nvml_device d, unsigned *out)
{
	const struct gpu *g = find(d);

	*out = 7;
	return g == NULL ? TW_NVML_GPU_IS_LOST : g->fails[FAIL_INSTANCES];
}

int nvmlDeviceGetMigDeviceHandleByIndex(tw_nvml_device d, unsigned at,
					tw_nvml_device *out)
{
	const struct gpu *g = find(d);

	if (g == NULL)
		return TW_NVML_GPU_IS_LOST;
	return at < g->slice.count ? give(g, (int)at, out) : TW_NVML_NOT_FOUND;
}

int nvmlDeviceGetGpuInstanceId(tw_nvml_device d, unsigned *id)
{
	const struct gpu *g = find(d);

	if (g == NULL || d->mig < 0)
		return TW_NVML_NOT_SUPPORTED;
	*id = g->slice.at[d->mig].pid;
	return 0;
}

int nvmlDeviceGetAttributes_v2(tw_nvml_device d, struct tw_nvml_attributes *out)
{
	const struct gpu *g = find(d);

	if (g == NULL || d->mig < 0)
		return TW_NVML_NOT_SUPPORTED;
	*out = (struct tw_nvml_attributes){
		.instance_slices = (unsigned)g->slice.at[d->mig].value[0]
	};
	return 0;
}

int nvmlGpmSampleAlloc(tw_nvml_gpm_sample *out)
{
	*out = calloc(1, sizeof(**out));
	return *out != NULL ? 0 : TW_NVML_MEMORY;
}

int nvmlGpmSampleFree(tw_nvml_gpm_sample sample)
{
	free(sample);
	return 0;
}

int nvmlGpmMigSampleGet(tw_nvml_device d, unsigned instance, tw_nvml_gpm_sample out)
{
	const struct gpu *g = find(d);

	if (g == NULL || g->fails[FAIL_GPM] != 0)
		return g == NULL ? TW_NVML_GPU_IS_LOST : g->fails[FAIL_GPM];
	for (unsigned i = 0; i < g->slice.count; i++)
		if (g->slice.at[i].pid == instance) {
			out->now = g->now;
			out->busy = g->slice.at[i].value[1];
			return 0;
		}
	return TW_NVML_NOT_FOUND;
}

/* A real driver tells NaN of no time, too. */
int nvmlGpmMetricsGet(struct tw_nvml_gpm *g)
{
	if (g->version != TW_NVML_GPM_VERSION || g->count != 1)
		return TW_NVML_NOT_SUPPORTED;
	g->metric[0].code = g->metric[0].id == TW_NVML_GPM_SM ? 0 : TW_NVML_NOT_SUPPORTED;
	g->metric[0].value = 100. * (double)(g->to->busy - g->from->busy) /
			     (double)(g->to->now - g->from->now);
	return 0;
}
