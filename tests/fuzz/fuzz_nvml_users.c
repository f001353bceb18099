/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/meters/nvml.h"
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

static int processes_v1(tw_nvml_device d, unsigned *count, struct tw_nvml_process_v1 *out)
{
	(void)d;
	return answer(out, sizeof(*out), count);
}

/* Property: users are somebody and have used something. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_nvml n = { .samples = samples,
			     .processes = { processes, NULL },
			     .processes_v1 = { NULL, processes_v1 } };
	struct tw_nvml_users u = { .count = 0 };
	struct tw_err err = { 0 };

	at = data;
	end = data + size;
	if (tw_nvml_users_open(&u, &n, NULL, &err) == 0) {
		for (int i = 0; i < 4; i++) {
			tw_nvml_users_read(&u, &n, NULL);
			for (size_t k = 0; k < u.count; k++)
				if (u.at[k].tgid == 0 || u.at[k].weight == 0)
					abort();
		}
	}
	tw_nvml_users_release(&u);
	return 0;
}
