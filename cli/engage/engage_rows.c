/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/engage/engage_rows.h"

#include "lib/core/err.h"
#include "lib/field/feature.h"
#include "trainer/extract/extract.h"
#include "trainer/response/prom.h"

#include <math.h>
#include <string.h>

#define CPU_TIME "bpf_cpu_time_ms"

/* The first component of the source that has power. */
static bool find_component(const struct tw_energy_source *s, const struct tw_dataset *d,
			   enum tw_component *out)
{
	for (size_t i = 0; i < s->count; i++) {
		*out = s->components[i];
		if (tw_dataset_find(d, tw_power_column(*out)) != NULL)
			return true;
	}
	return false;
}

static int extract(const struct tw_prom *p, const struct tw_energy_source *source,
		   const struct tw_feature_group *group, struct tw_engage_rows *out,
		   struct tw_err *err)
{
	struct tw_engage_rows r = { .source = source, .group = group };
	const struct tw_extract_args args = { .source = source,
					      .group = group,
					      .level = TW_ROWS_NODE,
					      .correct_lag = true,
					      .quality = &r.quality };

	if (tw_extract(p, &args, &r.data, err) < 0)
		return -1;
	if (!find_component(source, &r.data, &r.component)) {
		tw_engage_rows_release(&r);
		return tw_fail(err, TW_NOTFOUND, "no power of '%s'", source->name);
	}
	r.watts = tw_dataset_find(&r.data, tw_power_column(r.component));
	r.cpu_ms = tw_dataset_find(&r.data, CPU_TIME);
	*out = r;
	return 0;
}

static bool has_cpu_time(const struct tw_feature_group *g)
{
	for (size_t i = 0; i < g->count; i++)
		if (strcmp(g->features[i], CPU_TIME) == 0)
			return true;
	return false;
}

/* Try the groups: those with CPU time first. */
static int extract_any(const struct tw_prom *p, const struct tw_energy_source *source,
		       struct tw_engage_rows *out, struct tw_err *err)
{
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < tw_feature_group_count(); i++) {
			const struct tw_feature_group *g = tw_feature_group_at(i);
			struct tw_err why = { 0 };

			if (g->count == 0 || g->by_name || has_cpu_time(g) != (pass == 0))
				continue;
			if (extract(p, source, g, out, &why) == 0)
				return 0;
			if (why.code == TW_INVALID || why.code == TW_NOMEM)
				tw_fail(err, why.code, "%s", why.text);
		}
	}
	return tw_fail(err, TW_NOTFOUND, "no power of '%s'", source->name);
}

static int read_source(const struct tw_prom *p, const struct tw_energy_source *source,
		       const struct tw_feature_group *group, struct tw_engage_rows *out,
		       struct tw_err *err)
{
	return group != NULL ? extract(p, source, group, out, err)
			     : extract_any(p, source, out, err);
}

int tw_engage_rows_read(const char *response, const struct tw_energy_source *source,
			const struct tw_feature_group *group, struct tw_engage_rows *out,
			struct tw_err *err)
{
	struct tw_prom *p = NULL;
	int rc = -1;

	if (tw_prom_read(response, &p, err) < 0)
		return -1;
	if (source != NULL) {
		rc = read_source(p, source, group, out, err);
		goto out;
	}
	for (size_t i = 0; i < tw_energy_source_count(); i++) {
		struct tw_err why = { 0 };

		if (!tw_energy_source_is_measured(tw_energy_source_at(i)))
			continue;
		rc = read_source(p, tw_energy_source_at(i), group, out, &why);
		if (rc == 0)
			goto out;
		if (why.code != TW_NOTFOUND) {
			tw_fail(err, why.code, "%s", why.text);
			goto out;
		}
	}
	tw_fail(err, TW_NOTFOUND,
		"the collector measures no power: 'tallywatt probe' says why; simulated "
		"or estimated power needs --source");
out:
	tw_prom_free(p);
	return rc;
}

struct tw_engage_mean tw_engage_rows_mean(const struct tw_engage_rows *r, int64_t from_ms,
					  int64_t to_ms)
{
	struct tw_engage_mean m = { 0 };

	for (size_t i = 0; i < r->data.rows; i++) {
		if (r->data.time_ms[i] < from_ms || r->data.time_ms[i] >= to_ms)
			continue;
		m.rows++;
		m.watts += r->watts[i];
		m.cpus += r->cpu_ms != NULL ? r->cpu_ms[i] / 1e3 : (double)NAN;
	}
	m.watts /= (double)m.rows;
	m.cpus /= (double)m.rows;
	return m;
}

void tw_engage_rows_release(struct tw_engage_rows *r)
{
	tw_dataset_release(&r->data);
	tw_quality_release(&r->quality);
	*r = (struct tw_engage_rows){ 0 };
}
