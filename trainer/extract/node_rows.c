/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/node_rows.h"

#include "lib/core/err.h"
#include "trainer/extract/rates.h"

#include <stdlib.h>
#include <string.h>

/* Whether the feature is CPU time: of workloads, or of the node in one mode. */
static bool is_cpu_time(const struct tw_metric_series *m)
{
	const char *name = m->metric->feature;

	return strcmp(name, "bpf_cpu_time_ms") == 0 ||
	       strncmp(name, "node_cpu_", strlen("node_cpu_")) == 0;
}

static int reserve(struct tw_node_rows *n, struct tw_err *err)
{
	n->memory = calloc((n->features + 1) * n->rows + 1, sizeof(*n->memory));
	n->feature = calloc(n->features + 1, sizeof(*n->feature));
	n->filled = calloc(n->rows + 1, sizeof(*n->filled));
	if (n->memory == NULL || n->feature == NULL || n->filled == NULL)
		return tw_fail(err, TW_NOMEM, "sums of %zu rows", n->rows);
	for (size_t f = 0; f < n->features; f++)
		n->feature[f] = n->memory + f * n->rows;
	return 0;
}

static void add_cpu_time(struct tw_node_rows *n, const struct tw_metric_series *feature)
{
	for (size_t f = 0; f < n->features; f++) {
		if (!is_cpu_time(&feature[f]))
			continue;
		n->cpu_ms = n->memory + n->features * n->rows;
		for (size_t k = 0; k < n->rows; k++)
			n->cpu_ms[k] += n->feature[f][k];
	}
}

static int read_all(struct tw_node_rows *n, struct tw_rates *r,
		    const struct tw_counter_set *c,
		    const struct tw_metric_series *feature, struct tw_err *err)
{
	size_t *row = calloc(n->rows + 1, sizeof(*row));
	int rc = -1;

	if (row == NULL)
		return tw_fail(err, TW_NOMEM, "%zu rows", n->rows);
	for (size_t k = 0; k < n->rows; k++)
		row[k] = k;
	for (size_t i = 0; i < c->count;) {
		if (tw_rates_next(r, c, feature, &i, n->feature, row, err) < 0)
			goto out;
		for (size_t k = 0; k < r->count; k++)
			n->filled[r->at[k]] = true;
	}
	rc = 0;
out:
	free(row);
	return rc;
}

int tw_node_rows_read(struct tw_node_rows *out, struct tw_rates *r,
		      const struct tw_counter_set *c,
		      const struct tw_metric_series *feature, size_t features,
		      struct tw_err *err)
{
	struct tw_node_rows n = { .rows = r->times, .features = features };

	if (reserve(&n, err) < 0 || read_all(&n, r, c, feature, err) < 0) {
		tw_node_rows_release(&n);
		return -1;
	}
	add_cpu_time(&n, feature);
	*out = n;
	return 0;
}

void tw_node_rows_release(struct tw_node_rows *n)
{
	free(n->feature);
	free(n->filled);
	free(n->memory);
	*n = (struct tw_node_rows){ 0 };
}
