/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/train_progress.h"

#include "lib/core/clock.h"

#include <stdio.h>

/* Until the first line, and between lines. */
#define PATIENCE_NS UINT64_C(5000000000)
#define BETWEEN_NS UINT64_C(2000000000)

void tw_train_progress_start(struct tw_train_progress *p, const char *program)
{
	p->program = program;
	p->start_ns = tw_now_ns();
	p->next_ns = p->start_ns + PATIENCE_NS;
}

void tw_train_progress_show(void *arg, size_t fits, size_t of)
{
	struct tw_train_progress *p = arg;
	const uint64_t now_ns = tw_now_ns();
	uint64_t next_ns = p->next_ns;

	if (now_ns < next_ns ||
	    !atomic_compare_exchange_strong(&p->next_ns, &next_ns, now_ns + BETWEEN_NS))
		return;
	fprintf(stderr, "%s: %zu of %zu fits, %.0f s\n", p->program, fits, of,
		(double)(now_ns - p->start_ns) / 1e9);
}
