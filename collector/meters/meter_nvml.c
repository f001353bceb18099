/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs of NVIDIA: their energy counters (or their power, before Volta), and the processes
 * that used them. A lost GPU is looked up again at each tick. If all GPUs are lost, for
 * example after a driver reload, the library is initialised again. In MIG mode energy is
 * known only for the whole GPU.
 *
 * The energy counter of a Grace Hopper is its module's: CPU, GPU and memory. It is a zone
 * of the platform, and the GPU's zone is the power that the driver reports for the GPU
 * alone, if it does.
 */
#include "collector/meters/meter.h"
#include "collector/meters/nvml_users.h"
#include "collector/system/roots.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libnvidia-ml.so.1"

#define GPUS_MAX 64
#define NVML_ZONES_MAX (2 * GPUS_MAX) /* a GPU, and its module */

/*
 * Time between two attempts to initialise the library: without a driver each takes some
 * ms.
 */
#define RETRY_NS UINT64_C(10000000000)

/* A GPU that nobody holds is at rest after this many readings. */
#define REST_READINGS 2

#define UJ_PER_MJ UINT64_C(1000) /* 1 mJ is 1000 uJ */

/* The quantity that a zone is read by. */
enum quantity { ENERGY, POWER, POWER_OF_GPU };

struct gpu {
	tw_nvml_device device;
	enum quantity by;
	struct tw_nvml_users users;
	unsigned at_rest; /* the last readings in which nobody held it */
	bool rested;      /* it was at rest for long enough */
};

struct gpus {
	struct tw_nvml *nvml;
	const char *proc;
	struct tw_zone zone[NVML_ZONES_MAX];
	struct gpu gpu[NVML_ZONES_MAX]; /* the GPU of each zone */
	size_t count;
	uint64_t retry_ns; /* earliest time of the next initialisation */
};

static bool has_energy(const struct tw_nvml *n, tw_nvml_device d)
{
	unsigned long long mj;

	return n->energy_mj != NULL && n->energy_mj(d, &mj) == TW_NVML_OK;
}

/* The power of the GPU without the rest of its module. Returns the library's code. */
static int read_power_of_gpu(const struct tw_nvml *n, tw_nvml_device d, unsigned *mw)
{
	struct tw_nvml_field f = { .id = TW_NVML_POWER_AVERAGE,
				   .scope = TW_NVML_SCOPE_GPU };
	const int code = n->fields != NULL ? n->fields(d, 1, &f) : TW_NVML_NOT_SUPPORTED;

	*mw = f.value.number;
	if (code != TW_NVML_OK || f.code != TW_NVML_OK)
		return code != TW_NVML_OK ? code : f.code;
	return f.type == TW_NVML_UNSIGNED ? TW_NVML_OK : TW_NVML_NOT_SUPPORTED;
}

static void describe(const struct tw_nvml *n, tw_nvml_device d, unsigned index,
		     struct tw_zone *z)
{
	*z = (struct tw_zone){ .kind = TW_ZONE_GPU,
			       .package = -1,
			       .reports_power = !has_energy(n, d) };
	snprintf(z->name, sizeof(z->name), "gpu-%u", index);
	snprintf(z->gpu.index, sizeof(z->gpu.index), "%u", index);
	z->gpu.vendor = "nvidia";
	if (n->uuid(d, z->gpu.uuid, sizeof(z->gpu.uuid)) != TW_NVML_OK)
		z->gpu.uuid[0] = '\0';
	if (n->name(d, z->gpu.model, sizeof(z->gpu.model)) != TW_NVML_OK)
		z->gpu.model[0] = '\0';
	snprintf(z->path, sizeof(z->path), "nvml:%s",
		 z->gpu.uuid[0] != '\0' ? z->gpu.uuid : z->gpu.index);
	if (tw_nvml_divided(n, d))
		z->note = "in MIG mode: energy is of the whole GPU, and is divided by "
			  "the activity of its instances";
}

static void add_module(struct gpus *g, const struct tw_zone *gpu, tw_nvml_device d)
{
	struct tw_zone *z = &g->zone[g->count];

	*z = *gpu;
	z->kind = TW_ZONE_PLATFORM;
	z->place = TW_PLACE_MODULE;
	z->note = "the counter is that of the module: CPU, GPU and memory";
	snprintf(z->name, sizeof(z->name), "module-%s", gpu->gpu.index);
	g->gpu[g->count++] = (struct gpu){ .device = d, .by = ENERGY };
}

static int add_gpu(struct gpus *g, unsigned index, tw_nvml_device d, struct tw_err *err)
{
	struct tw_zone z;
	struct gpu gpu = { .device = d };
	unsigned mw;

	describe(g->nvml, d, index, &z);
	gpu.by = z.reports_power ? POWER : ENERGY;
	if (gpu.by == ENERGY && strstr(z.gpu.model, "GH200") != NULL) {
		add_module(g, &z, d);
		if (read_power_of_gpu(g->nvml, d, &mw) != TW_NVML_OK)
			return 0;
		gpu.by = POWER_OF_GPU;
		z.reports_power = true;
	}
	g->zone[g->count] = z;
	gpu.users.proc = g->proc;
	g->gpu[g->count] = gpu;
	return tw_nvml_users_open(&g->gpu[g->count++].users, g->nvml, d, err);
}

/* A broken GPU does not hide the others; `why` is its error. */
static int add_gpus(struct gpus *g, struct tw_err *err)
{
	struct tw_err why = { 0 };
	unsigned count;
	const int code = g->nvml->count(&count);

	if (code != TW_NVML_OK)
		return tw_nvml_fail(g->nvml, code, "number of GPUs", err);
	for (unsigned i = 0; i < count && i < GPUS_MAX; i++) {
		tw_nvml_device d;
		const int got = g->nvml->by_index(i, &d);
		char what[16];

		snprintf(what, sizeof(what), "GPU %u", i);
		if (got != TW_NVML_OK) {
			tw_nvml_fail(g->nvml, got, what, &why);
			continue;
		}
		if (add_gpu(g, i, d, err) < 0)
			return -1;
	}
	if (g->count == 0)
		return why.code != TW_OK ? tw_fail(err, why.code, "%s", why.text)
					 : tw_fail(err, TW_NOTFOUND, "no GPU");
	return 0;
}

static void close_gpus(void *state)
{
	struct gpus *g = state;

	if (g == NULL)
		return;
	for (size_t i = 0; i < g->count; i++)
		tw_nvml_users_release(&g->gpu[i].users, g->nvml);
	tw_nvml_close(g->nvml);
	free(g);
}

/* Read energy or power. On false, *code is the reason. */
static bool read_gpu(const struct gpus *g, size_t i, struct tw_reading *out, int *code)
{
	const struct gpu *gpu = &g->gpu[i];
	unsigned long long mj = 0;
	unsigned mw = 0;

	if (gpu->by == ENERGY)
		*code = g->nvml->energy_mj(gpu->device, &mj);
	else if (gpu->by == POWER)
		*code = g->nvml->power_mw(gpu->device, &mw);
	else
		*code = read_power_of_gpu(g->nvml, gpu->device, &mw);
	out->power_w = mw / 1e3;
	out->energy_uj = mj * UJ_PER_MJ;
	return *code == TW_NVML_OK;
}

static double load_of(const struct tw_nvml *n, const struct gpu *gpu)
{
	struct tw_nvml_utilization u;

	if (n->utilization != NULL && n->utilization(gpu->device, &u) == TW_NVML_OK &&
	    u.gpu <= 100)
		return u.gpu / 100.0;
	return gpu->users.holders == 0 ? 0 : gpu->users.load;
}

/*
 * Only rest teaches idle power: what a GPU takes while it works depends on the work and
 * not on its load. A GPU that a process holds is awake, and takes more (an H200 43 W
 * more); that counts only until rest has been seen. Awake it stays for some seconds after
 * the last process has ended.
 */
static void read_load(const struct tw_nvml *n, struct gpu *gpu, struct tw_reading *out)
{
	const bool works = load_of(n, gpu) != 0, held = gpu->users.holders != 0;

	gpu->at_rest = works || held ? 0 : gpu->at_rest + 1;
	gpu->rested = gpu->rested || gpu->at_rest > REST_READINGS;
	out->own_load = true;
	out->load =
		gpu->at_rest > REST_READINGS || (held && !works && !gpu->rested) ? 0 : -1;
}

/* A GPU has another handle after a reset. */
static void find_again(struct gpus *g, size_t i)
{
	tw_nvml_device device;

	if (g->zone[i].gpu.uuid[0] != '\0' &&
	    g->nvml->by_uuid(g->zone[i].gpu.uuid, &device) == TW_NVML_OK)
		g->gpu[i].device = device;
}

/* Initialise the library again: its handles belong to an unloaded driver. */
static void restart_library(struct gpus *g)
{
	const uint64_t now = tw_now_ns();

	if (now < g->retry_ns)
		return;
	g->retry_ns = now + RETRY_NS;
	g->nvml->shutdown();
	if (g->nvml->init() != TW_NVML_OK)
		return;
	for (size_t i = 0; i < g->count; i++)
		find_again(g, i);
}

static void read_gpus(void *state, struct tw_reading *out)
{
	struct gpus *g = state;
	bool any = false;

	for (size_t i = 0; i < g->count; i++) {
		struct tw_err why = { 0 };
		int code;

		out[i] = (struct tw_reading){ 0 };
		out[i].readable = read_gpu(g, i, &out[i], &code);
		any = any || out[i].readable;
		if (out[i].readable && g->zone[i].kind != TW_ZONE_GPU)
			continue;
		if (out[i].readable) {
			tw_nvml_users_read(&g->gpu[i].users, g->nvml, g->gpu[i].device);
			read_load(g->nvml, &g->gpu[i], &out[i]);
			continue;
		}
		tw_nvml_fail(g->nvml, code, g->zone[i].name, &why);
		tw_reading_fail(&out[i], &why);
		find_again(g, i);
	}
	if (!any)
		restart_library(g);
}

/*
 * Read everything once while the collector still has its rights: the library opens a
 * device at its first use.
 */
static int open_gpus(const struct tw_meter_config *c, void **state, struct tw_err *err)
{
	struct tw_reading first[NVML_ZONES_MAX];
	struct gpus *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return tw_fail(err, TW_NOMEM, "GPUs");
	g->proc = c->roots->proc;
	if (tw_nvml_open(c->nvml != NULL ? c->nvml : LIBRARY, &g->nvml, err) < 0 ||
	    add_gpus(g, err) < 0) {
		close_gpus(g);
		return -1;
	}
	read_gpus(g, first);
	*state = g;
	return 0;
}

static void watch_gpus(void *state)
{
	struct gpus *g = state;

	for (size_t i = 0; i < g->count; i++)
		if (g->zone[i].kind == TW_ZONE_GPU)
			tw_nvml_users_watch(&g->gpu[i].users, g->nvml, g->gpu[i].device);
}

static const struct tw_zone *zones_of_gpus(const void *state, size_t *count)
{
	const struct gpus *g = state;

	*count = g->count;
	return g->zone;
}

static const struct tw_zone_user *users_of_gpu(const void *state, size_t zone,
					       size_t *count)
{
	const struct gpus *g = state;

	*count = g->gpu[zone].users.count;
	return g->gpu[zone].users.at;
}

const struct tw_meter tw_meter_nvml = {
	.name = "nvml",
	.summary = "NVIDIA GPUs, by the library of their driver",
	.late = true,
	.open = open_gpus,
	.zones = zones_of_gpus,
	.read = read_gpus,
	.users = users_of_gpu,
	.watch = watch_gpus,
	.close = close_gpus,
};
