/* SPDX-License-Identifier: Apache-2.0 */
/* What identifies a sum, how long it stays, and its parts. */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "collector/agents/sums.h"
#include "collector/meters/meter.h"
#include "lib/core/err.h"
#include "lib/field/energy.h"
#include "tests/unit/fail_alloc.h"

#include <stdio.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)
#define NIGHT (UINT64_C(24) * 3600 * SECOND)
/* node, id, name, name_space, container, runtime */
#define NAMES(...)          \
	{                   \
		__VA_ARGS__ \
	}

static struct tw_sums *open_sums(void)
{
	struct tw_sums *s = NULL;
	struct tw_err err = { 0 };

	if (tw_sums_open(&s, &err) < 0)
		fail_msg("%s", err.text);
	return s;
}

static struct tw_sum *use_id(struct tw_sums *s, enum tw_sum_level level, const char *id)
{
	const struct tw_sum_names names = NAMES("", id, "", "", "", "");

	return tw_sums_use(s, NULL, level, &names);
}

static size_t count(const struct tw_sums *s, enum tw_sum_level level)
{
	size_t n = 0;

	for (const struct tw_sum *sum = NULL;
	     (sum = tw_sums_next(s, level, sum)) != NULL;)
		n++;
	return n;
}

/* The ids of a level's sums, in their order. */
static void check_ids(const struct tw_sums *s, enum tw_sum_level level, const char *want)
{
	char got[64] = "";

	for (const struct tw_sum *sum = NULL;
	     (sum = tw_sums_next(s, level, sum)) != NULL;)
		strcat(got, sum->names.id);
	assert_string_equal(got, want);
}

static void a_level_has_a_name(void **state)
{
	static const char *const names[TW_SUM_LEVELS] = { "all", "node",      "namespace",
							  "pod", "container", "vm",
							  "job" };

	(void)state;
	for (int level = 0; level < TW_SUM_LEVELS; level++)
		assert_string_equal(tw_sum_level_names[level], names[level]);
}

/* Each text alone makes another sum, but the runtime; of a VM or a job, the id alone. */
static void names_identify_a_sum(void **state)
{
	static const struct tw_sum_names base = NAMES("b", "b", "b", "b", "b", "b");
	static const struct {
		struct tw_sum_names names;
		bool pod, vm; /* another sum at that level */
	} cases[] = {
		{ NAMES("b", "b", "b", "b", "b", "b"), false, false },
		{ NAMES("a", "b", "b", "b", "b", "b"), true, false },
		{ NAMES("c", "b", "b", "b", "b", "b"), true, false },
		{ NAMES("b", "a", "b", "b", "b", "b"), true, true },
		{ NAMES("b", "c", "b", "b", "b", "b"), true, true },
		{ NAMES("b", "b", "a", "b", "b", "b"), true, false },
		{ NAMES("b", "b", "b", "a", "b", "b"), true, false },
		{ NAMES("b", "b", "b", "b", "a", "b"), true, false },
		{ NAMES("b", "b", "b", "b", "c", "b"), true, false },
		{ NAMES("b", "b", "b", "b", "b", "a"), false, false },
	};
	static const enum tw_sum_level levels[] = { TW_SUM_POD, TW_SUM_VM, TW_SUM_JOB };

	(void)state;
	for (size_t k = 0; k < 3; k++)
		for (size_t i = 0; i < TW_COUNT(cases); i++) {
			struct tw_sums *s = open_sums();
			struct tw_sum *sum = tw_sums_use(s, NULL, levels[k], &base);
			const bool other =
				levels[k] == TW_SUM_POD ? cases[i].pod : cases[i].vm;

			assert_int_equal(
				tw_sums_use(s, NULL, levels[k], &cases[i].names) != sum,
				other);
			assert_int_equal(count(s, levels[k]), other ? 2 : 1);
			assert_int_equal(sum->users, other ? 1 : 2);
			tw_sums_close(s);
		}
}

static void levels_are_apart_and_texts_are_copies(void **state)
{
	struct tw_sums *s = open_sums();
	struct tw_sum *of[TW_SUM_LEVELS];
	char text[6][4] = { "nod", "idx", "nam", "spa", "con", "run" };
	const struct tw_sum_names names =
		NAMES(text[0], text[1], text[2], text[3], text[4], text[5]);

	(void)state;
	for (int level = TW_SUM_NODE; level < TW_SUM_LEVELS; level++)
		of[level] = tw_sums_use(s, NULL, (enum tw_sum_level)level, &names);
	memset(text, 'x', sizeof(text));
	for (int level = TW_SUM_NODE; level < TW_SUM_LEVELS; level++) {
		const struct tw_sum_names *n = &of[level]->names;

		assert_int_equal(count(s, (enum tw_sum_level)level), 1);
		assert_int_equal(of[level]->level, level);
		assert_string_equal(n->node, "nod");
		assert_string_equal(n->id, "idx");
		assert_string_equal(n->name, "nam");
		assert_string_equal(n->name_space, "spa");
		assert_string_equal(n->container, "con");
		assert_string_equal(n->runtime, "run");
	}
	assert_int_equal(count(s, TW_SUM_ALL), 1);
	assert_ptr_equal(tw_sums_next(s, TW_SUM_ALL, NULL), tw_sums_all(s));
	tw_sums_close(s);
}

/* Whichever of three goes, the list has the others. */
static void sums_that_ended_go_after_a_while(void **state)
{
	static const struct {
		const char *ends, *left;
	} cases[] = { { "a", "cb" }, { "b", "ca" }, { "c", "ba" }, { "", "cba" } };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct tw_sums *s = open_sums();
		struct tw_quota *q = tw_sums_quota(s);

		for (const char *c = "abc"; *c != '\0'; c++)
			use_id(s, TW_SUM_POD, (char[]){ *c, '\0' });
		if (cases[i].ends[0] != '\0') {
			struct tw_sum *sum = use_id(s, TW_SUM_POD, cases[i].ends);

			tw_sums_release(s, sum, 2 * SECOND);
			tw_sums_release(s, sum, 3 * SECOND);
		}
		tw_sums_expire(s, 10 * SECOND, 7 * SECOND);
		check_ids(s, TW_SUM_POD, "cba");
		tw_sums_expire(s, 10 * SECOND + 1, 7 * SECOND);
		check_ids(s, TW_SUM_POD, cases[i].left);
		assert_int_equal(q->used[TW_QUOTA_SUMS], 1 + strlen(cases[i].left));
		/* It is another one that comes back. */
		use_id(s, TW_SUM_POD, "b");
		use_id(s, TW_SUM_POD, "d");
		assert_int_equal(count(s, TW_SUM_POD), cases[i].ends[0] == 'b'    ? 4
						       : cases[i].ends[0] == '\0' ? 4
										  : 3);
		tw_sums_close(s);
	}
}

static void nodes_and_namespaces_stay_a_night(void **state)
{
	static const struct {
		enum tw_sum_level level;
		uint64_t keep_ns, stays_ns;
	} cases[] = {
		{ TW_SUM_NODE, SECOND, NIGHT },
		{ TW_SUM_NAMESPACE, SECOND, NIGHT },
		{ TW_SUM_NAMESPACE, 2 * NIGHT, 2 * NIGHT },
		{ TW_SUM_POD, SECOND, SECOND },
		{ TW_SUM_CONTAINER, SECOND, SECOND },
		{ TW_SUM_VM, SECOND, SECOND },
		{ TW_SUM_JOB, SECOND, SECOND },
		{ TW_SUM_JOB, 2 * NIGHT, 2 * NIGHT },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_sums *s = open_sums();

		tw_sums_release(s, use_id(s, cases[i].level, "x"), SECOND);
		tw_sums_expire(s, SECOND + cases[i].stays_ns, cases[i].keep_ns);
		assert_int_equal(count(s, cases[i].level), 1);
		tw_sums_expire(s, SECOND + cases[i].stays_ns + 1, cases[i].keep_ns);
		assert_int_equal(count(s, cases[i].level), 0);
		assert_int_equal(count(s, TW_SUM_ALL), 1);
		tw_sums_close(s);
	}
}

/* A machine is found while a host has it, by its id in any case. */
static void machines_are_found_by_their_ids(void **state)
{
	struct tw_sums *s = open_sums();
	struct tw_sum *vm = use_id(s, TW_SUM_VM, "Ab-1"), *upper;

	(void)state;
	use_id(s, TW_SUM_POD, "p");
	use_id(s, TW_SUM_JOB, "j");
	assert_ptr_equal(tw_sums_vm(s, "aB-1"), vm);
	assert_null(tw_sums_vm(s, "p"));
	assert_null(tw_sums_vm(s, "j"));
	use_id(s, TW_SUM_VM, "Ab-1");
	/* The first of an id in another case stays the one that is found. */
	upper = use_id(s, TW_SUM_VM, "AB-1");
	assert_true(upper != vm);
	assert_ptr_equal(tw_sums_vm(s, "ab-1"), vm);
	tw_sums_release(s, upper, SECOND);
	assert_ptr_equal(tw_sums_vm(s, "ab-1"), vm);
	tw_sums_release(s, vm, SECOND);
	assert_ptr_equal(tw_sums_vm(s, "ab-1"), vm);
	tw_sums_release(s, vm, SECOND);
	assert_null(tw_sums_vm(s, "ab-1"));
	assert_int_equal(vm->ended_ns, SECOND);
	/* Then the other is found, once its host tells of it again. */
	upper = use_id(s, TW_SUM_VM, "AB-1");
	use_id(s, TW_SUM_VM, "Ab-1");
	assert_ptr_equal(tw_sums_vm(s, "ab-1"), upper);
	tw_sums_release(s, vm, SECOND);
	tw_sums_release(s, upper, SECOND);
	use_id(s, TW_SUM_VM, "Ab-1");
	assert_ptr_equal(tw_sums_vm(s, "ab-1"), vm);
	tw_sums_release(s, NULL, SECOND);
	tw_sums_close(s);
}

static struct tw_sum_part part_of(enum tw_zone_kind kind, const char *source,
				  uint64_t dynamic_uj, uint64_t idle_uj, double watts)
{
	return (struct tw_sum_part){ .kind = kind,
				     .source = source,
				     .dynamic_uj = dynamic_uj,
				     .idle_uj = idle_uj,
				     .watts = watts };
}

static void a_part_is_of_one_kind_and_one_source(void **state)
{
	struct tw_sums *s = open_sums();
	const char *rapl = tw_sums_source(s, NULL, "rapl-sysfs"),
		   *model = tw_sums_source(s, NULL, "model");
	struct tw_sum *sum = use_id(s, TW_SUM_JOB, "7");
	const struct tw_sum_part add[] = {
		part_of(TW_ZONE_PACKAGE, rapl, 100, 7, 1.5),
		part_of(TW_ZONE_DRAM, rapl, 20, 1, 2.5),
		part_of(TW_ZONE_PACKAGE, model, 3, 2, 4),
		part_of(TW_ZONE_PACKAGE, rapl, 1000, 70, 8),
	};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		tw_sum_add(s, NULL, sum, &add[i]);
		tw_sum_power(s, NULL, sum, &add[i]);
	}
	tw_sum_add(s, NULL, NULL, &add[0]);
	tw_sum_power(s, NULL, NULL, &add[0]);
	assert_int_equal(sum->parts, 3);
	assert_int_equal(tw_sums_quota(s)->used[TW_QUOTA_PARTS], 3);
	assert_int_equal(sum->part[0].dynamic_uj, 1100);
	assert_int_equal(sum->part[0].idle_uj, 77);
	assert_true(sum->part[0].watts == 9.5 && sum->part[0].powered);
	assert_int_equal(sum->part[1].kind, TW_ZONE_DRAM);
	assert_int_equal(sum->part[1].dynamic_uj, 20);
	assert_string_equal(sum->part[2].source, "model");
	assert_true(sum->part[2].watts == 4);
	/* Power is of the answers since its begin, energy stays. */
	tw_sum_power(s, NULL, tw_sums_all(s), &add[1]);
	tw_sums_power_begin(s);
	for (size_t i = 0; i < 3; i++)
		assert_true(sum->part[i].watts == 0 && !sum->part[i].powered);
	assert_false(tw_sums_all(s)->part[0].powered);
	assert_int_equal(sum->part[0].dynamic_uj, 1100);
	/* Its parts go with it. */
	tw_sums_release(s, sum, SECOND);
	tw_sums_expire(s, 3 * SECOND, SECOND);
	assert_int_equal(tw_sums_quota(s)->used[TW_QUOTA_PARTS], 1);
	tw_sums_close(s);
}

/* Names that this program knows take no room; others do, and the rest is "other". */
static void sources_have_room_for_some(void **state)
{
	struct tw_sums *s = open_sums();
	struct tw_quota *q = tw_sums_quota(s);
	struct tw_quota_user *by = tw_quota_join(q);
	const char *mine = tw_sums_source(s, by, "mine");
	char text[16];

	(void)state;
	assert_string_equal(mine, "mine");
	assert_ptr_equal(tw_sums_source(s, by, "mine"), mine);
	for (size_t i = 0; i < tw_meter_count(); i++)
		tw_sums_source(s, by, tw_meter_at(i)->name);
	for (size_t i = 0; i < tw_energy_source_count(); i++)
		tw_sums_source(s, by, tw_energy_source_at(i)->name);
	assert_string_equal(tw_sums_source(s, by, "model"), "model");
	assert_string_equal(tw_sums_source(s, by, TW_SUM_OTHER), TW_SUM_OTHER);
	assert_int_equal(q->used[TW_QUOTA_SOURCES], 1);
	assert_int_equal(by->used[TW_QUOTA_SOURCES], 1);
	for (int i = 0; i < TW_SUM_SOURCES_MAX; i++) {
		snprintf(text, sizeof(text), "s%d", i);
		tw_sums_source(s, by, text);
	}
	assert_true(tw_sums_left_out(s) > 0);
	assert_int_equal(tw_sums_left_out(s), by->left_out[TW_QUOTA_SOURCES]);
	assert_string_equal(tw_sums_source(s, by, "one more"), TW_SUM_OTHER);
	assert_string_equal(tw_sums_source(s, by, "s0"), "s0");
	tw_quota_leave(q, by);
	tw_sums_close(s);
}

/* A sum without a place is left out, and counted. */
static void sums_have_room_for_some(void **state)
{
	struct tw_sums *s = open_sums();
	struct tw_quota *q = tw_sums_quota(s);
	struct tw_sum *sum = use_id(s, TW_SUM_POD, "p");
	const struct tw_sum_part p = part_of(TW_ZONE_PACKAGE, "x", 1, 1, 1);

	(void)state;
	q->used[TW_QUOTA_SUMS] += TW_SUMS_MAX;
	assert_null(use_id(s, TW_SUM_POD, "q"));
	assert_int_equal(tw_sums_left_out(s), 1);
	assert_ptr_equal(use_id(s, TW_SUM_POD, "p"), sum);
	q->used[TW_QUOTA_PARTS] += 6 * TW_SUMS_MAX;
	tw_sum_add(s, NULL, sum, &p);
	assert_int_equal(sum->parts, 0);
	assert_int_equal(tw_sums_left_out(s), 2);
	assert_int_equal(q->used[TW_QUOTA_SUMS], 2 + TW_SUMS_MAX);
	tw_sums_close(s);
}

/* A place is of the agent that was the first to use it, and is given back to it. */
static void places_are_given_back_to_their_agents(void **state)
{
	struct tw_sums *s = open_sums();
	struct tw_quota *q = tw_sums_quota(s);
	struct tw_quota_user *first = tw_quota_join(q), *second = tw_quota_join(q);
	const struct tw_sum_names names = NAMES("", "x", "", "", "", "");
	const struct tw_sum_part p = part_of(TW_ZONE_PACKAGE, "x", 1, 1, 1);
	struct tw_sum *sum = tw_sums_use(s, first, TW_SUM_POD, &names);

	(void)state;
	tw_sums_use(s, second, TW_SUM_POD, &names);
	tw_sum_add(s, second, sum, &p);
	tw_sum_power(s, first, sum, &p);
	assert_int_equal(first->used[TW_QUOTA_SUMS], 1);
	assert_int_equal(second->used[TW_QUOTA_SUMS], 0);
	assert_int_equal(first->used[TW_QUOTA_PARTS], 0);
	assert_int_equal(second->used[TW_QUOTA_PARTS], 1);
	tw_sums_release(s, sum, 0);
	tw_sums_release(s, sum, 0);
	tw_sums_expire(s, 2, 1);
	assert_int_equal(first->used[TW_QUOTA_SUMS], 0);
	assert_int_equal(second->used[TW_QUOTA_PARTS], 0);
	tw_quota_leave(q, first);
	tw_quota_leave(q, second);
	tw_sums_close(s);
}

/* Without memory: a place is given back, and what is left out is counted. */
static void without_memory_sums_are_left_out(void **state)
{
	struct tw_sums *s = open_sums();
	const size_t *used = tw_sums_quota(s)->used;
	const struct tw_sum_part p = part_of(TW_ZONE_PACKAGE, "x", 5, 1, 1);
	struct tw_sum *sum = NULL;
	uint64_t left_out = 0;
	bool failed = true;

	(void)state;
	for (int n = 1; failed; n++) {
		fail_alloc_at(n);
		sum = use_id(s, TW_SUM_POD, "p");
		failed = fail_alloc_hit();
		left_out += failed;
		assert_int_equal(sum == NULL, failed);
		assert_int_equal(used[TW_QUOTA_SUMS], failed ? 1 : 2);
		assert_int_equal(tw_sums_left_out(s), left_out);
	}
	assert_true(left_out > 0);
	fail_alloc_at(1);
	tw_sum_add(s, NULL, sum, &p);
	assert_true(fail_alloc_hit());
	assert_int_equal(used[TW_QUOTA_PARTS], 0);
	fail_alloc_at(1);
	assert_string_equal(tw_sums_source(s, NULL, "new"), TW_SUM_OTHER);
	assert_true(fail_alloc_hit());
	assert_int_equal(used[TW_QUOTA_SOURCES], 0);
	assert_int_equal(tw_sums_left_out(s), left_out + 2);
	tw_sum_add(s, NULL, sum, &p);
	assert_int_equal(sum->part[0].dynamic_uj, 5);
	tw_sums_close(s);
}

static void without_memory_there_are_no_sums(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_sums *s = NULL;
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_sums_open(&s, &err);
		if (!fail_alloc_told(rc, &err)) {
			tw_sums_close(s);
			break;
		}
		assert_null(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_level_has_a_name),
		cmocka_unit_test(names_identify_a_sum),
		cmocka_unit_test(levels_are_apart_and_texts_are_copies),
		cmocka_unit_test(sums_that_ended_go_after_a_while),
		cmocka_unit_test(nodes_and_namespaces_stay_a_night),
		cmocka_unit_test(machines_are_found_by_their_ids),
		cmocka_unit_test(a_part_is_of_one_kind_and_one_source),
		cmocka_unit_test(sources_have_room_for_some),
		cmocka_unit_test(sums_have_room_for_some),
		cmocka_unit_test(places_are_given_back_to_their_agents),
		cmocka_unit_test(without_memory_sums_are_left_out),
		cmocka_unit_test(without_memory_there_are_no_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
