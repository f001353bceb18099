/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/balance.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "trainer/extract/node_rows.h"
#include "trainer/extract/power_series.h"
#include "trainer/extract/rates.h"

#include <math.h>
#include <string.h>

static const char *const modes[] = { "node_cpu_user_ms", "node_cpu_system_ms",
				     "node_cpu_nice_ms", "node_cpu_irq_ms",
				     "node_cpu_softirq_ms" };
/* The first so many are needed. */
#define NEEDED_MODES 2

static bool is_interrupt(const struct tw_metric_series *m)
{
	return strstr(m->metric->feature, "irq") != NULL;
}

/* CPU time of a row, ms a second. */
static double sum_modes(const struct tw_node_rows *n,
			const struct tw_metric_series *feature, size_t k, bool interrupts)
{
	double sum = 0;

	for (size_t f = 0; f < n->features; f++)
		if (interrupts || !is_interrupt(&feature[f]))
			sum += n->feature[f][k];
	return sum;
}

static double settle(const struct tw_node_rows *total, const struct tw_rates *r,
		     const struct tw_metric_series *feature,
		     const struct tw_node_rows *rows, double *node_ms)
{
	double used = 0, work = 0, all = 0;

	for (size_t k = 0; k < rows->rows; k++) {
		const double length_s = (r->to[k] - r->from[k]) / 1e3;

		if (!rows->filled[k] || !total->filled[k])
			continue;
		node_ms[k] = sum_modes(total, feature, k, false);
		used += rows->cpu_ms[k] / 1e3 * length_s;
		work += node_ms[k] / 1e3 * length_s;
		all += sum_modes(total, feature, k, true) / 1e3 * length_s;
	}
	return work > 0 ? fmin(fmax(used, work), all) : NAN;
}

static int read_total(const struct tw_prom *p, const struct tw_schema *schema,
		      const struct tw_extract_args *a,
		      const struct tw_power_series *power, const struct tw_clock *clock,
		      const struct tw_node_rows *rows, double *node_ms, double *out,
		      struct tw_err *err)
{
	const struct tw_feature_group group = { .name = "node",
						.features = modes,
						.count = TW_COUNT(modes),
						.of_node = true };
	struct tw_extract_args args = *a;
	struct tw_metric_series feature[TW_COUNT(modes)];
	struct tw_counter_set counters = { 0 };
	struct tw_node_rows total = { 0 };
	struct tw_rates rates = { 0 };
	size_t count;
	int rc = -1;

	args.group = &group;
	args.resets = TW_RESETS_CARRY;
	count = tw_extract_features(p, schema, &group, feature);
	if (count < NEEDED_MODES || strcmp(feature[NEEDED_MODES - 1].metric->feature,
					   modes[NEEDED_MODES - 1]) != 0)
		return 0;
	if (tw_workload_counters_find(feature, count, &args, NULL, &counters, err) < 0 ||
	    tw_rates_init(&rates, power, &counters, feature, clock, &args, err) < 0 ||
	    tw_node_rows_read(&total, &rates, &counters, feature, count, err) < 0)
		goto out;
	*out = settle(&total, &rates, feature, rows, node_ms);
	rc = 0;
out:
	tw_node_rows_release(&total);
	tw_rates_release(&rates);
	tw_counter_set_release(&counters);
	return rc;
}

int tw_balance_node_cpu(const struct tw_prom *p, const struct tw_schema *schema,
			const struct tw_extract_args *a,
			const struct tw_power_series *power, const struct tw_clock *clock,
			const struct tw_node_rows *rows, double *node_ms, double *out,
			struct tw_err *err)
{
	*out = NAN;
	if (rows->cpu_ms == NULL || a->vm_metrics)
		return 0;
	if (read_total(p, schema, a, power, clock, rows, node_ms, out, err) < 0)
		return -1;
	for (size_t i = 0; isnan(*out) && i < tw_schema_count(); i++)
		if (tw_schema_at(i) != schema &&
		    read_total(p, tw_schema_at(i), a, power, clock, rows, node_ms, out,
			       err) < 0)
			return -1;
	return 0;
}
