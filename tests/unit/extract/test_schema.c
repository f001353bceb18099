/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "isolator/workload_name.h"
#include "lib/field/feature.h"
#include "trainer/response/schema.h"

#include <string.h>

static void the_registry_is_sorted_and_unique(void **state)
{
	(void)state;
	assert_true(tw_schema_count() >= 1);
	for (size_t i = 0; i < tw_schema_count(); i++) {
		const struct tw_schema *s = tw_schema_at(i);

		assert_non_null(s->summary);
		if (i > 0)
			assert_true(strcmp(tw_schema_at(i - 1)->name, s->name) < 0);
	}
}

static bool is_feature(const struct tw_schema_metric *m)
{
	return m->kind == TW_METRIC_FEATURE || m->kind == TW_METRIC_LEVEL;
}

/* The metric's own source, which has the component; or a source label. */
static bool has_known_source(const struct tw_schema *s, const struct tw_schema_metric *m)
{
	const struct tw_energy_source *source;

	if (m->source == NULL)
		return s->source_label != NULL;
	source = tw_energy_source_find(m->source);
	for (size_t i = 0; source != NULL && i < source->count; i++)
		if (source->components[i] == m->component)
			return true;
	return false;
}

/* Whether both metrics match the same series. */
static bool are_alike(const struct tw_schema_metric *a, const struct tw_schema_metric *b)
{
	return strcmp(a->name, b->name) == 0 &&
	       (a->label == NULL || b->label == NULL || strcmp(a->value, b->value) == 0);
}

/* NULL: no label to check. */
static bool has_label(const char *label)
{
	return label == NULL || tw_schema_has_label(label, strlen(label));
}

static void every_metric_maps_to_a_known_feature_or_component(void **state)
{
	(void)state;
	for (size_t i = 0; i < tw_schema_count(); i++) {
		const struct tw_schema *s = tw_schema_at(i);

		for (size_t j = 0; j < s->metric_count; j++) {
			const struct tw_schema_metric *m = &s->metrics[j];

			assert_true(m->factor > 0);
			if (is_feature(m)) {
				assert_non_null(tw_feature_find(m->feature));
			} else if (m->kind == TW_METRIC_PACKAGE_USE) {
				assert_non_null(s->package_label);
				assert_non_null(s->package_use_label);
			} else {
				assert_true(m->component < TW_COMPONENT_COUNT);
				assert_true(has_known_source(s, m));
			}
			assert_ptr_equal(tw_schema_of_metric(m->name), s);
			assert_true(has_label(m->label));
			for (size_t k = 0; k < j; k++)
				assert_false(are_alike(&s->metrics[k], m));
		}
		assert_true(has_label(s->package_label));
		assert_true(has_label(s->package_use_label));
		for (size_t j = 0; j < s->source_count; j++)
			assert_non_null(tw_energy_source_find(s->sources[j].source));
	}
}

/* The aliases of trainer/response/machines.c connect series of several schemas. */
static void all_schemas_have_the_same_machine_labels(void **state)
{
	const char *const *first = tw_schema_at(0)->machine_labels;

	(void)state;
	for (size_t i = 1; i < tw_schema_count(); i++) {
		const char *const *labels = tw_schema_at(i)->machine_labels;
		size_t k;

		for (k = 0; first[k] != NULL; k++) {
			assert_non_null(labels[k]);
			assert_string_equal(labels[k], first[k]);
		}
		assert_null(labels[k]);
	}
}

/* isolator/workload_name.c recognises ids by their number of parts. */
static void the_container_name_is_found_in_each_schemas_id(void **state)
{
	(void)state;
	for (size_t i = 0; i < tw_schema_count(); i++) {
		const char *const *labels = tw_schema_at(i)->id_labels;
		size_t parts = 0;
		int name = -1;

		for (; labels[parts] != NULL; parts++)
			if (strcmp(labels[parts], "container_name") == 0)
				name = (int)parts;
		assert_int_equal(tw_workload_name_part(parts), name);
	}
}

static void names_are_matched_whole(void **state)
{
	static const char name[] = "kepler_container_cpu_cycles_total";

	(void)state;
	assert_true(tw_schema_has_metric(name, strlen(name)));
	assert_false(tw_schema_has_metric(name, strlen(name) - 1));
	assert_false(tw_schema_has_metric(name, sizeof(name))); /* with a NUL */
	assert_false(tw_schema_has_metric("", 0));
	assert_true(tw_schema_has_label("container_id=", 12));
	assert_false(tw_schema_has_label("container_id=", 13));
	assert_false(tw_schema_has_label("datacenter", 10));
}

static void old_names_of_energy_sources_are_mapped(void **state)
{
	const struct tw_schema *s =
		tw_schema_of_metric("kepler_container_cpu_cycles_total");

	(void)state;
	assert_string_equal(tw_schema_source(s, "rapl"), "rapl-sysfs");
	assert_string_equal(tw_schema_source(s, "intel_rapl"), "rapl-sysfs");
	assert_string_equal(tw_schema_source(s, "rapl-msr"), "rapl-msr");
	assert_string_equal(tw_schema_source(s, "acpi"), "acpi");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_registry_is_sorted_and_unique),
		cmocka_unit_test(every_metric_maps_to_a_known_feature_or_component),
		cmocka_unit_test(all_schemas_have_the_same_machine_labels),
		cmocka_unit_test(the_container_name_is_found_in_each_schemas_id),
		cmocka_unit_test(names_are_matched_whole),
		cmocka_unit_test(old_names_of_energy_sources_are_mapped),
	};

	return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
