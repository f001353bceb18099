/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/response/machines.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "trainer/response/prom_store.h"
#include "trainer/response/schema.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- aliases ---- */

/* A label and its text. Equal texts of a response have equal addresses. */
struct tag {
	const char *label, *text;
};

/* The first of the labels from *i on that the series has, with text NULL if none. */
static struct tag next_tag(const struct tw_series *s, const char *const *labels,
			   size_t *i)
{
	struct tag tag = { 0 };

	for (; labels[*i] != NULL && tag.text == NULL; ++*i)
		tag = (struct tag){ labels[*i], tw_series_label(s, labels[*i]) };
	return tag;
}

static int compare_aliases(const void *left, const void *right)
{
	const struct tw_machine_alias *x = left, *y = right;
	int d = strcmp(x->label, y->label);

	d = d != 0 ? d : strcmp(x->text, y->text);
	d = d != 0 ? d : strcmp(x->to_label, y->to_label);
	return d != 0 ? d : strcmp(x->to_text, y->to_text);
}

static int add_alias(struct tw_machine_aliases *a, struct tag from, struct tag to,
		     struct tw_err *err)
{
	const struct tw_machine_alias alias = { from.label, from.text, to.label,
						to.text };

	/* Consecutive series are often of one machine. */
	if (a->count > 0 && compare_aliases(&a->at[a->count - 1], &alias) == 0)
		return 0;
	if (!tw_grow(&a->at, &a->size, a->count, sizeof(*a->at)))
		return tw_fail(err, TW_NOMEM, "%zu labels of machines", a->count);
	a->at[a->count++] = alias;
	return 0;
}

/* Sort and remove duplicates. */
static void sort_aliases(struct tw_machine_aliases *a)
{
	size_t n = 0;

	if (a->count > 1)
		qsort(a->at, a->count, sizeof(*a->at), compare_aliases);
	for (size_t i = 0; i < a->count; i++)
		if (i == 0 || compare_aliases(&a->at[n - 1], &a->at[i]) != 0)
			a->at[n++] = a->at[i];
	a->count = n;
}

/* Index where the tag's aliases start in the sorted list, or would. */
static size_t find_alias(const struct tw_machine_aliases *a, struct tag tag)
{
	const struct tw_machine_alias wanted = { tag.label, tag.text, "", "" };
	size_t low = 0, high = a->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_aliases(&a->at[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_alias_of(const struct tw_machine_aliases *a, size_t i, struct tag tag)
{
	return i < a->count && strcmp(a->at[i].label, tag.label) == 0 &&
	       strcmp(a->at[i].text, tag.text) == 0;
}

/*
 * The machine that a tag names: its alias' machine, else its own text. NULL if it has
 * aliases of two machines, which other[] gets.
 */
static const char *resolve_tag(const struct tw_machine_aliases *a, struct tag tag,
			       const char *other[2])
{
	const size_t i = find_alias(a, tag);

	if (!is_alias_of(a, i, tag))
		return tag.text;
	if (!is_alias_of(a, i + 1, tag))
		return a->at[i].to_text;
	other[0] = a->at[i].to_text;
	other[1] = a->at[i + 1].to_text;
	return NULL;
}

/*
 * Make each alias name a machine, not another alias: label by label from the first, since
 * an alias points to an earlier label. An ambiguous target stays; name_series() refuses
 * its series.
 */
static void follow_aliases(struct tw_machine_aliases *a)
{
	const char *const *labels = tw_schema_at(0)->machine_labels;

	sort_aliases(a);
	for (size_t l = 1; labels[l] != NULL; l++) {
		for (size_t i = 0; i < a->count; i++) {
			struct tw_machine_alias *one = &a->at[i];
			const struct tag to = { one->to_label, one->to_text };
			const char *other[2], *name;

			if (strcmp(one->label, labels[l]) != 0)
				continue;
			name = resolve_tag(a, to, other);
			one->to_text = name != NULL ? name : one->to_text;
		}
		/* Forget the target's label: aliases that name one machine are equal. */
		for (size_t i = 0; i < a->count; i++)
			if (strcmp(a->at[i].label, labels[l]) == 0)
				a->at[i].to_label = "";
		sort_aliases(a);
	}
}

/* ---- ports of a host ---- */

/* A host with more ports is not one machine. */
#define PORTS_MAX 64

/* Period in which a name has samples of a metric. */
struct span {
	bool any;
	double first, last;
};

/* Length of the host in "host:9102" or "[::1]:9102"; 0 without a port. */
static size_t host_len(const char *name)
{
	const char *colon = strrchr(name, ':');

	if (colon == NULL || colon == name || colon[1] == '\0' ||
	    strspn(colon + 1, "0123456789") != strlen(colon + 1))
		return 0;
	if (memchr(name, ':', (size_t)(colon - name)) != NULL && colon[-1] != ']')
		return 0;
	return (size_t)(colon - name);
}

/* Index after the last of the sorted names from i on that have the host of name[i]. */
static size_t find_host_end(const char *const *name, size_t count, size_t i)
{
	const size_t host = host_len(name[i]);
	size_t end = i + 1;

	while (host > 0 && end < count && host_len(name[end]) == host &&
	       memcmp(name[end], name[i], host) == 0)
		end++;
	return end;
}

static size_t find_name(const char *const *name, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name[i], text) == 0)
			return i;
	return count;
}

/* Extend the span of the series' name. False if the name comes from another label than
 * the last, instance: then the names are not addresses. */
static bool extend_span(const struct tw_series *s, const char *const *labels,
			const char *const *name, size_t count, struct span *span)
{
	const char *text = NULL;
	double first, last;
	size_t l = 0, i;

	while (labels[l] != NULL && (text = tw_series_label(s, labels[l])) == NULL)
		l++;
	if (text == NULL || s->guest)
		return true;
	i = find_name(name, count, text);
	if (i == count || s->time_ms.count == 0)
		return true;
	if (labels[l + 1] != NULL)
		return false;
	first = tw_packed_first(&s->time_ms);
	last = tw_packed_last(&s->time_ms);
	if (!span[i].any || first < span[i].first)
		span[i].first = first;
	if (!span[i].any || last > span[i].last)
		span[i].last = last;
	span[i].any = true;
	return true;
}

static bool meet(const struct span *span, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < i; k++)
			if (span[i].any && span[k].any && span[i].first <= span[k].last &&
			    span[k].first <= span[i].last)
				return true;
	return false;
}

/* Whether name[0..count), of one host, are one machine. */
static bool are_one_machine(const struct tw_prom *p, const char *const *name,
			    size_t count)
{
	if (count > PORTS_MAX)
		return false;
	for (size_t i = 0; i < p->count; i++) {
		const struct tw_prom_metric *metric = &p->metric[i];
		const char *const *labels = tw_schema_machine_labels(metric->name);
		struct span span[PORTS_MAX] = { 0 };

		for (size_t k = 0; k < metric->count; k++)
			if (!extend_span(&metric->series[k], labels, name, count, span))
				return false;
		if (meet(span, count))
			return false;
	}
	return true;
}

/* ---- machines ---- */

/* Add aliases for the series' later machine labels. */
static int add_aliases(struct tw_machines *m, const struct tw_series *s,
		       const char *const *labels, struct tw_err *err)
{
	size_t i = 0;
	const struct tag first = next_tag(s, labels, &i);
	struct tag other;

	if (s->guest || first.text == NULL)
		return 0;
	while (other = next_tag(s, labels, &i), other.text != NULL)
		if (add_alias(&m->aliases, other, first, err) < 0)
			return -1;
	return 0;
}

/* The machine of a series; *name is NULL for a VM's series and without machine labels. */
static int name_series(const struct tw_machines *m, const struct tw_prom_metric *metric,
		       const struct tw_series *s, const char **name, struct tw_err *err)
{
	const char *const *labels = tw_schema_machine_labels(metric->name);
	const char *other[2] = { NULL, NULL };
	size_t i = 0;
	struct tag tag = next_tag(s, labels, &i);

	*name = NULL;
	if (s->guest || tag.text == NULL)
		return 0;
	*name = resolve_tag(&m->aliases, tag, other);
	if (*name != NULL)
		return 0;
	return tw_fail(err, TW_INVALID,
		       "%s: %s '%.60s' is of machine '%.60s' and of '%.60s'",
		       metric->name, tag.label, tag.text, other[0], other[1]);
}

/* Sort and remove duplicates. */
static void sort_names(struct tw_machines *m)
{
	size_t n = 0;

	if (m->count > 1)
		qsort(m->name, m->count, sizeof(*m->name), tw_compare_texts);
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

/* List the machines of all series. *nameless is set to the metric of a series without a
 * machine, if any. */
static int list_names(struct tw_machines *m, const struct tw_prom *p,
		      const char **nameless, struct tw_err *err)
{
	if (TW_NEW(m->name, count_series(p) + 1, err) < 0)
		return -1;
	for (size_t i = 0; i < p->count; i++) {
		const struct tw_prom_metric *metric = &p->metric[i];

		for (size_t k = 0; k < metric->count; k++) {
			const char **name = &m->name[m->count];

			if (name_series(m, metric, &metric->series[k], name, err) < 0)
				return -1;
			if (*name == NULL && !metric->series[k].guest)
				*nameless = metric->name;
			/* Consecutive series are often of one machine. */
			if (*name != NULL && (m->count == 0 || name[-1] != *name))
				m->count++;
		}
	}
	sort_names(m);
	return 0;
}

/* Name all ports of a host that are one machine by the first port's name. */
static int join_ports(struct tw_machines *m, const struct tw_prom *p, struct tw_err *err)
{
	const size_t count = m->count;
	size_t end, kept = 0;

	for (size_t i = 0; i < count; i = end) {
		const struct tag to = { "", m->name[i] };
		bool same;

		end = find_host_end(m->name, count, i);
		same = end > i + 1 && are_one_machine(p, m->name + i, end - i);
		for (size_t k = i; k < end; k++) {
			if (k == i || !same)
				m->name[kept++] = m->name[k];
			else if (add_alias(&m->aliases,
					   (struct tag){ "instance", m->name[k] }, to,
					   err) < 0)
				return -1;
		}
	}
	m->count = kept;
	sort_aliases(&m->aliases);
	return 0;
}

/* *m is released by the caller, also after a failure. */
static int find_names(struct tw_machines *m, const struct tw_prom *p, struct tw_err *err)
{
	const char *nameless = NULL;

	for (size_t i = 0; i < p->count; i++) {
		const struct tw_prom_metric *metric = &p->metric[i];
		const char *const *labels = tw_schema_machine_labels(metric->name);

		for (size_t k = 0; k < metric->count; k++)
			if (add_aliases(m, &metric->series[k], labels, err) < 0)
				return -1;
	}
	follow_aliases(&m->aliases);
	if (list_names(m, p, &nameless, err) < 0 || join_ports(m, p, err) < 0)
		return -1;
	m->several = m->count > 1;
	if (m->several && nameless != NULL)
		return tw_fail(err, TW_INVALID,
			       "response holds machines '%.60s' and '%.60s', and a "
			       "series of %s without a machine label",
			       m->name[0], m->name[1], nameless);
	return 0;
}

/* ---- the parts of a response ---- */

static int fail_unknown(const struct tw_machines *m, const char *name, struct tw_err *err)
{
	struct tw_buf list = { 0 };

	for (size_t i = 0; i < m->count; i++)
		tw_buf_addf(&list, "%s'%s'", i > 0 ? ", " : "", m->name[i]);
	tw_fail(err, tw_buf_failed(&list) ? TW_NOMEM : TW_NOTFOUND,
		"response has no machine '%s': it has %s", name,
		list.len > 0 ? list.data : "only machines without a name");
	tw_buf_clear(&list);
	return -1;
}

/* A response with p's metrics but no series. */
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
	for (; one->count < p->count; one->count++) {
		one->metric[one->count] = tw_prom_metric(p->metric[one->count].name);
		one->metric[one->count].thirdparty = p->metric[one->count].thirdparty;
	}
	return one;
}

/* Borrow a series. */
static int append(struct tw_prom_metric *to, const struct tw_series *s,
		  struct tw_err *err)
{
	if (!tw_grow(&to->series, &to->size, to->count, sizeof(*to->series)))
		return tw_fail(err, TW_NOMEM, "%zu series of '%s'", to->count, to->name);
	to->series[to->count++] = *s;
	return 0;
}

/* The response with the series of one machine and of VMs; the caller frees it. */
static int select_one(const struct tw_machines *m, const struct tw_prom *p,
		      const char *name, struct tw_prom **out, struct tw_err *err)
{
	struct tw_prom *one = make_empty(p, err);

	for (size_t i = 0; one != NULL && i < p->count; i++) {
		for (size_t k = 0; k < p->metric[i].count; k++) {
			const struct tw_series *s = &p->metric[i].series[k];
			const char *machine;

			if (name_series(m, &p->metric[i], s, &machine, err) < 0)
				goto fail;
			if (machine != NULL && strcmp(machine, name) != 0)
				continue;
			if (append(&one->metric[i], s, err) < 0)
				goto fail;
		}
	}
	*out = one;
	return one != NULL ? 0 : -1;
fail:
	tw_prom_free(one);
	return -1;
}

/* Reduce m to the machine of that name, with its part. */
static int keep_one(struct tw_machines *m, const struct tw_prom *p, const char *name,
		    struct tw_err *err)
{
	const char **found =
		bsearch(&name, m->name, m->count, sizeof(*m->name), tw_compare_texts);

	if (found == NULL)
		return fail_unknown(m, name, err);
	if (TW_NEW(m->part, 1, err) < 0)
		return -1;
	m->name[0] = *found;
	m->count = 1;
	return select_one(m, p, name, &m->part[0], err);
}

/* Append a series to the response of its machine. */
static int assign_series(const struct tw_machines *m, const struct tw_prom_metric *metric,
			 size_t place, const struct tw_series *s, struct tw_prom **to,
			 struct tw_err *err)
{
	const char *machine, **found;

	if (name_series(m, metric, s, &machine, err) < 0)
		return -1;
	if (machine == NULL)
		return 0;
	found = bsearch(&machine, m->name, m->count, sizeof(*m->name), tw_compare_texts);
	return append(&to[found - m->name]->metric[place], s, err);
}

/* Make the part of each machine in one pass. */
static int split(struct tw_machines *m, const struct tw_prom *p, struct tw_err *err)
{
	if (TW_NEW(m->part, m->count + 1, err) < 0)
		return -1;
	for (size_t i = 0; i < m->count; i++) {
		m->part[i] = make_empty(p, err);
		if (m->part[i] == NULL)
			return -1;
	}
	for (size_t i = 0; i < p->count; i++)
		for (size_t k = 0; k < p->metric[i].count; k++)
			if (assign_series(m, &p->metric[i], i, &p->metric[i].series[k],
					  m->part, err) < 0)
				return -1;
	return 0;
}

static int make_parts(struct tw_machines *m, const struct tw_prom *p, const char *only,
		      enum tw_machine_parts parts, struct tw_err *err)
{
	if (only != NULL)
		return keep_one(m, p, only, err);
	if (parts == TW_PARTS_NONE || (parts == TW_PARTS_OF_SEVERAL && m->count <= 1))
		return 0;
	if (parts == TW_PARTS_OF_SEVERAL && m->count > TW_MACHINES_MAX)
		return tw_fail(err, TW_INVALID, "response holds %zu machines, at most %d",
			       m->count, TW_MACHINES_MAX);
	return split(m, p, err);
}

int tw_machines_find(const struct tw_prom *p, const char *only,
		     enum tw_machine_parts parts, struct tw_machines *out,
		     struct tw_err *err)
{
	struct tw_machines m = { 0 };

	if (find_names(&m, p, err) < 0 || make_parts(&m, p, only, parts, err) < 0) {
		tw_machines_release(&m);
		return -1;
	}
	*out = m;
	return 0;
}

const struct tw_prom *tw_machines_part(const struct tw_machines *m, size_t i,
				       const struct tw_prom *p)
{
	return m->part != NULL ? m->part[i] : p;
}

int tw_machines_single(const struct tw_prom *p, const char *name, struct tw_prom **out,
		       struct tw_err *err)
{
	struct tw_machines m = { 0 };
	int rc = tw_machines_find(p, name, TW_PARTS_NONE, &m, err);

	if (rc == 0 && name != NULL) {
		*out = m.part[0];
		m.part[0] = NULL;
	} else if (rc == 0 && m.several) {
		rc = tw_fail(err, TW_INVALID,
			     "the response has several machines ('%.60s' and '%.60s'): "
			     "name one with --machine",
			     m.name[0], m.name[1]);
	}
	tw_machines_release(&m);
	return rc;
}

void tw_machines_release(struct tw_machines *m)
{
	for (size_t i = 0; m->part != NULL && i < m->count; i++)
		tw_prom_free(m->part[i]);
	free(m->part);
	free(m->name);
	free(m->aliases.at);
	*m = (struct tw_machines){ 0 };
}

/* ---- virtual machines ---- */

int tw_guest_check(struct tw_guest *guest, const struct tw_schema *schema,
		   const struct tw_series *s, struct tw_err *err)
{
	for (size_t i = 0; guest != NULL && schema->machine_labels[i] != NULL; i++) {
		const char *value = tw_series_label(s, schema->machine_labels[i]);

		assert(i < TW_GUEST_LABELS_MAX);
		if (guest->label[i] == NULL)
			guest->label[i] = value;
		if (value == NULL || value == guest->label[i])
			continue;
		return tw_fail(
			err, TW_INVALID,
			"the response has several machines (%s '%.60s' and '%.60s'): "
			"name one with --machine",
			schema->machine_labels[i], guest->label[i], value);
	}
	return 0;
}
