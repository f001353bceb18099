/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress_line.h"

#include "lib/core/clock.h"

#include <stdio.h>

/* Until the first line, and between lines. */
#define PATIENCE_NS UINT64_C(5000000000)
#define BETWEEN_NS UINT64_C(2000000000)

static void show(void *arg, const struct tw_train_progress *at)
{
	struct tw_progress_line *p = arg;
	const uint64_t now_ns = tw_now_ns();
	uint64_t next_ns = p->next_ns;

	if (at->of == 0 || now_ns < next_ns ||
	    !atomic_compare_exchange_strong(&p->next_ns, &next_ns, now_ns + BETWEEN_NS))
		return;
	fprintf(stderr, "%s: %zu of %zu fits, %.0f s\n", p->program, at->fits, at->of,
		(double)(now_ns - p->start_ns) / 1e9);
}

void tw_progress_line_start(struct tw_progress_line *p, const char *program)
{
	p->watch = (struct tw_train_watch){ .progress = show, .arg = p };
	p->program = program;
	p->start_ns = tw_now_ns();
	p->next_ns = p->start_ns + PATIENCE_NS;
}
