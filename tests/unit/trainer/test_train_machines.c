/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "isolator/isolator.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/train_fixture.h"
#include "trainer/response/prom.h"
#include "trainer/train.h"
#include "trainer/train_machines.h"

#include <gsl/gsl_errno.h>
#include <string.h>

static struct tw_train_job make_machines_job(const struct tw_prom *response)
{
	struct tw_train_job job = { .name = "p", .seed = 1, .threads = 1 };

	job.isolator = tw_isolator_find("MinIdleIsolator");
	train_set_response(&job, response);
	train_add_most(&job.abs_trainers);
	train_add_most(&job.dyn_trainers);
	return job;
}

static void train_machines(const struct tw_prom *p, const char *machine,
			   struct tw_train_result *r)
{
	struct tw_train_job job = make_machines_job(p);
	struct tw_err err = { 0 };

	job.machine = machine;
	if (tw_train(&job, r, &err) < 0)
		fail_msg("%s", err.text);
	train_release_job(&job);
}

/* That together has what alone has, under another node type. */
static void assert_has_components(const struct tw_train_result *together,
				  const struct tw_train_result *alone, char node_type)
{
	size_t compared = 0;

	for (size_t i = 0; i < alone->pipeline.count; i++) {
		const struct tw_fileset_file *a = &alone->pipeline.at[i], *b;
		char name[512];
		char *zero;

		if (strstr(a->name, "_0/platform") == NULL)
			continue;
		assert_true(strlen(a->name) < sizeof(name));
		strcpy(name, a->name);
		zero = strstr(name, "_0/platform");
		zero[1] = node_type;
		b = tw_fileset_find(&together->pipeline, name);
		assert_non_null(b);
		assert_int_equal(a->len, b->len);
		assert_memory_equal(a->data, b->data, a->len);
		compared++;
	}
	assert_int_equal(compared, alone->models);
}

static const char *member_of(const json_t *index, const char *type)
{
	const json_t *members = json_object_get(json_object_get(index, type), "members");

	assert_int_equal(json_array_size(members), 1);
	return json_string_value(json_array_get(members, 0));
}

static void several_machines_are_each_what_it_is_alone(void **state)
{
	struct tw_prom *both = train_make_machines("ab"), *a = train_make_machines("a"),
		       *b = train_make_machines("b");
	struct tw_train_result together = { 0 }, alone[2] = { 0 }, named = { 0 };
	json_t *index;

	(void)state;
	train_machines(both, NULL, &together);
	train_machines(a, NULL, &alone[0]);
	train_machines(b, NULL, &alone[1]);
	train_machines(both, "b", &named);
	assert_int_equal(together.machines, 2);
	assert_int_equal(together.models, 2 * alone[0].models);
	assert_string_equal(together.row[0].machine, "a");
	assert_string_equal(together.row[together.rows - 1].machine, "b");
	assert_int_equal(together.row[together.rows - 1].node_type, 1);
	assert_has_components(&together, &alone[0], '0');
	assert_has_components(&together, &alone[1], '1');
	train_assert_same(&named, &alone[1]);

	index = train_parse_file(&together, "node_type_index.json");
	assert_string_equal(member_of(index, "0"), "a");
	assert_string_equal(member_of(index, "1"), "b");
	json_decref(index);
	tw_train_result_release(&together);
	tw_train_result_release(&alone[0]);
	tw_train_result_release(&alone[1]);
	tw_train_result_release(&named);
	tw_prom_free(both);
	tw_prom_free(a);
	tw_prom_free(b);
}

static void a_machine_without_data_is_an_error(void **state)
{
	struct tw_prom *p = train_make_machines("acb");
	struct tw_train_result r = { 0 };
	const struct tw_train_row *last;

	(void)state;
	train_machines(p, NULL, &r);
	assert_int_equal(r.machines, 3);
	last = &r.row[r.rows - 1];
	assert_string_equal(last->machine, "c");
	assert_string_equal(last->trainer, "-");
	assert_string_equal(last->failure, "no energy source and feature group of which "
					   "the machine has all metrics");
	tw_train_result_release(&r);
	tw_prom_free(p);
}

static void there_is_a_limit_on_machines(void **state)
{
	struct tw_train_job job = { .name = "p" };
	struct tw_train_machines m = { 0 };
	struct tw_buf b = { 0 };
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };

	(void)state;
	tw_buf_adds(&b, "{\"kepler_platform_watts\":[");
	for (int i = 0; i <= TW_MACHINES_MAX; i++)
		tw_buf_addf(
			&b,
			"%s{\"metric\":{\"node_name\":\"%d\"},\"values\":[[1,\"1\"]]}",
			i > 0 ? "," : "", i);
	tw_buf_adds(&b, "]}");
	assert_int_equal(tw_prom_parse(b.data, b.len, &p, &err), 0);
	train_set_response(&job, p);
	assert_int_equal(tw_train_machines_find(&job, &m, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text, "response holds 1025 machines, at most 1024");
	tw_prom_free(p);
	tw_buf_clear(&b);
}

static void a_spec_is_of_one_machine(void **state)
{
	struct tw_prom *p = train_make_machines("ab");
	struct tw_train_job job = make_machines_job(p);
	struct tw_train_result r = { 0 };
	struct tw_err err = { 0 }, unknown = { 0 };

	(void)state;
	job.spec.cores = 8;
	assert_int_equal(tw_train(&job, &r, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text, "the machine's spec is given, and there are 2 "
				      "machines: want one of them");
	job.machine = "d";
	assert_int_equal(tw_train(&job, &r, &unknown), -1);
	assert_int_equal(unknown.code, TW_NOTFOUND);
	assert_string_equal(unknown.text, "response has no machine 'd': it has 'a', 'b'");
	train_release_job(&job);
	tw_prom_free(p);
}

static void every_failed_allocation_of_the_machines_is_reported(void **state)
{
	struct tw_prom *p = train_make_machines("ab");
	const struct tw_train_response response = { .prom = p };
	const struct tw_train_job job = { .name = "p",
					  .responses = &response,
					  .response_count = 1 };

	(void)state;
	for (int n = 1;; n++) {
		struct tw_train_machines m = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_train_machines_find(&job, &m, &err);
		if (!fail_alloc_told(rc, &err)) {
			assert_int_equal(m.count, 2);
			assert_true(n > 6);
			tw_train_machines_release(&m);
			break;
		}
		assert_int_equal(m.count, 0);
	}
	tw_prom_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(several_machines_are_each_what_it_is_alone),
		cmocka_unit_test(a_machine_without_data_is_an_error),
		cmocka_unit_test(there_is_a_limit_on_machines),
		cmocka_unit_test(a_spec_is_of_one_machine),
		cmocka_unit_test(every_failed_allocation_of_the_machines_is_reported),
	};

	gsl_set_error_handler_off();
	return cmocka_run_group_tests_name("train_machines", tests, NULL, NULL);
}
