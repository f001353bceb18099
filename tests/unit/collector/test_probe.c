/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/probe.h"
#include "collector/system/roots.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/scratch.h"
#include "tests/unit/tw_test.h"
#include "tests/unit/collector/bpf_lock.h"

#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
#define RANGE 262143328850ull
#define CAP "class/powercap/intel-rapl:0"

/* A machine whose energy grows by these at each fourth look of a millisecond. */
struct machine {
	char *dir;
	struct tw_roots roots;
	unsigned looks, package_uj, core_uj;
	bool rapl;
};

static uint64_t look(void *arg)
{
	struct machine *m = arg;
	const unsigned steps = ++m->looks / 4;

	if (m->rapl) {
		tree_rapl(m->dir, CAP, "package-0", 1000 + steps * m->package_uj, RANGE);
		tree_rapl(m->dir, CAP "/intel-rapl:0:0", "core",
			  1000 + steps * m->core_uj, RANGE);
		tree_rapl(m->dir, CAP "/intel-rapl:0:1", "dram", 7, RANGE);
	}
	return 1000 * MS + m->looks * MS;
}

static int setup(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->dir = scratch_new();
	m->roots = (struct tw_roots){ .proc = m->dir, .sys = m->dir, .dev = m->dir };
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	struct machine *m = *state;

	scratch_free(m->dir);
	free(m);
	return 0;
}

static json_t *probe(struct machine *m)
{
	const struct tw_probe_config c = { .roots = &m->roots,
					   .nvml = "/nonexistent",
					   .watch_ms = 40,
					   .wait = look,
					   .arg = m };
	struct tw_err err = { 0 };
	json_t *doc = NULL;

	if (tw_probe(&c, &doc, &err) < 0)
		fail_msg("%s", err.text);
	return doc;
}

static json_t *with_rapl(struct machine *m, unsigned package_uj, unsigned core_uj)
{
	m->rapl = true;
	m->package_uj = package_uj;
	m->core_uj = core_uj;
	look(m);
	return probe(m);
}

/* The one in a list whose key says that. */
static json_t *find(json_t *list, const char *key, const char *says)
{
	json_t *e;
	size_t i;

	json_array_foreach(list, i, e)
		if (strcmp(json_string_value(json_object_get(e, key)), says) == 0)
			return e;
	fail_msg("no %s '%s'", key, says);
	return NULL;
}

static double number(json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

static const char *text(json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static bool advises(json_t *doc, const char *words)
{
	json_t *e;
	size_t i;

	json_array_foreach(json_object_get(doc, "advice"), i, e)
		if (strstr(json_string_value(e), words) != NULL)
			return true;
	return false;
}

static void a_zone_reports_its_power_and_its_update_rate(void **state)
{
	json_t *doc = with_rapl(*state, 40000, 10000), *meter, *zone;

	meter = find(json_object_get(doc, "meters"), "name", "rapl-sysfs");
	assert_true(json_is_true(json_object_get(meter, "there")));
	zone = find(json_object_get(meter, "zones"), "zone", "package");
	/* 40 mJ in 4 ms. */
	assert_float_equal(number(zone, "watts"), 10, 1);
	assert_float_equal(number(zone, "update_ms"), 4, 1e-9);
	assert_string_equal(text(zone, "why"), "");
	assert_non_null(strstr(text(zone, "covers"), "cores"));
	assert_false(advises(doc, "no meter reports power"));
	json_decref(doc);
}

static void a_zone_that_stands_still_is_absent_with_a_reason(void **state)
{
	json_t *doc = with_rapl(*state, 40000, 10000), *zone;

	zone = find(json_object_get(
			    find(json_object_get(doc, "meters"), "name", "rapl-sysfs"),
			    "zones"),
		    "zone", "dram");
	assert_true(json_is_false(json_object_get(zone, "there")));
	assert_string_equal(text(zone, "why"), "its counter has not moved yet");
	assert_true(json_is_null(json_object_get(zone, "watts")));
	assert_true(json_is_null(json_object_get(zone, "update_ms")));
	json_decref(doc);
}

static void parts_are_compared_with_their_whole(void **state)
{
	static const struct {
		unsigned package_uj, core_uj;
		bool fits;
	} cases[] = { { 40000, 10000, true },
		      { 40000, 40000, true },
		      { 40000, 50000, false } };

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		json_t *doc = with_rapl(*state, cases[i].package_uj, cases[i].core_uj);
		json_t *sum = find(json_object_get(doc, "sums"), "whole", "package");

		assert_int_equal(json_is_true(json_object_get(sum, "fits")),
				 cases[i].fits);
		assert_float_equal(number(sum, "parts_watts") /
					   number(sum, "whole_watts"),
				   (double)cases[i].core_uj / cases[i].package_uj, 0.01);
		json_decref(doc);
	}
}

static void an_empty_machine_has_reasons_and_advice_and_is_no_failure(void **state)
{
	json_t *doc = probe(*state), *e;
	size_t i;

	json_array_foreach(json_object_get(doc, "meters"), i, e) {
		assert_true(json_is_false(json_object_get(e, "there")));
		assert_true(strlen(text(e, "why")) > 0);
	}
	assert_true(i > 0);
	assert_true(advises(doc, "no meter reports power"));
	assert_true(advises(doc, "no cgroups"));
	assert_string_equal(text(doc, "cgroups"), "none");
	assert_int_equal(json_array_size(json_object_get(doc, "sums")), 0);
	json_decref(doc);
}

/* Programs of BPF take long to load; their own tests load them without memory. */
static void may_use_bpf(bool may)
{
	static const unsigned caps[] = { CAP_SYS_ADMIN, CAP_PERFMON, CAP_BPF };
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct c[2];

	assert_int_equal(syscall(SYS_capget, &h, c), 0);
	for (size_t i = 0; i < TW_COUNT(caps); i++) {
		struct __user_cap_data_struct *of = &c[caps[i] / 32];
		const uint32_t bit = UINT32_C(1) << caps[i] % 32;

		of->effective = may ? of->effective | (of->permitted & bit)
				    : of->effective & ~bit;
	}
	assert_int_equal(syscall(SYS_capset, &h, c), 0);
}

static void without_memory_it_fails_or_is_whole(void **state)
{
	struct machine *m = *state;
	const struct tw_probe_config c = { .roots = &m->roots,
					   .nvml = "/nonexistent",
					   .watch_ms = 4,
					   .wait = look,
					   .arg = m };

	may_use_bpf(false);
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		json_t *doc = NULL;
		int rc;

		fail_alloc_at(n);
		rc = tw_probe(&c, &doc, &err);
		if (!fail_alloc_hit()) {
			assert_int_equal(rc, 0);
			json_decref(doc);
			break;
		}
		/* A part that had no memory may be told as one that is not there. */
		if (rc < 0)
			assert_int_equal(err.code, TW_NOMEM);
		else
			assert_non_null(json_object_get(doc, "advice"));
		json_decref(doc);
	}
	may_use_bpf(true);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_zone_reports_its_power_and_its_update_rate),
		TEST(a_zone_that_stands_still_is_absent_with_a_reason),
		TEST(parts_are_compared_with_their_whole),
		TEST(an_empty_machine_has_reasons_and_advice_and_is_no_failure),
		TEST(without_memory_it_fails_or_is_whole),
	};

	return cmocka_run_group_tests(tests, bpf_lock, NULL);
}
