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
 *	mig			use is not told by process
 *	lost			no query works
 *	life N			after a reset: handles of another life are lost
 *	use PID TIME SM ENCODER DECODER
 *	hold PID BYTES		a process that computes
 *	draw PID BYTES		one that draws
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

struct gpu {
	char uuid[64], name[64];
	unsigned life;
	bool has_energy, has_average, mig, lost;
	unsigned long long energy;
	unsigned power, average, busy;
	struct entries use, hold, draw;
};

struct tw_nvml_device {
	char uuid[64];
	unsigned life;
};

static struct gpu gpus[GPUS];
static unsigned count;
static unsigned driver, initialised;

/* All that were ever given away. */
static struct tw_nvml_device handles[64];

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
	} else if (strcmp(key, "draw") == 0) {
		add(&g->draw, save);
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

static int give(const struct gpu *g, tw_nvml_device *out)
{
	size_t i = 0;

	if (g->lost || driver != initialised)
		return TW_NVML_GPU_IS_LOST;
	while (handles[i].uuid[0] != '\0' &&
	       (strcmp(handles[i].uuid, g->uuid) != 0 || handles[i].life != g->life))
		i++;
	copy(handles[i].uuid, sizeof(handles[i].uuid), g->uuid);
	handles[i].life = g->life;
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
EXPORT int nvmlDeviceGetGraphicsRunningProcesses(tw_nvml_device d, unsigned *room,
						 struct tw_nvml_process_v1 *out);

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
	return give(&gpus[index], out);
}

int nvmlDeviceGetHandleByUUID(const char *uuid, tw_nvml_device *out)
{
	load();
	for (unsigned i = 0; i < count; i++)
		if (strcmp(gpus[i].uuid, uuid) == 0)
			return give(&gpus[i], out);
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

int nvmlDeviceGetProcessUtilization(tw_nvml_device d, struct tw_nvml_sample *out,
				    unsigned *room, unsigned long long after)
{
	const struct gpu *g = find(d);
	unsigned newer = 0, n = 0;

	if (g == NULL || g->mig)
		return g == NULL ? TW_NVML_GPU_IS_LOST : TW_NVML_NOT_SUPPORTED;
	for (unsigned i = 0; i < g->use.count; i++)
		newer += g->use.at[i].value[0] > after;
	if (newer == 0)
		return TW_NVML_NOT_FOUND;
	if (newer > *room) {
		*room = newer;
		return TW_NVML_INSUFFICIENT_SIZE;
	}
	for (unsigned i = 0; i < g->use.count; i++) {
		const struct entry *e = &g->use.at[i];

		if (e->value[0] > after)
			out[n++] =
				(struct tw_nvml_sample){ .pid = e->pid,
							 .time_us = e->value[0],
							 .sm = (unsigned)e->value[1],
							 .encoder = (unsigned)e->value[2],
							 .decoder =
								 (unsigned)e->value[3] };
	}
	*room = n;
	return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v2(tw_nvml_device d, unsigned *room,
					    struct tw_nvml_process *out)
{
	const struct gpu *g = find(d);
	const unsigned had = *room;

	*room = g != NULL ? g->hold.count : 0;
	if (g == NULL || *room > had)
		return g == NULL ? TW_NVML_GPU_IS_LOST : TW_NVML_INSUFFICIENT_SIZE;
	for (unsigned i = 0; i < *room; i++)
		out[i] = (struct tw_nvml_process){ .pid = g->hold.at[i].pid,
						   .memory_bytes =
							   g->hold.at[i].value[0] };
	return 0;
}

int nvmlDeviceGetGraphicsRunningProcesses(tw_nvml_device d, unsigned *room,
					  struct tw_nvml_process_v1 *out)
{
	const struct gpu *g = find(d);
	const unsigned had = *room;

	*room = g != NULL ? g->draw.count : 0;
	if (g == NULL || *room > had)
		return g == NULL ? TW_NVML_GPU_IS_LOST : TW_NVML_INSUFFICIENT_SIZE;
	for (unsigned i = 0; i < *room; i++)
		out[i] = (struct tw_nvml_process_v1){ .pid = g->draw.at[i].pid,
						      .memory_bytes =
							      g->draw.at[i].value[0] };
	return 0;
}
