/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/meters/nvml_users.h"

#include "lib/core/array.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/file.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The usual number of samples of a driver, and the most that we accept. */
#define SAMPLES_USUAL 128
#define SAMPLES_MAX 4096

/* The driver samples every 1/6 s to 1 s; samples hold until the next are due. */
#define SAMPLE_MAX_US 1000000ULL
#define HOLD_NS UINT64_C(1500000000)

/* The newest sample is no further ahead of the clock. */
#define AHEAD_MAX_US 2000000ULL

#define PERCENT_US_NS 10 /* 1 % of 1 us is 10 ns */
#define US_NS UINT64_C(1000)

/* The counters of GPM are refreshed every 100 ms. */
#define GPM_NS UINT64_C(50000000)

/* An instance is a unit of its own, unlike any process. */
#define UNIT_OF_INSTANCE(id) (UINT32_MAX - (id))

/* Room for this many samples. */
static bool make_room(struct tw_nvml_users *u, unsigned samples)
{
	if (samples > SAMPLES_MAX || !tw_resize(&u->sample, samples, sizeof(*u->sample)))
		return false;
	u->samples = samples;
	return true;
}

/* The first use after a reading: drop the users of that reading. */
static void begin(struct tw_nvml_users *u)
{
	if (u->done)
		u->count = 0;
	u->done = false;
}

/* More use of a process; without memory it is lost. */
static void add_use(struct tw_nvml_users *u, uint32_t tgid, uint32_t unit,
		    uint64_t used_ns)
{
	if (tgid == 0 || used_ns == 0)
		return;
	begin(u);
	for (size_t i = 0; i < u->count; i++)
		if (u->at[i].tgid == tgid && u->at[i].unit == unit) {
			u->at[i].used_ns += used_ns;
			return;
		}
	if (u->count == u->room) {
		const size_t room = u->room == 0 ? TW_NVML_HOLDERS : 2 * u->room;

		if (!tw_resize(&u->at, room, sizeof(*u->at)))
			return;
		u->room = room;
	}
	u->at[u->count++] = (struct tw_zone_user){ tgid, unit, used_ns, 0, !u->divided };
}

/* ---- samples ---- */

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

static unsigned busy(const struct tw_nvml_sample *s)
{
	const unsigned most = s->sm > s->encoder ? s->sm : s->encoder;

	return most > s->decoder ? most : s->decoder;
}

/* Entries without a sample or with an old one hold garbage. */
static bool is_sample(const struct tw_nvml_sample *s, unsigned long long after_us)
{
	return s->pid != 0 && s->time_us > after_us && busy(s) <= 100;
}

/* The clock of the driver is the machine's: it was set back, or a time was garbage. */
static void follow_clock(struct tw_nvml_users *u)
{
	const unsigned long long now_us = 1000 * (unsigned long long)tw_wall_ms();

	if (u->seen_us > now_us + AHEAD_MAX_US)
		u->seen_us = now_us;
}

/* Each entry is the mean since the last look, of which the newest sample is the end. */
static void look_at_samples(struct tw_nvml_users *u, const struct tw_nvml *n,
			    tw_nvml_device d)
{
	const unsigned long long after_us = u->seen_us;
	unsigned long long over_us;
	unsigned count;
	int code;

	if (!read_samples(u, n, d, &count, &code)) {
		if (code != TW_NVML_NOT_FOUND)
			u->seen_ns = 0;
		else
			follow_clock(u);
		return;
	}
	for (unsigned i = 0; i < count; i++)
		if (is_sample(&u->sample[i], u->seen_us))
			u->seen_us = u->sample[i].time_us;
	over_us = u->seen_us - after_us;
	if (over_us > SAMPLE_MAX_US)
		over_us = SAMPLE_MAX_US;
	u->sampled_ns += over_us * US_NS;
	for (unsigned i = 0; i < count; i++)
		if (is_sample(&u->sample[i], after_us))
			add_use(u, u->sample[i].pid, u->sample[i].pid,
				busy(&u->sample[i]) * over_us * PERCENT_US_NS);
	u->seen_ns = u->done ? 0 : tw_now_ns();
	if (over_us == 0)
		follow_clock(u);
}

/* ---- MIG ---- */

struct holder {
	unsigned pid, instance;
};

/* The instances of a GPU, and the processes that hold them. */
struct instances {
	double size[TW_NVML_INSTANCES]; /* part of the GPU; 0: no such instance */
	unsigned holders[TW_NVML_INSTANCES];
	struct holder holder[TW_NVML_HOLDERS];
	unsigned count;
};

static unsigned read_list(int (*list)(tw_nvml_device, unsigned *,
				      struct tw_nvml_process *),
			  tw_nvml_device d, struct tw_nvml_process *out, int *code)
{
	unsigned count = TW_NVML_HOLDERS;

	*code = list != NULL ? list(d, &count, out) : TW_NVML_NOT_SUPPORTED;
	return *code == TW_NVML_OK && count <= TW_NVML_HOLDERS ? count : 0;
}

/* A device of MIG is a compute instance; several of them may share a GPU instance. */
static void add_device(struct instances *all, const struct tw_nvml *n, tw_nvml_device mig,
		       unsigned devices)
{
	struct tw_nvml_process p[TW_NVML_HOLDERS];
	struct tw_nvml_attributes a = { 0 };
	unsigned id, count;
	int code;

	if (n->instance_of(mig, &id) != TW_NVML_OK || id >= TW_NVML_INSTANCES ||
	    n->attributes(mig, &a) != TW_NVML_OK)
		return;
	all->size[id] = fmin((double)a.instance_slices / devices, 1);
	count = read_list(n->processes, mig, p, &code);
	for (unsigned i = 0; i < count && all->count < TW_NVML_HOLDERS; i++) {
		all->holder[all->count++] = (struct holder){ p[i].pid, id };
		all->holders[id]++;
	}
}

/* False if the driver does not report instances. */
static bool find_instances(struct instances *all, const struct tw_nvml *n,
			   tw_nvml_device d)
{
	unsigned devices = 0;
	tw_nvml_device mig;

	*all = (struct instances){ .count = 0 };
	if (n->mig_count == NULL || n->mig_at == NULL || n->instance_of == NULL ||
	    n->attributes == NULL || n->mig_count(d, &devices) != TW_NVML_OK)
		return false;
	for (unsigned i = 0; i < devices && i < TW_NVML_INSTANCES; i++)
		if (n->mig_at(d, i, &mig) == TW_NVML_OK)
			add_device(all, n, mig, devices);
	return true;
}

/* The busy part of an instance between two samples; below 0: unknown. */
static double between(const struct tw_nvml *n, tw_nvml_gpm_sample from,
		      tw_nvml_gpm_sample to)
{
	struct tw_nvml_gpm g = {
		.version = TW_NVML_GPM_VERSION, .count = 1, .from = from, .to = to
	};
	const struct tw_nvml_gpm_metric *m = &g.metric[0];

	g.metric[0].id = TW_NVML_GPM_SM;
	if (n->gpm_metrics(&g) != TW_NVML_OK || m->code != TW_NVML_OK ||
	    !isfinite(m->value) || m->value < 0)
		return -1;
	return fmin(m->value / 100, 1);
}

/* Sample the counters of an instance; false if the driver does not report them. */
static bool sample_instance(struct tw_nvml_users *u, const struct tw_nvml *n,
			    tw_nvml_device d, unsigned id)
{
	return n->gpm_alloc != NULL && n->gpm_free != NULL &&
	       n->gpm_of_instance != NULL && n->gpm_metrics != NULL &&
	       (u->fresh != NULL || n->gpm_alloc(&u->fresh) == TW_NVML_OK) &&
	       n->gpm_of_instance(d, id, u->fresh) == TW_NVML_OK;
}

/* The busy part of an instance since the last look; below 0: unknown. */
static double activity(struct tw_nvml_users *u, const struct tw_nvml *n, tw_nvml_device d,
		       unsigned id)
{
	const bool had = u->has_gpm[id];
	const tw_nvml_gpm_sample before = u->gpm[id];

	u->has_gpm[id] = sample_instance(u, n, d, id);
	if (!u->has_gpm[id])
		return -1;
	u->gpm[id] = u->fresh;
	u->fresh = before;
	return had ? between(n, before, u->gpm[id]) : -1;
}

static void look_at_instances(struct tw_nvml_users *u, const struct tw_nvml *n,
			      tw_nvml_device d, uint64_t over_ns)
{
	double used_ns[TW_NVML_INSTANCES] = { 0 };
	struct instances all;

	u->seen_ns = 0;
	u->holders = -1;
	u->load = -1;
	if (!find_instances(&all, n, d))
		return;
	u->load = 0;
	for (unsigned id = 0; id < TW_NVML_INSTANCES; id++) {
		double busy;

		if (all.size[id] == 0) {
			u->has_gpm[id] = false;
			continue;
		}
		busy = activity(u, n, d, id);
		if (busy < 0)
			busy = all.holders[id] > 0 ? 1 : 0;
		u->load = fmin(u->load + busy * all.size[id], 1);
		used_ns[id] = busy * all.size[id] * (double)over_ns;
	}
	for (unsigned i = 0; i < all.count; i++) {
		const unsigned id = all.holder[i].instance;

		add_use(u, all.holder[i].pid, UNIT_OF_INSTANCE(id),
			(uint64_t)used_ns[id] / all.holders[id] + 1);
	}
	u->holders = (int)all.count;
}

bool tw_nvml_divided(const struct tw_nvml *n, tw_nvml_device d)
{
	unsigned now, pending;

	return n->mig_mode != NULL && n->mig_mode(d, &now, &pending) == TW_NVML_OK &&
	       now != 0;
}

/* ---- MPS ---- */

/*
 * The owner of a process is the owner of /proc/PID. The files inside it belong to root if
 * the process is not dumpable: PR_SET_DUMPABLE of prctl(2).
 */
static bool owner_of(const char *proc, unsigned pid, uid_t *owner)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%u", proc, pid);
	if (stat(path, &st) < 0)
		return false;
	*owner = st.st_uid;
	return true;
}

static bool is_server(const char *proc, unsigned pid)
{
	char path[256], name[64];
	struct tw_err err = { 0 };
	size_t len;

	snprintf(path, sizeof(path), "%s/%u/comm", proc, pid);
	return tw_file_read_at(AT_FDCWD, path, name, sizeof(name), &len, &err) == 0 &&
	       strcmp(name, "nvidia-cuda-mps\n") == 0;
}

/*
 * Give the use of a server to its clients, in equal parts. Any process can have the
 * server's name: so only root's server gives use to clients of other owners.
 */
static void pass_on(struct tw_nvml_users *u, size_t at, const struct tw_nvml_process *p,
		    unsigned count)
{
	const struct tw_zone_user server = u->at[at];
	unsigned client[TW_NVML_HOLDERS], clients = 0;
	uid_t owner, of_client;

	if (!is_server(u->proc, server.tgid) || !owner_of(u->proc, server.tgid, &owner))
		return;
	for (unsigned i = 0; i < count; i++)
		if (p[i].pid != server.tgid && owner_of(u->proc, p[i].pid, &of_client) &&
		    (owner == 0 || owner == of_client))
			client[clients++] = p[i].pid;
	if (clients == 0)
		return;
	u->at[at].used_ns = 0;
	for (unsigned i = 0; i < clients; i++)
		add_use(u, client[i], server.unit, server.used_ns / clients);
}

static void pass_to_clients(struct tw_nvml_users *u, const struct tw_nvml *n,
			    tw_nvml_device d)
{
	struct tw_nvml_process p[TW_NVML_HOLDERS];
	int code;
	const unsigned count = read_list(n->mps_clients, d, p, &code);
	const size_t users = u->count;

	if (count == 0 || u->proc == NULL)
		return;
	for (size_t i = 0; i < users; i++)
		pass_on(u, i, p, count);
}

/* ---- the users ---- */

int tw_nvml_users_open(struct tw_nvml_users *u, const struct tw_nvml *n, tw_nvml_device d,
		       struct tw_err *err)
{
	unsigned count;
	int code;

	u->watched_ns = u->read_ns = tw_now_ns();
	u->load = u->holders = -1;
	u->done = true;
	if (!make_room(u, SAMPLES_USUAL))
		return tw_fail(err, TW_NOMEM, "users of a GPU");
	if (n->samples != NULL) {
		read_samples(u, n, d, &count, &code);
		u->sampled = code != TW_NVML_NOT_SUPPORTED;
	}
	return 0;
}

void tw_nvml_users_release(struct tw_nvml_users *u, const struct tw_nvml *n)
{
	free(u->at);
	free(u->sample);
	for (unsigned i = 0; i < TW_NVML_INSTANCES; i++)
		if (u->gpm[i] != NULL)
			n->gpm_free(u->gpm[i]);
	if (u->fresh != NULL)
		n->gpm_free(u->fresh);
	*u = (struct tw_nvml_users){ .at = NULL };
}

void tw_nvml_users_watch(struct tw_nvml_users *u, const struct tw_nvml *n,
			 tw_nvml_device d)
{
	const uint64_t now = tw_now_ns(), over_ns = now - u->watched_ns;

	u->divided = tw_nvml_divided(n, d);
	if (u->divided) {
		if (over_ns < GPM_NS && u->load >= 0)
			return;
		u->watched_ns = now;
		look_at_instances(u, n, d, over_ns);
		return;
	}
	u->watched_ns = now;
	u->load = -1;
	if (u->sampled)
		look_at_samples(u, n, d);
}

/* Processes that hold a GPU keep it awake, whether they use it or not. */
static void add_holders(struct tw_nvml_users *u, const struct tw_nvml_process *p,
			unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		add_use(u, p[i].pid, p[i].pid, 1);
}

/* Set the time of the use. By the driver's clock it may be longer than by ours. */
static void end(struct tw_nvml_users *u)
{
	const uint64_t passed_ns = u->watched_ns - u->read_ns;
	const uint64_t of_ns = passed_ns > u->sampled_ns ? passed_ns : u->sampled_ns;

	if (!u->done)
		for (size_t i = 0; i < u->count; i++)
			u->at[i].of_ns = of_ns;
	u->done = true;
	u->read_ns = u->watched_ns;
	u->sampled_ns = 0;
}

void tw_nvml_users_read(struct tw_nvml_users *u, const struct tw_nvml *n,
			tw_nvml_device d)
{
	struct tw_nvml_process p[TW_NVML_HOLDERS];
	unsigned count = 0;
	int code = TW_NVML_OK;

	tw_nvml_users_watch(u, n, d);
	if (!u->divided) {
		count = read_list(n->processes, d, p, &code);
		u->holders = code == TW_NVML_OK ? (int)count : -1;
	}
	/* Without new samples the last use goes on, for HOLD_NS. */
	if (u->done && (u->seen_ns == 0 || tw_now_ns() - u->seen_ns > HOLD_NS))
		u->count = 0;
	if (!u->done || u->count == 0) {
		add_holders(u, p, count);
		pass_to_clients(u, n, d);
	}
	end(u);
}
