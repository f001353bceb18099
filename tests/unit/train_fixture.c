/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/train_fixture.h"

#include "isolator/isolator.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/field/dataset.h"
#include "lib/json/json.h"
#include "tests/unit/quick.h"
#include "tests/unit/same_files.h"
#include "tests/unit/tw_test.h"
#include "trainer/response/prom.h"
#include "trainer/fit/trainer.h"

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

size_t train_add_quick(struct tw_strs *l)
{
	struct tw_err err = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < tw_trainer_count(); i++) {
		if (tw_trainer_at(i)->slow)
			continue;
		assert_int_equal(tw_strs_adds(l, tw_trainer_at(i)->name, &err), 0);
		count++;
	}
	return count;
}

size_t train_add_most(struct tw_strs *l)
{
	const size_t before = l->count;

	if (quick())
		return train_add_quick(l);
	train_add_all(l);
	return l->count - before;
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
					tw_feature_group_find("CounterOnly"), d, NULL };
}

void train_set_up(struct training *t, size_t rows)
{
	t->d = (struct tw_dataset){ 0 };
	t->table = train_make_counters(&t->d);
	t->job = train_make_job(&t->table);
	train_make_table(&t->d, rows);
}

void train_tear_down(struct training *t)
{
	tw_dataset_release(&t->d);
	train_release_job(&t->job);
}

void train_set_response(struct tw_train_job *job, const struct tw_prom *p)
{
	static struct tw_train_response one;

	one = (struct tw_train_response){ .prom = p };
	job->responses = &one;
	job->response_count = 1;
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
	same_files(&a->pipeline, &b->pipeline);
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

/* Load and power of one machine: name is its own, and so is the law. */
static void add_machine(struct tw_buf *cpu, struct tw_buf *watts, const char *name,
			size_t law)
{
	const char *comma = cpu->len > 0 ? "," : "";

	tw_buf_addf(cpu, "%s{\"metric\":{\"node_name\":\"%s\"},\"values\":[", comma,
		    name);
	tw_buf_addf(
		watts,
		"%s{\"metric\":{\"node_name\":\"%s\",\"source\":\"acpi\"},\"values\":[",
		comma, name);
	for (size_t r = 0, seconds = 0; r < 30; r++) {
		const size_t busy = (r * 7 + law) % 11;

		seconds += busy;
		comma = r > 0 ? "," : "";
		tw_buf_addf(cpu, "%s[%zu,\"%zu\"]", comma, 1000 + 3 * r, seconds);
		tw_buf_addf(watts, "%s[%zu,\"%zu\"]", comma, 1000 + 3 * r,
			    10 * law + 2 * busy);
	}
	tw_buf_adds(cpu, "]}");
	tw_buf_adds(watts, "]}");
}

/* Of machine a, of b, or of both; c has load and no power. */
struct tw_prom *train_make_machines(const char *names)
{
	struct tw_buf cpu = { 0 }, watts = { 0 }, lost = { 0 };
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };

	if (strchr(names, 'b') != NULL)
		add_machine(&cpu, &watts, "b", 5);
	if (strchr(names, 'c') != NULL)
		add_machine(&cpu, &lost, "c", 2);
	if (strchr(names, 'a') != NULL)
		add_machine(&cpu, &watts, "a", 3);
	tw_buf_adds(&cpu, "],\"kepler_platform_watts\":[");
	tw_buf_add(&cpu, watts.data, watts.len);
	tw_buf_adds(&cpu, "]}");
	tw_buf_clear(&lost);
	tw_buf_adds(&lost, "{\"kepler_container_cpu_seconds_total\":[");
	tw_buf_add(&lost, cpu.data, cpu.len);
	if (tw_prom_parse(lost.data, lost.len, &p, &err) < 0)
		fail_msg("%s", err.text);
	tw_buf_clear(&lost);
	tw_buf_clear(&watts);
	tw_buf_clear(&cpu);
	return p;
}
