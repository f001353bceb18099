/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/schema.h"

#include "lib/core/array.h"

#include <assert.h>
#include <string.h>

/* Sorted by name. */
static const struct tw_schema *const schemas[] = {
	&tw_schema_kepler,
	&tw_schema_kepler_legacy,
	&tw_schema_node_exporter,
	&tw_schema_tallywatt,
};

size_t tw_schema_count(void)
{
	return TW_COUNT(schemas);
}

const struct tw_schema *tw_schema_at(size_t i)
{
	assert(i < TW_COUNT(schemas));
	return schemas[i];
}

static bool equal(const char *text, const char *name, size_t len)
{
	return strncmp(text, name, len) == 0 && text[len] == '\0';
}

static const struct tw_schema *find_by_metric(const char *name, size_t len)
{
	for (size_t i = 0; i < TW_COUNT(schemas); i++)
		for (size_t j = 0; j < schemas[i]->metric_count; j++)
			if (equal(schemas[i]->metrics[j].name, name, len))
				return schemas[i];
	return NULL;
}

const struct tw_schema *tw_schema_of_metric(const char *name)
{
	return find_by_metric(name, strlen(name));
}

const char *const *tw_schema_machine_labels(const char *metric)
{
	const struct tw_schema *s = tw_schema_of_metric(metric);

	return s != NULL ? s->machine_labels : schemas[0]->machine_labels;
}

bool tw_schema_has_metric(const char *name, size_t len)
{
	return memchr(name, '\0', len) == NULL && find_by_metric(name, len) != NULL;
}

static bool is_among(const char *const *names, const char *name, size_t len)
{
	for (; *names != NULL; names++)
		if (equal(*names, name, len))
			return true;
	return false;
}

bool tw_schema_has_label(const char *name, size_t len)
{
	if (memchr(name, '\0', len) != NULL)
		return false;
	for (size_t i = 0; i < TW_COUNT(schemas); i++) {
		const struct tw_schema *s = schemas[i];

		if ((s->source_label != NULL && equal(s->source_label, name, len)) ||
		    is_among(s->id_labels, name, len) ||
		    is_among(s->unit_labels, name, len) ||
		    is_among(s->machine_labels, name, len) ||
		    is_among(s->other_labels, name, len))
			return true;
	}
	return false;
}

const char *tw_schema_source(const struct tw_schema *s, const char *label)
{
	for (size_t i = 0; i < s->source_count; i++)
		if (strcmp(s->sources[i].label, label) == 0)
			return s->sources[i].source;
	return label;
}
