/* SPDX-License-Identifier: Apache-2.0 */
#include "isolator/isolator.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "trainer/extract/extract.h"
#include "trainer/response/machines.h"
#include "trainer/response/prom.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: shares of packages add up to 1. */
static void check_shares(const struct tw_dataset *d)
{
	for (size_t r = 0; r < d->rows; r++) {
		double sum = 0;
		bool any = false;

		for (size_t i = 0; i < d->cols; i++) {
			if (!tw_isolate_is_share(d->col[i].name))
				continue;
			any = true;
			sum += d->col[i].v[r];
		}
		if (any && !(fabs(sum - 1) < 1e-9))
			abort();
	}
}

/* Property: rows are in order of time, then of id, and every value is finite. */
static void check(const struct tw_dataset *d)
{
	check_shares(d);
	for (size_t r = 0; r < d->rows; r++) {
		if (r > 0 && d->time_ms[r] < d->time_ms[r - 1])
			abort();
		if (r > 0 && d->time_ms[r] == d->time_ms[r - 1] &&
		    (d->id == NULL ||
		     strcmp(d->ids.at[d->id[r - 1]], d->ids.at[d->id[r]]) >= 0))
			abort();
		for (size_t i = 0; i < d->cols; i++)
			if (!isfinite(d->col[i].v[r]))
				abort();
	}
}

static void extract(const struct tw_prom *p, const char *source, const char *group,
		    unsigned flags, const char *machine)
{
	struct tw_buf warnings = { 0 };
	const struct tw_extract_args args = {
		.source = tw_energy_source_find(source),
		.group = tw_feature_group_find(group),
		.level = (flags & 1) != 0 ? TW_ROWS_CONTAINER : TW_ROWS_NODE,
		.resets = (flags & 2) != 0 ? TW_RESETS_CARRY : TW_RESETS_REFUSE,
		.compat = (flags & 4) != 0 ? TW_COMPAT_KMS : TW_COMPAT_NONE,
		.packages = (flags & 8) != 0,
		.warnings = &warnings,
		.machine = machine,
	};
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	if (tw_extract(p, &args, &d, &err) == 0)
		check(&d);
	else if (err.code == TW_OK || err.text[0] == '\0' || d.rows != 0)
		abort();
	tw_buf_clear(&warnings);
	tw_dataset_release(&d);
}

/* Property: names are sorted, and each machine has series. */
static void check_machines(const struct tw_prom *p)
{
	struct tw_machines m = { 0 };
	struct tw_err err = { 0 };

	if (tw_machines_find(p, NULL, TW_PARTS_OF_SEVERAL, &m, &err) < 0) {
		if (err.code == TW_OK || m.name != NULL)
			abort();
		return;
	}
	for (size_t i = 0; i < m.count && i < 3; i++) {
		if (i > 0 && strcmp(m.name[i - 1], m.name[i]) >= 0)
			abort();
		extract(p, "redfish", "BPFOnly", 0, m.name[i]);
		extract(p, "rapl-sysfs", "NodeCPUFreq", 0, m.name[i]);
	}
	tw_machines_release(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };

	if (tw_prom_parse((const char *)data, size, &p, &err) < 0) {
		if (err.code == TW_OK || p != NULL)
			abort();
		return 0;
	}
	for (unsigned flags = 0; flags < 8; flags++) {
		extract(p, "acpi", "BPFOnly", flags, NULL);
		extract(p, "rapl-sysfs", "CounterOnly", flags, NULL);
		extract(p, "rapl-sysfs", "BPFOnly", flags | 8, NULL);
	}
	check_machines(p);
	tw_prom_free(p);
	return 0;
}
