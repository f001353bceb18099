/* SPDX-License-Identifier: Apache-2.0 */
/* A build without BPF. */
#include "collector/counters.h"

#include "lib/err.h"

int tw_counters_open(bool software, struct tw_counters **out, struct tw_err *err)
{
	(void)software;
	(void)out;
	return tw_fail(err, TW_UNSUPPORTED, "counters: built without BPF");
}

void tw_counters_close(struct tw_counters *c)
{
	(void)c;
}

bool tw_counters_have(const struct tw_counters *c, enum tw_counter counter)
{
	(void)c;
	(void)counter;
	return false;
}

int tw_counters_read(struct tw_counters *c,
		     bool (*counted)(void *arg, uint32_t tgid,
				     const uint64_t more[TW_COUNTER_COUNT]),
		     void *arg, struct tw_err *err)
{
	(void)c;
	(void)counted;
	(void)arg;
	return tw_fail(err, TW_UNSUPPORTED, "counters: built without BPF");
}

void tw_counters_stats(const struct tw_counters *c, uint64_t *failed, uint64_t *lost)
{
	(void)c;
	*failed = *lost = 0;
}
