/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/response/machine_info.h"

#include "lib/core/num.h"
#include "profiler/name.h"
#include "profiler/spec.h"
#include "trainer/response/prom_store.h"

#include <string.h>

/* Limits of a machine. */
#define CPUS_MAX 65536
#define CHIPS_MAX 1024

static const struct tw_series *find_latest(const struct tw_series *s, size_t count)
{
	const struct tw_series *latest = NULL;

	for (size_t i = 0; i < count; i++)
		if (!s[i].guest &&
		    (latest == NULL ||
		     tw_packed_last(&s[i].time_ms) >= tw_packed_last(&latest->time_ms)))
			latest = &s[i];
	return latest;
}

/* The labels are the members of a machine spec; others are ignored. */
static int take_labels(const struct tw_series *s, const char *metric,
		       struct tw_machine_spec *out, struct tw_err *err)
{
	unsigned seen = 0;

	for (size_t i = 0; i < s->labels; i++) {
		const struct tw_label *l = &s->label[i];
		const struct tw_spec_value v = { .kind = "a string",
						 .text = l->value,
						 .len = strlen(l->value) };

		if (tw_machine_spec_take(out, &seen, l->name, &v, metric, err) < 0)
			return -1;
	}
	return 0;
}

/* The number after the largest in a label of the series; 0 if one is not a number. */
static uint32_t count_by(const struct tw_series *s, size_t count, const char *label,
			 uint64_t limit)
{
	uint64_t end = 0, number;

	for (size_t i = 0; i < count; i++) {
		const char *text = tw_series_label(&s[i], label);

		if (s[i].guest)
			continue;
		if (text == NULL || !tw_parse_u64(text, strlen(text), &number) ||
		    number >= limit)
			return 0;
		end = number >= end ? number + 1 : end;
	}
	return (uint32_t)end;
}

static void take_cpus(const struct tw_series *s, size_t count,
		      struct tw_machine_spec *out)
{
	const struct tw_series *latest = find_latest(s, count);
	const char *vendor, *model;

	if (latest == NULL)
		return;
	vendor = tw_series_label(latest, "vendor_id");
	model = tw_series_label(latest, "model_name");
	if (vendor != NULL)
		tw_vendor_name(vendor, strlen(vendor), out->vendor);
	if (model != NULL)
		tw_processor_name(model, strlen(model), out->processor);
	out->cores = count_by(s, count, "processor", CPUS_MAX);
	out->chips = count_by(s, count, "physical_id", CHIPS_MAX);
}

int tw_machine_info_read(const struct tw_prom *p, struct tw_machine_spec *out,
			 struct tw_err *err)
{
	size_t count;
	const struct tw_series *s = tw_prom_series(p, "tallywatt_node_info", &count),
			       *latest = find_latest(s, count);

	*out = (struct tw_machine_spec){ 0 };
	if (latest != NULL)
		return take_labels(latest, "tallywatt_node_info", out, err);
	s = tw_prom_series(p, "kepler_node_cpu_info", &count);
	take_cpus(s, count, out);
	return 0;
}
