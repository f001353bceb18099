/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/train_fixture.h"

#include "isolator/isolator.h"
#include "lib/dataset.h"
#include "lib/err.h"
#include "lib/json.h"
#include "tests/unit/tw_test.h"

#include <string.h>

/* Package power is 20 W and 3 nW a cycle, dram 5 W; nothing else draws any. */
void train_make_table(struct tw_dataset *d, size_t rows)
{
	double *cycles, *instructions, *misses, *package, *dram;
	struct tw_err err = { 0 };

	assert_int_equal(tw_dataset_init(d, rows, false, &err), 0);
	assert_int_equal(tw_dataset_add(d, "cache_miss", &misses, &err), 0);
	assert_int_equal(tw_dataset_add(d, "cpu_cycles", &cycles, &err), 0);
	assert_int_equal(tw_dataset_add(d, "cpu_instructions", &instructions, &err), 0);
	assert_int_equal(tw_dataset_add(d, "package_power", &package, &err), 0);
	assert_int_equal(tw_dataset_add(d, "core_power", NULL, &err), 0);
	assert_int_equal(tw_dataset_add(d, "uncore_power", NULL, &err), 0);
	assert_int_equal(tw_dataset_add(d, "dram_power", &dram, &err), 0);
	for (size_t r = 0; r < rows; r++) {
		d->time_ms[r] = 1700000000000 + 3000 * (int64_t)r;
		cycles[r] = 1e9 * (double)((r * 17) % 40);
		instructions[r] = 1e9 * (double)((r * 29) % 31);
		misses[r] = 1e6 * (double)((r * 7) % 13);
		package[r] = 20 + 3e-9 * cycles[r];
		dram[r] = 5;
	}
}

void train_add_all(struct tw_strs *l)
{
	struct tw_err err = { 0 };

	for (size_t i = 0; i < tw_trainer_count(); i++)
		assert_int_equal(tw_strs_adds(l, tw_trainer_at(i)->name, &err), 0);
}

struct tw_train_job train_make_job(const struct tw_train_table *table)
{
	struct tw_train_job job = {
		.name = "p",
		.tables = table,
		.table_count = 1,
		.isolator = tw_isolator_find("MinIdleIsolator"),
		.origin = "a test",
		.seed = 1,
		.threads = 1,
	};

	assert_non_null(job.isolator);
	return job;
}

struct tw_train_table train_make_counters(const struct tw_dataset *d)
{
	return (struct tw_train_table){ tw_energy_source_find("rapl-sysfs"),
					tw_feature_group_find("CounterOnly"), d };
}

void train_release_job(struct tw_train_job *job)
{
	tw_strs_clear(&job->abs_trainers);
	tw_strs_clear(&job->dyn_trainers);
}

json_t *train_parse_file(const struct tw_train_result *r, const char *name)
{
	const struct tw_fileset_file *f = tw_fileset_find(&r->pipeline, name);
	struct tw_err err = { 0 };
	json_t *v;

	if (f == NULL)
		fail_msg("there is no file '%s'", name);
	assert_int_equal(tw_json_parse(f->data, f->len, name, &v, &err), 0);
	return v;
}

void train_assert_same(const struct tw_train_result *a, const struct tw_train_result *b)
{
	assert_int_equal(a->pipeline.count, b->pipeline.count);
	for (size_t i = 0; i < a->pipeline.count; i++) {
		assert_string_equal(a->pipeline.at[i].name, b->pipeline.at[i].name);
		assert_int_equal(a->pipeline.at[i].len, b->pipeline.at[i].len);
		assert_memory_equal(a->pipeline.at[i].data, b->pipeline.at[i].data,
				    a->pipeline.at[i].len);
	}
}

void train_assert_refused(const struct tw_train_job *job, const char *text)
{
	struct tw_train_result r = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_train(job, &r, &err), -1);
	if (strstr(err.text, text) == NULL)
		fail_msg("'%s' is not in '%s'", text, err.text);
	assert_int_equal(r.pipeline.count, 0);
	assert_null(r.row);
}
