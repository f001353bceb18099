/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/team.h"
#include "tests/unit/tw_test.h"

#include "isolator/isolator.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "trainer/fit/registry.h"
#include "trainer/fit/rest.h"
#include "trainer/fit/validate.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#define SIZE 4

/* Threads report failures here; cmocka's assertions jump, which only its thread may do.
 */
struct report {
	bool good[SIZE];
	char text[SIZE][TW_ERR_TEXT];
};

static void assert_good(const struct report *r, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		if (!r->good[i])
			fail_msg("worker %u: %s", i, r->text[i]);
}

static void say(struct report *r, const struct tw_workers *w, bool good,
		const struct tw_err *err)
{
	r->good[w->rank] = good;
	memcpy(r->text[w->rank], err->text, sizeof(err->text));
}

/* ---- sums and columns ---- */

static void sum_and_gather(struct tw_workers *w, void *arg)
{
	/* Worker 2 has no rows. */
	const size_t rows = w->rank == 2 ? 0 : w->rank + 1;
	double v[2] = { w->rank, -1.0 }, most = w->rank, least = w->rank;
	double own[SIZE] = { 0 }, all[16];
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };
	size_t first, count;
	bool good;

	for (size_t i = 0; i < rows; i++)
		own[i] = 10.0 * w->rank + (double)i;
	good = tw_workers_sum(w, v, 2, &err) == 0 && v[0] == 6.0 && v[1] == -4.0 &&
	       tw_workers_max(w, &most, 1, &err) == 0 && most == 3.0 &&
	       tw_workers_min(w, &least, 1, &err) == 0 && least == 0.0 &&
	       tw_workers_place(w, rows, &first, &count, &err) == 0 && count == 7 &&
	       first == (const size_t[]){ 0, 1, 3, 3 }[w->rank] &&
	       tw_workers_gather(w, own, rows, all, &err) == 0 && all[0] == 0.0 &&
	       all[1] == 10.0 && all[2] == 11.0 && all[3] == 30.0 && all[6] == 33.0 &&
	       tw_workers_texts(w, "abcd", w->rank, &text, &err) == 0 && text.len == 6 &&
	       memcmp(text.data, "aababc", 6) == 0;
	v[0] = w->rank + 7.0;
	good = good && tw_workers_same(w, v, sizeof(v), &err) == 0 && v[0] == 7.0 &&
	       tw_workers_match(w, "nothing", "x", 1, &err) == 0;
	tw_buf_clear(&text);
	say(arg, w, good, &err);
}

static void sums_and_columns_are_those_of_all(void **state)
{
	struct report r = { 0 };

	(void)state;
	team_run(SIZE, sum_and_gather, &r);
	assert_good(&r, SIZE);
}

static void no_workers_is_all_rows(void **state)
{
	double v[2] = { 1.0, 2.0 }, all[2];
	struct tw_err err = { 0 };
	size_t first, count;

	(void)state;
	assert_int_equal(tw_workers_sum(NULL, v, 2, &err), 0);
	assert_int_equal(tw_workers_place(NULL, 2, &first, &count, &err), 0);
	assert_int_equal(tw_workers_gather(NULL, v, 2, all, &err), 0);
	assert_true(first == 0 && count == 2 && all[0] == 1.0 && all[1] == 2.0);
	tw_fail(&err, TW_INVALID, "bad");
	assert_int_equal(tw_workers_agree(NULL, &err), -1);
}

/* ---- failures ---- */

static void disagree(struct tw_workers *w, void *arg)
{
	struct tw_err err = { 0 };
	double v = 1.0;
	bool good;

	good = tw_workers_agree(w, &err) == 0;
	if (w->rank == 1)
		tw_fail(&err, TW_NOTFOUND, "no rows");
	if (w->rank == 3)
		tw_fail(&err, TW_INVALID, "other");
	good = good && tw_workers_agree(w, &err) < 0 && err.code == TW_NOTFOUND &&
	       strcmp(err.text, "worker 1: no rows") == 0;
	/* They go on together. */
	tw_err_clear(&err);
	good = good && tw_workers_sum(w, &v, 1, &err) == 0 && v == 4.0;
	good = good &&
	       tw_workers_match(w, "colour", w->rank == 2 ? "r" : "b", 1, &err) < 0 &&
	       strstr(err.text, "colour") != NULL;
	say(arg, w, good, &err);
}

static void all_get_the_first_failure(void **state)
{
	struct report r = { 0 };

	(void)state;
	team_run(SIZE, disagree, &r);
	assert_good(&r, SIZE);
}

static void fall_out_of_step(struct tw_workers *w, void *arg)
{
	struct tw_err err = { 0 }, again = { 0 };
	double v[2] = { 1.0, 1.0 };
	int status;

	/* Worker 1 missed a sum, for want of memory, and is at the next. */
	if (w->rank == 1)
		status = tw_workers_sum(w, v, 2, &err);
	else
		status = tw_workers_sum(w, v, 1, &err);
	say(arg, w,
	    status < 0 && strstr(err.text, "different steps") != NULL &&
		    tw_workers_sum(w, v, 1, &again) < 0 &&
		    tw_workers_check(w, &again) < 0,
	    &err);
}

static void workers_out_of_step_fail_for_good(void **state)
{
	struct report r = { 0 };

	(void)state;
	team_run(SIZE, fall_out_of_step, &r);
	assert_good(&r, SIZE);
}

static void leave_early(struct tw_workers *w, void *arg)
{
	struct tw_err err = { 0 };
	double v = 1.0;
	int status = 0;

	if (w->rank != 2)
		status = tw_workers_sum(w, &v, 1, &err);
	say(arg, w, w->rank == 2 || status < 0, &err);
}

static void a_worker_that_leaves_fails_all(void **state)
{
	struct report r = { 0 };

	(void)state;
	team_run(SIZE, leave_early, &r);
	assert_good(&r, SIZE);
}

/* ---- fits and isolators ---- */

#define ROWS 240
#define COLS 3

static const char *const features[COLS] = { "cpu_cycles", "cpu_instructions",
					    "bpf_cpu_time_ms" };

struct law {
	double x[ROWS * COLS], y[ROWS];
	int64_t time_ms[ROWS];
	size_t from[SIZE + 1]; /* rows of each worker */
	struct report report;
	const struct tw_trainer *trainer;
	const struct tw_isolator *isolator;
	struct tw_buf text[SIZE + 1]; /* of the workers, and of one process */
	double held_out[ROWS], idle[SIZE + 1];
	struct tw_rest rest[SIZE + 1];
};

static void make_law(struct law *l)
{
	uint64_t seed = 5;

	*l = (struct law){ .from = { 0, 50, 50, 97, ROWS } };
	for (size_t r = 0; r < ROWS; r++) {
		const double load = (double)(r % 12) / 11.0;

		for (size_t c = 0; c < COLS; c++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			l->x[r * COLS + c] =
				load * 1e9 * (1.0 + (double)(seed >> 40) / 1e8);
		}
		l->x[r * COLS + 2] = load * 4000.0;
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		l->y[r] = 20.0 + 3e-8 * l->x[r * COLS] + 1e-8 * l->x[r * COLS + 1] +
			  (double)(seed >> 40) / 1e7;
		l->time_ms[r] = 1000 * (int64_t)r;
	}
}

/* The rows of a worker, or all. */
static struct tw_samples samples_of(const struct law *l, struct tw_workers *w)
{
	const size_t from = w != NULL ? l->from[w->rank] : 0;
	const size_t to = w != NULL ? l->from[w->rank + 1] : ROWS;

	return (struct tw_samples){
		.rows = to - from,
		.cols = COLS,
		.x = l->x + from * COLS,
		.y = l->y + from,
		.features = features,
		.component = TW_PACKAGE,
		.time_ms = l->time_ms + from,
		.overlap = 2,
		.workers = w,
		.first_row = from,
		.all_rows = ROWS,
	};
}

static int fit_and_validate(struct law *l, struct tw_workers *w, size_t place,
			    double *held_out, struct tw_err *err)
{
	const struct tw_samples s = samples_of(l, w);

	for (size_t f = 0; f < 5; f++) {
		const struct tw_fold fold = tw_fold_at(ROWS, 5, f);

		if (tw_validate_fold(l->trainer, &s, fold, 1,
				     held_out + s.first_row + tw_fold_own(&s, fold).from,
				     NULL, err) < 0)
			return -1;
	}
	if (tw_rest_find(&s, &l->rest[place], err) < 0)
		return -1;
	return tw_validate_fit(l->trainer, &s, 1, &l->text[place], err);
}

static void fit_as_worker(struct tw_workers *w, void *arg)
{
	struct law *l = arg;
	struct tw_err err = { 0 };

	say(&l->report, w, fit_and_validate(l, w, w->rank, l->held_out, &err) == 0, &err);
}

/* Compare the numbers of two texts of JSON. */
static void assert_alike(const json_t *a, const json_t *b, const char *key)
{
	const char *name;
	json_t *v;

	if (json_is_number(a)) {
		const double x = json_number_value(a), y = json_number_value(b);

		if (fabs(x - y) > 1e-9 * fmax(fabs(x), 1e-3))
			fail_msg("%s: %.17g is not %.17g", key, x, y);
		return;
	}
	json_object_foreach((json_t *)(uintptr_t)a, name, v)
		assert_alike(v, json_object_get(b, name), name);
}

static void check_fit(const struct tw_trainer *trainer)
{
	static struct law l;
	static double alone[ROWS];
	struct tw_err err = { 0 };
	json_t *one, *all;

	make_law(&l);
	l.trainer = trainer;
	team_run(SIZE, fit_as_worker, &l);
	assert_good(&l.report, SIZE);
	if (fit_and_validate(&l, NULL, SIZE, alone, &err) < 0)
		fail_msg("%s", err.text);
	one = json_loadb(l.text[SIZE].data, l.text[SIZE].len, 0, NULL);
	for (unsigned i = 0; i < SIZE; i++) {
		all = json_loadb(l.text[i].data, l.text[i].len, 0, NULL);
		assert_alike(one, all, trainer->name);
		json_decref(all);
		assert_true(l.rest[i].watts == l.rest[SIZE].watts &&
			    l.rest[i].high == l.rest[SIZE].high &&
			    l.rest[i].low_watts == l.rest[SIZE].low_watts);
	}
	json_decref(one);
	for (size_t r = 0; r < ROWS; r++)
		if (fabs(alone[r] - l.held_out[r]) > 1e-9 * fabs(alone[r]))
			fail_msg("row %zu: %.17g is not %.17g", r, l.held_out[r],
				 alone[r]);
	for (unsigned i = 0; i <= SIZE; i++)
		tw_buf_clear(&l.text[i]);
}

static void linear_fits_are_those_of_one_process(void **state)
{
	(void)state;
	check_fit(&tw_trainer_linear);
	check_fit(&tw_trainer_ridge);
}

static void fill_dataset(const struct law *l, size_t from, size_t to,
			 struct tw_dataset *d, struct tw_err *err)
{
	double *use, *watts;

	if (tw_dataset_init(d, to - from, false, err) < 0 ||
	    tw_dataset_add(d, features[0], &use, err) < 0 ||
	    tw_dataset_add(d, tw_power_column(TW_PACKAGE), &watts, err) < 0)
		return;
	for (size_t r = from; r < to; r++) {
		d->time_ms[r - from] = l->time_ms[r];
		use[r - from] = l->x[r * COLS];
		watts[r - from] = l->y[r];
	}
}

/* The power that the isolator subtracts, learnt from the rows. */
static int learn_idle(const struct law *l, struct tw_workers *w, double *out,
		      struct tw_err *err)
{
	const size_t from = w != NULL ? l->from[w->rank] : 0;
	const size_t to = w != NULL ? l->from[w->rank + 1] : ROWS;
	const struct tw_energy_source *source = tw_energy_source_find("rapl-sysfs");
	const struct tw_isolator_args args = { .workers = w };
	struct tw_dataset d = { 0 }, probe = { 0 };
	void *learnt = NULL;
	int rc = -1;

	fill_dataset(l, from, to, &d, err);
	fill_dataset(l, 0, 1, &probe, err);
	if (err->code == TW_OK &&
	    l->isolator->fit(&args, &d, source, &learnt, err) == 0 &&
	    l->isolator->apply(learnt, &probe, err) == 0) {
		*out = l->y[0] - tw_dataset_find(&probe, tw_power_column(TW_PACKAGE))[0];
		rc = 0;
	}
	l->isolator->free(learnt);
	tw_dataset_release(&d);
	tw_dataset_release(&probe);
	return rc;
}

static void isolate_as_worker(struct tw_workers *w, void *arg)
{
	struct law *l = arg;
	struct tw_err err = { 0 };

	say(&l->report, w, learn_idle(l, w, &l->idle[w->rank], &err) == 0, &err);
}

static void idle_power_is_that_of_one_process(void **state)
{
	static const struct tw_isolator *const isolators[] = {
		&tw_isolator_min_idle, &tw_isolator_idle_regression
	};
	static struct law l;
	struct tw_err err = { 0 };

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		make_law(&l);
		l.isolator = isolators[k];
		team_run(SIZE, isolate_as_worker, &l);
		assert_good(&l.report, SIZE);
		assert_int_equal(learn_idle(&l, NULL, &l.idle[SIZE], &err), 0);
		assert_true(l.idle[SIZE] > 15.0 && l.idle[SIZE] < 25.0);
		for (unsigned i = 0; i < SIZE; i++)
			assert_true(l.idle[i] == l.idle[SIZE]);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_and_columns_are_those_of_all),
		cmocka_unit_test(no_workers_is_all_rows),
		cmocka_unit_test(all_get_the_first_failure),
		cmocka_unit_test(workers_out_of_step_fail_for_good),
		cmocka_unit_test(a_worker_that_leaves_fails_all),
		cmocka_unit_test(linear_fits_are_those_of_one_process),
		cmocka_unit_test(idle_power_is_that_of_one_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
