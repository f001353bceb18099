/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/memory.h"
#include "cli/run/run_energy.h"
#include "collector/power/node.h"
#include "collector/power/power.h"
#include "collector/system/roots.h"
#include "lib/ask/ask.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Looks before the first run: then it is known which zones have readings. */
#define FIRST_LOOKS (TW_POWER_WAIT_TICKS + 1)
#define FIRST_PAUSE_MS 100
#define ASK_MS 1000
/* The peak of a shorter time is one of the meter's steps. */
#define PEAK_NS UINT64_C(90000000)

struct tw_run_meter {
	struct tw_node node;
	struct tw_power *power;
	uint64_t last_ns; /* of the last look, without suspend */
	double joules, peak_w;
};

/* Read all meters; the joules since the last look. */
static double look(struct tw_run_meter *m)
{
	const uint64_t now_ns = tw_boot_ns(), awake_ns = tw_now_ns(),
		       tick_ns = m->last_ns != 0 ? awake_ns - m->last_ns : 0;
	const struct tw_charge *e;
	unsigned kinds;
	double uj = 0;

	tw_power_tick(m->power, now_ns, tick_ns, -1, NULL);
	m->last_ns = awake_ns;
	e = tw_power_ticked(m->power);
	kinds = tw_power_ticked_kinds(m->power);
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++)
		if ((kinds >> kind & 1U) != 0)
			uj += (double)(e->dynamic_uj[kind] + e->idle_uj[kind]);
	if (tick_ns >= PEAK_NS && !(uj * 1e3 / (double)tick_ns <= m->peak_w))
		m->peak_w = uj * 1e3 / (double)tick_ns;
	return uj / 1e6;
}

int tw_run_meter_open(const struct tw_roots *roots, struct tw_run_meter **out,
		      struct tw_err *err)
{
	const struct timespec pause = { .tv_nsec = FIRST_PAUSE_MS * 1000000L };
	const struct tw_ask_config ask = { .user = NULL };
	struct tw_run_meter *m = tw_must(calloc(1, sizeof(*m)));
	const struct tw_power_config pc = { .meter = { .roots = roots,
						       .node = &m->node,
						       .ask = &ask,
						       .ipmi_interval_ms = ASK_MS } };

	if (tw_node_open(&m->node, roots, err) < 0 ||
	    tw_power_open(&pc, &m->power, err) < 0)
		goto failed;
	for (int i = 0; i < FIRST_LOOKS; i++) {
		if (i > 0)
			nanosleep(&pause, NULL);
		look(m);
	}
	if (tw_power_sum_kinds(m->power) == 0) {
		tw_fail(err, TW_NOTFOUND,
			"no power meter can be read here ('sudo tallywatt probe' says "
			"why), and no tw-collector runs");
		goto failed;
	}
	*out = m;
	return 0;
failed:
	tw_run_meter_close(m);
	return -1;
}

void tw_run_meter_close(struct tw_run_meter *m)
{
	if (m == NULL)
		return;
	tw_power_close(m->power);
	tw_node_release(&m->node);
	free(m);
}

void tw_run_meter_begin(struct tw_run_meter *m)
{
	look(m);
	m->joules = 0;
	m->peak_w = NAN;
}

void tw_run_meter_look(struct tw_run_meter *m)
{
	m->joules += look(m);
}

void tw_run_meter_end(struct tw_run_meter *m, struct tw_run_figures *out)
{
	size_t count;
	const struct tw_power_zone *z;
	const unsigned kinds = tw_power_sum_kinds(m->power);

	tw_run_meter_look(m);
	*out = (struct tw_run_figures){ .machine = true,
					.joules = m->joules,
					.peak_w = m->peak_w,
					.idle_joules = NAN,
					.error_joules = NAN };
	z = tw_power_zones(m->power, &count);
	for (size_t i = 0; i < count; i++) {
		const size_t used = strlen(out->source);

		if (!z[i].counts || z[i].silent || (kinds >> z[i].zone->kind & 1U) == 0)
			continue;
		if (!z[i].fresh) {
			out->joules = NAN;
			snprintf(out->why, sizeof(out->why), "%s: %.90s", z[i].zone->name,
				 z[i].why);
		}
		if (strstr(out->source, z[i].source) == NULL)
			snprintf(out->source + used, sizeof(out->source) - used,
				 "%s%.64s", used > 0 ? ", " : "", z[i].source);
	}
}
