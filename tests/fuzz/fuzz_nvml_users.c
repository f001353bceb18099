/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/meters/nvml_users.h"
#include "lib/core/err.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the library answers: bytes of the input, codes and counts with them. */
static const uint8_t *at, *end;

static void take(void *to, size_t len)
{
	const size_t n = (size_t)(end - at) < len ? (size_t)(end - at) : len;

	memset(to, 0, len);
	memcpy(to, at, n);
	at += n;
}

/* A code, and a count that is the room there is, or more, or whatever. */
static int answer(void *out, size_t each, unsigned *count)
{
	uint8_t how[2];
	const unsigned room = *count;

	take(how, sizeof(how));
	if (how[0] % 8 == 7)
		take(count, sizeof(*count));
	else
		*count = how[1] < room ? how[1] : room;
	for (unsigned i = 0; i < room && i < *count; i++)
		take((char *)out + i * each, each);
	return how[0] / 8;
}

static int samples(tw_nvml_device d, struct tw_nvml_sample *out, unsigned *count,
		   unsigned long long after_us)
{
	(void)d;
	(void)after_us;
	return answer(out, sizeof(*out), count);
}

static int processes(tw_nvml_device d, unsigned *count, struct tw_nvml_process *out)
{
	(void)d;
	return answer(out, sizeof(*out), count);
}

static int number(tw_nvml_device d, unsigned *out)
{
	uint8_t how[2];

	(void)d;
	take(how, sizeof(how));
	*out = how[1];
	return how[0] / 8;
}

static int mig_mode(tw_nvml_device d, unsigned *now, unsigned *pending)
{
	*pending = 0;
	return number(d, now);
}

static int mig_at(tw_nvml_device d, unsigned i, tw_nvml_device *out)
{
	unsigned ignored;

	(void)i;
	*out = NULL;
	return number(d, &ignored);
}

static int attributes(tw_nvml_device d, struct tw_nvml_attributes *out)
{
	take(out, sizeof(*out));
	return number(d, &out->instance_slices);
}

static int gpm_alloc(tw_nvml_gpm_sample *out)
{
	*out = malloc(1);
	return *out != NULL ? TW_NVML_OK : TW_NVML_MEMORY;
}

static int gpm_free(tw_nvml_gpm_sample sample)
{
	free(sample);
	return TW_NVML_OK;
}

static int gpm_of_instance(tw_nvml_device d, unsigned id, tw_nvml_gpm_sample out)
{
	(void)out;
	return number(d, &id);
}

static int gpm_metrics(struct tw_nvml_gpm *g)
{
	unsigned ignored;

	take(&g->metric[0].value, sizeof(double));
	return number(NULL, &ignored);
}

/* Property: users are somebody and have used something. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_nvml n = { .samples = samples,
			     .processes = processes,
			     .mig_mode = mig_mode,
			     .mig_count = number,
			     .mig_at = mig_at,
			     .instance_of = number,
			     .attributes = attributes,
			     .gpm_alloc = gpm_alloc,
			     .gpm_free = gpm_free,
			     .gpm_of_instance = gpm_of_instance,
			     .gpm_metrics = gpm_metrics };
	struct tw_nvml_users u = { .count = 0 };
	struct tw_err err = { 0 };

	at = data;
	end = data + size;
	if (tw_nvml_users_open(&u, &n, NULL, &err) == 0) {
		for (int i = 0; i < 4; i++) {
			u.watched_ns -= 1000000000; /* GPM has something new */
			tw_nvml_users_read(&u, &n, NULL);
			for (size_t k = 0; k < u.count; k++)
				if (u.at[k].tgid == 0 || u.at[k].used_ns == 0 ||
				    u.at[k].used_ns > UINT64_C(1) << 50)
					abort();
		}
	}
	tw_nvml_users_release(&u, &n);
	return 0;
}
