/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/machines_ports.h"

#include "trainer/extract/guest.h"
#include "trainer/extract/prom_store.h"
#include "trainer/extract/schema.h"

#include <stdint.h>
#include <string.h>

/* More ports of a host than that are no exporter started again. */
#define PORTS_MAX 64

/* When a name has samples of a metric; all zero is never. */
struct span {
	bool any;
	double first, last;
};

/* Length of the host in "host:9102", 0 where there is no port. "[::1]:9102" has one. */
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

size_t tw_machines_host_end(const char *const *name, size_t count, size_t i)
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

/* Widen the span of the series' name; false where a more telling label says the name. */
static bool add_series(const struct tw_series *s, const char *const *labels,
		       const char *const *name, size_t count, struct span *span)
{
	const char *text = NULL;
	double first, last;
	size_t l = 0, i;

	while (labels[l] != NULL && (text = tw_series_label(s, labels[l])) == NULL)
		l++;
	if (text == NULL || tw_series_is_guest(s))
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

bool tw_machines_same_host(const struct tw_prom *p, const char *const *name, size_t count)
{
	if (count > PORTS_MAX)
		return false;
	for (size_t i = 0; i < p->count; i++) {
		const struct tw_prom_metric *metric = &p->metric[i];
		const char *const *labels = tw_schema_machine_labels(metric->name);
		struct span span[PORTS_MAX] = { 0 };

		for (size_t k = 0; k < metric->count; k++)
			if (!add_series(&metric->series[k], labels, name, count, span))
				return false;
		if (meet(span, count))
			return false;
	}
	return true;
}
