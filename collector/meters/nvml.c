/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/meters/nvml.h"

#include "collector/meters/library.h"
#include "lib/core/array.h"
#include "lib/core/clock.h"
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
	WANTED("nvmlDeviceGetComputeRunningProcesses_v3", processes[0]),
	WANTED("nvmlDeviceGetComputeRunningProcesses_v2", processes[0]),
	WANTED("nvmlDeviceGetComputeRunningProcesses", processes_v1[0]),
	WANTED("nvmlDeviceGetGraphicsRunningProcesses_v3", processes[1]),
	WANTED("nvmlDeviceGetGraphicsRunningProcesses_v2", processes[1]),
	WANTED("nvmlDeviceGetGraphicsRunningProcesses", processes_v1[1]),
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

/* ---- the users of a GPU ---- */

/* The usual number of samples of a driver, and the most that we accept. */
#define SAMPLES_USUAL 128
#define SAMPLES_MAX 16384

/* Processes of one list (compute or graphics). */
#define HOLDERS_MAX 512

/* The driver samples every 1/6 s to 1 s. */
#define HOLD_NS UINT64_C(1500000000)

/* Room for that many samples and users; both lists of holders fit, too. */
static bool make_room(struct tw_nvml_users *u, unsigned samples)
{
	const unsigned users = samples > 2 * HOLDERS_MAX ? samples : 2 * HOLDERS_MAX;

	if (samples <= u->samples)
		return true;
	if (samples > SAMPLES_MAX || !tw_resize(&u->at, users, sizeof(*u->at)) ||
	    !tw_resize(&u->sample, samples, sizeof(*u->sample)))
		return false;
	u->samples = samples;
	return true;
}

/* False: no newer samples, or an error in *code. */
static bool read_samples(struct tw_nvml_users *u, const struct tw_nvml *n,
			 tw_nvml_device d, unsigned *count, int *code)
{
	*count = u->samples;
	*code = n->samples(d, u->sample, count, u->seen_us);
	if (*code == TW_NVML_INSUFFICIENT_SIZE && *count > u->samples &&
	    make_room(u, *count)) {
		*count = u->samples;
		*code = n->samples(d, u->sample, count, u->seen_us);
	}
	return *code == TW_NVML_OK && *count <= u->samples;
}

int tw_nvml_users_open(struct tw_nvml_users *u, const struct tw_nvml *n, tw_nvml_device d,
		       struct tw_err *err)
{
	unsigned count;
	int code;

	if (!make_room(u, SAMPLES_USUAL))
		return tw_fail(err, TW_NOMEM, "users of a GPU");
	if (n->samples != NULL) {
		read_samples(u, n, d, &count, &code);
		u->sampled = code != TW_NVML_NOT_SUPPORTED;
	}
	return 0;
}

void tw_nvml_users_release(struct tw_nvml_users *u)
{
	free(u->at);
	free(u->sample);
	*u = (struct tw_nvml_users){ .at = NULL };
}

static void add_user(struct tw_nvml_users *u, unsigned pid, uint64_t weight)
{
	if (pid != 0 && weight != 0)
		u->at[u->count++] = (struct tw_zone_user){ pid, weight };
}

/* Entries without a sample or with an old one hold garbage. */
static unsigned busy(const struct tw_nvml_sample *s, unsigned long long after_us)
{
	unsigned most = s->sm > s->encoder ? s->sm : s->encoder;

	most = most > s->decoder ? most : s->decoder;
	return s->time_us > after_us && most <= 100 ? most : 0;
}

static void by_samples(struct tw_nvml_users *u, const struct tw_nvml *n, tw_nvml_device d)
{
	const unsigned long long after_us = u->seen_us;
	const uint64_t now = tw_now_ns();
	unsigned count;
	int code;

	if (!read_samples(u, n, d, &count, &code)) {
		if (code != TW_NVML_NOT_FOUND || now - u->seen_ns > HOLD_NS)
			u->count = 0;
		return;
	}
	u->count = 0;
	for (unsigned i = 0; i < count; i++) {
		add_user(u, u->sample[i].pid, busy(&u->sample[i], after_us));
		if (u->sample[i].time_us > u->seen_us)
			u->seen_us = u->sample[i].time_us;
	}
	u->seen_ns = now;
}

static unsigned holders_v1(const struct tw_nvml *n, tw_nvml_device d, int kind,
			   struct tw_nvml_process *out)
{
	struct tw_nvml_process_v1 old[HOLDERS_MAX];
	unsigned count = HOLDERS_MAX;

	if (n->processes_v1[kind] == NULL ||
	    n->processes_v1[kind](d, &count, old) != TW_NVML_OK || count > HOLDERS_MAX)
		return 0;
	for (unsigned i = 0; i < count; i++)
		out[i] = (struct tw_nvml_process){ .pid = old[i].pid,
						   .memory_bytes = old[i].memory_bytes };
	return count;
}

static unsigned holders(const struct tw_nvml *n, tw_nvml_device d, int kind,
			struct tw_nvml_process *out)
{
	unsigned count = HOLDERS_MAX;

	if (n->processes[kind] == NULL)
		return holders_v1(n, d, kind, out);
	if (n->processes[kind](d, &count, out) != TW_NVML_OK || count > HOLDERS_MAX)
		return 0;
	return count;
}

/* A single process used the GPU whatever it holds. Display heads are not counted. */
static void by_memory(struct tw_nvml_users *u, const struct tw_nvml *n, tw_nvml_device d)
{
	struct tw_nvml_process p[HOLDERS_MAX];
	unsigned seen = 0, last = 0;

	u->count = 0;
	for (int kind = 0; kind < 2; kind++) {
		const unsigned count = holders(n, d, kind, p);

		for (unsigned i = 0; i < count; i++) {
			seen += p[i].pid != last;
			last = p[i].pid;
			add_user(u, p[i].pid,
				 p[i].memory_bytes == TW_NVML_UNKNOWN
					 ? 0
					 : p[i].memory_bytes >> 10);
		}
	}
	if (u->count == 0 && seen == 1)
		add_user(u, last, 1);
}

void tw_nvml_users_read(struct tw_nvml_users *u, const struct tw_nvml *n,
			tw_nvml_device d)
{
	if (u->sampled)
		by_samples(u, n, d);
	else
		by_memory(u, n, d);
}
