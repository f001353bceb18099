/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/machines.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "trainer/extract/guest.h"
#include "trainer/extract/machines_ports.h"
#include "trainer/extract/prom_store.h"
#include "trainer/extract/schema.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add_series(struct tw_machines *m, const struct tw_series *s,
		      const char *const *labels, struct tw_err *err)
{
	size_t i = 0;
	const struct tw_machine_tag first = tw_machine_tag_next(s, labels, &i);
	struct tw_machine_tag other;

	if (tw_series_is_guest(s) || first.text == NULL)
		return 0;
	while (other = tw_machine_tag_next(s, labels, &i), other.text != NULL)
		if (tw_machine_alias_add(&m->aliases, other, first, err) < 0)
			return -1;
	return 0;
}

/* The machine of a series; *name is NULL for a guest's and where no label says it. */
static int name_series(const struct tw_machines *m, const struct tw_prom_metric *metric,
		       const struct tw_series *s, const char **name, struct tw_err *err)
{
	const char *const *labels = tw_schema_machine_labels(metric->name);
	const char *other[2] = { NULL, NULL };
	size_t i = 0;
	struct tw_machine_tag tag = tw_machine_tag_next(s, labels, &i);

	*name = NULL;
	if (tw_series_is_guest(s) || tag.text == NULL)
		return 0;
	*name = tw_machine_alias_resolve(&m->aliases, tag, other);
	if (*name != NULL)
		return 0;
	return tw_fail(err, TW_INVALID,
		       "%s: %s '%.60s' is of machine '%.60s' and of '%.60s'",
		       metric->name, tag.label, tag.text, other[0], other[1]);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, each once. */
static void sort_names(struct tw_machines *m)
{
	size_t n = 0;

	if (m->count > 1)
		qsort(m->name, m->count, sizeof(*m->name), compare_names);
	for (size_t i = 0; i < m->count; i++)
		if (i == 0 || strcmp(m->name[n - 1], m->name[i]) != 0)
			m->name[n++] = m->name[i];
	m->count = n;
}

static size_t count_series(const struct tw_prom *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->count; i++)
		n += p->metric[i].count;
	return n;
}

/* Names of all series; in *nameless the metric of a series that says none, or NULL. */
static int list_names(struct tw_machines *m, const struct tw_prom *p,
		      const char **nameless, struct tw_err *err)
{
	m->name = calloc(count_series(p) + 1, sizeof(*m->name));
	if (m->name == NULL)
		return tw_fail(err, TW_NOMEM, "names of machines");
	for (size_t i = 0; i < p->count; i++) {
		const struct tw_prom_metric *metric = &p->metric[i];

		for (size_t k = 0; k < metric->count; k++) {
			const char **name = &m->name[m->count];

			if (name_series(m, metric, &metric->series[k], name, err) < 0)
				return -1;
			if (*name == NULL && !tw_series_is_guest(&metric->series[k]))
				*nameless = metric->name;
			/* Series of one machine come one behind the other. */
			if (*name != NULL && (m->count == 0 || name[-1] != *name))
				m->count++;
		}
	}
	sort_names(m);
	return 0;
}

/* Give the ports of each host that are one machine the name of the first. */
static int join_ports(struct tw_machines *m, const struct tw_prom *p, struct tw_err *err)
{
	const size_t count = m->count;
	size_t end, kept = 0;

	for (size_t i = 0; i < count; i = end) {
		const struct tw_machine_tag to = { "", m->name[i] };
		bool same;

		end = tw_machines_host_end(m->name, count, i);
		same = end > i + 1 && tw_machines_same_host(p, m->name + i, end - i);
		for (size_t k = i; k < end; k++) {
			if (k == i || !same)
				m->name[kept++] = m->name[k];
			else if (tw_machine_alias_add(&m->aliases,
						      (struct tw_machine_tag){
							      "instance", m->name[k] },
						      to, err) < 0)
				return -1;
		}
	}
	m->count = kept;
	tw_machine_alias_sort(&m->aliases);
	return 0;
}

int tw_machines_find(const struct tw_prom *p, struct tw_machines *out, struct tw_err *err)
{
	struct tw_machines m = { 0 };
	const char *nameless = NULL;
	int rc = -1;

	for (size_t i = 0; i < p->count; i++) {
		const struct tw_prom_metric *metric = &p->metric[i];
		const char *const *labels = tw_schema_machine_labels(metric->name);

		for (size_t k = 0; k < metric->count; k++)
			if (add_series(&m, &metric->series[k], labels, err) < 0)
				goto out;
	}
	tw_machine_alias_follow(&m.aliases);
	if (list_names(&m, p, &nameless, err) < 0 || join_ports(&m, p, err) < 0)
		goto out;
	if (m.count > 1 && nameless != NULL) {
		tw_fail(err, TW_INVALID,
			"response holds machines '%.60s' and '%.60s', and a series of %s "
			"that says no machine",
			m.name[0], m.name[1], nameless);
		goto out;
	}

	*out = m;
	m = (struct tw_machines){ 0 };
	rc = 0;
out:
	tw_machines_release(&m);
	return rc;
}

/* ---- one of them ---- */

static int fail_unknown(const struct tw_machines *m, const char *name, struct tw_err *err)
{
	struct tw_buf list = { 0 };

	for (size_t i = 0; i < m->count; i++)
		tw_buf_addf(&list, "%s'%s'", i > 0 ? ", " : "", m->name[i]);
	tw_fail(err, tw_buf_failed(&list) ? TW_NOMEM : TW_NOTFOUND,
		"response has no machine '%s': it has %s", name,
		list.len > 0 ? list.data : "none with a name");
	tw_buf_clear(&list);
	return -1;
}

/* A response that has p's metrics without any series. */
static struct tw_prom *make_empty(const struct tw_prom *p, struct tw_err *err)
{
	struct tw_prom *one = tw_prom_new(err);

	if (one == NULL)
		return NULL;
	one->metric = calloc(p->count + 1, sizeof(*one->metric));
	if (one->metric == NULL) {
		tw_fail(err, TW_NOMEM, "%zu metrics of a machine", p->count);
		tw_prom_free(one);
		return NULL;
	}
	for (; one->count < p->count; one->count++)
		one->metric[one->count] = tw_prom_metric(p->metric[one->count].name);
	return one;
}

/* Borrow a series. */
static int append(struct tw_prom_metric *to, const struct tw_series *s,
		  struct tw_err *err)
{
	if (to->count == to->size) {
		size_t size = to->size != 0 ? to->size * 2 : 4;
		struct tw_series *more = realloc(to->series, size * sizeof(*more));

		if (more == NULL)
			return tw_fail(err, TW_NOMEM, "%zu series of '%s'", size,
				       to->name);
		to->series = more;
		to->size = size;
	}
	to->series[to->count++] = *s;
	return 0;
}

int tw_machines_select(const struct tw_machines *m, const struct tw_prom *p,
		       const char *name, struct tw_prom **out, struct tw_err *err)
{
	struct tw_prom *one = NULL;
	int rc = -1;

	if (bsearch(&name, m->name, m->count, sizeof(*m->name), compare_names) == NULL) {
		fail_unknown(m, name, err);
		goto out;
	}
	one = make_empty(p, err);
	if (one == NULL)
		goto out;
	for (size_t i = 0; i < p->count; i++) {
		for (size_t k = 0; k < p->metric[i].count; k++) {
			const struct tw_series *s = &p->metric[i].series[k];
			const char *whose;

			if (name_series(m, &p->metric[i], s, &whose, err) < 0)
				goto out;
			if (whose != NULL && strcmp(whose, name) != 0)
				continue;
			if (append(&one->metric[i], s, err) < 0)
				goto out;
		}
	}

	*out = one;
	one = NULL;
	rc = 0;
out:
	tw_prom_free(one);
	return rc;
}

/* One series to whose it is. */
static int deal(const struct tw_machines *m, const struct tw_prom_metric *metric,
		size_t place, const struct tw_series *s, struct tw_prom **to,
		struct tw_err *err)
{
	const char *whose, **found;

	if (name_series(m, metric, s, &whose, err) < 0)
		return -1;
	if (whose == NULL)
		return 0;
	found = bsearch(&whose, m->name, m->count, sizeof(*m->name), compare_names);
	return append(&to[found - m->name]->metric[place], s, err);
}

int tw_machines_split(const struct tw_machines *m, const struct tw_prom *p,
		      struct tw_prom **out, struct tw_err *err)
{
	for (size_t i = 0; i < m->count; i++) {
		out[i] = make_empty(p, err);
		if (out[i] == NULL)
			return -1;
	}
	for (size_t i = 0; i < p->count; i++)
		for (size_t k = 0; k < p->metric[i].count; k++)
			if (deal(m, &p->metric[i], i, &p->metric[i].series[k], out, err) <
			    0)
				return -1;
	return 0;
}

void tw_machines_release(struct tw_machines *m)
{
	free(m->name);
	tw_machine_alias_release(&m->aliases);
	*m = (struct tw_machines){ 0 };
}
