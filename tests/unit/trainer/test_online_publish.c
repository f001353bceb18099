/* SPDX-License-Identifier: Apache-2.0 */
/* Which models of a node serve: publication, drift, roll-back. */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/zip/fileset.h"
#include "model-db/pipeline.h"
#include "model-db/publish.h"
#include "tests/unit/sample_model.h"
#include "tests/unit/trainer/node_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NO_WEIGHT "{\"scale\":1,\"mean\":0,\"variance\":1,\"weight\":0}"

/* Nothing here waits for the disk. */
int fsync(int fd)
{
	(void)fd;
	return 0;
}

int fdatasync(int fd)
{
	return fsync(fd);
}

/* ---- models ---- */

/* A pipeline of a model of so many watts at any load, with that error of validation. */
static void make_pipeline(double watts, double mae_w, struct tw_fileset *out)
{
	char text[512];
	const struct sample s = { .mae_w = mae_w, .text = text };
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };
	json_t *none = json_object();

	snprintf(text, sizeof(text),
		 "{\"All_Weights\":{\"Bias_Weight\":%g,\"Categorical_Variables\":{},"
		 "\"Numerical_Variables\":{\"cpu_cycles\":" NO_WEIGHT
		 ",\"cpu_instructions\":" NO_WEIGHT ",\"cache_miss\":" NO_WEIGHT "}}}",
		 watts);
	sample_model(&s, &m);
	if (tw_pipeline_add_model(out, &m, &err) < 0 ||
	    tw_pipeline_add_summary(out, none, &m, 1, &err) < 0)
		fail_msg("%s", err.text);
	tw_model_release(&m);
	json_decref(none);
}

static void serve(struct node_fixture *f, double watts, double mae_w)
{
	struct tw_fileset files = { 0 };
	struct tw_err err = { 0 };

	make_pipeline(watts, mae_w, &files);
	if (tw_pipeline_publish(f->dir, "own-m", &files, &err) < 0)
		fail_msg("%s", err.text);
	tw_fileset_clear(&files);
}

/* The live error of 1000 W on the samples. */
static double error_of_1000_w(struct node_fixture *f)
{
	const struct tw_standing none = { 0 };

	serve(f, 1000, 1);
	node_stand(f, &none);
	node_take(f, f->samples);
	return node_figures(f).live_w;
}

/* A pipeline is found by the machine's name, with '_' for what no file name may have. */
static void a_machine_has_a_pipeline(void **state)
{
	struct node_fixture *f = *state;
	const struct sample s = { 0 };
	struct tw_err err = { 0 };

	sample_publish(f->dir, "own-a_b_c-1:@", &s, 1);
	tw_online_node_free(f->node);
	assert_int_equal(tw_online_node_new(&f->rules, "a/b c-1:@", &f->node, &err), 0);
	assert_true(node_figures(f).serving);
	assert_string_equal(node_figures(f).machine, "a/b c-1:@");
	assert_int_equal(tw_online_node_taken_to(f->node), 0);
}

/* A process may have ended between a publication and its record. */
static void published_data_was_trained_on(void **state)
{
	struct node_fixture *f = *state;
	const struct sample s = { .metadata =
					  "{\"data_last\":\"2026-03-01T00:00:00Z\"}" };
	struct tw_standing before = { .trained_to_ms = INT64_C(1772323200000) - 1 };

	sample_publish(f->dir, "own-m", &s, 1);
	node_stand(f, &before);
	assert_int_equal(node_figures(f).trained_to_ms, before.trained_to_ms + 1);
	before.trained_to_ms += 2;
	node_stand(f, &before);
	assert_int_equal(node_figures(f).trained_to_ms, before.trained_to_ms);
}

/* A drift is of two intervals at least, and of more than twice the expected error. */
static void a_drift_begins_and_ends(void **state)
{
	struct node_fixture *f = *state;
	struct tw_standing s = { .onset_ms = 5 };
	const double live_w = error_of_1000_w(f);
	int64_t first_ms;

	/* The error of the contest is expected where it is larger than the validation's.
	 */
	s.error_w = live_w / 2;
	node_stand(f, &s);
	assert_true(node_figures(f).expected_w == live_w / 2);
	node_take(f, f->samples);
	assert_true(isnan(node_figures(f).drift));
	assert_true(node_figures(f).drifting);
	node_take(f, f->samples);
	assert_true(node_figures(f).drift == 2);
	assert_false(node_figures(f).drifting);
	assert_int_equal(node_standing(f).onset_ms, 0);
	serve(f, 1000, live_w / 2.001);
	s = (struct tw_standing){ .error_w = 1 };
	node_stand(f, &s);
	assert_true(node_figures(f).expected_w > live_w / 2.002);
	first_ms = f->to_ms;
	node_take(f, f->samples);
	assert_false(node_figures(f).drifting);
	node_take(f, f->samples);
	assert_true(node_figures(f).drifting);
	assert_int_equal(node_standing(f).onset_ms, first_ms);
	for (int i = 0; i < 6; i++)
		node_take(f, f->samples);
	assert_int_equal(node_standing(f).onset_ms, first_ms);
}

/* ---- roll-backs ---- */

/* Serve 1000 W, and 500 W before. Returns the ratio of the live errors. */
static double serve_worse(struct node_fixture *f)
{
	const struct tw_standing s = { .published_ms = 1, .error_w = 1e6 };
	double ratio;

	serve(f, 500, 1);
	serve(f, 1000, 1);
	node_stand(f, &s);
	node_take(f, f->samples);
	ratio = node_figures(f).live_w / node_figures(f).previous_w;
	assert_true(ratio > 1.1);
	node_stand(f, &s);
	return ratio;
}

/* Whether the previous model is better by the margin, and since when, is of five. */
static void a_previous_model_is_better_by_a_margin(void **state)
{
	struct node_fixture *f = *state;
	const double ratio = serve_worse(f);

	f->rules.margin = ratio - 1 - 1e-9;
	for (int i = 0; i < 4; i++)
		node_take(f, f->samples);
	assert_int_equal(node_standing(f).worse_since_ms, 0);
	node_take(f, f->samples);
	assert_int_equal(node_standing(f).worse_since_ms, f->to_ms);
	node_take(f, f->samples);
	assert_int_equal(node_standing(f).worse_since_ms, f->to_ms - SPAN_MS);
	f->rules.margin = ratio - 1 + 1e-9;
	node_take(f, f->samples);
	assert_int_equal(node_standing(f).worse_since_ms, 0);
}

static void a_model_that_stays_worse_is_rolled_back(void **state)
{
	struct node_fixture *f = *state;
	struct tw_online_figures was;
	char want[256], *why;

	serve_worse(f);
	f->rules.rollback_ms = 2 * SPAN_MS;
	for (int i = 0; i < 6; i++)
		node_take(f, f->samples);
	node_decide(f);
	assert_int_equal(node_figures(f).verdicts[TW_ROLLED_BACK], 0);
	node_take(f, f->samples);
	was = node_figures(f);
	node_decide(f);
	assert_int_equal(node_figures(f).verdicts[TW_ROLLED_BACK], 1);
	assert_int_equal(node_figures(f).published_ms, 0);
	assert_true(isnan(node_figures(f).live_w) && isnan(node_figures(f).previous_w));
	assert_true(node_figures(f).expected_w == 1);
	assert_int_equal(node_standing(f).worse_since_ms, 0);
	node_take(f, f->samples);
	assert_true(node_figures(f).live_w == was.previous_w);
	snprintf(want, sizeof(want),
		 "live error %.3f W, that of the previous model %.3f W, for 60 s",
		 was.live_w, was.previous_w);
	why = node_reason(f);
	assert_string_equal(why, want);
	free(why);
}

/* Of models that nobody published here, or without a model before, none returns. */
static void only_a_publication_is_rolled_back(void **state)
{
	struct node_fixture *f = *state;
	struct tw_standing s = { .worse_since_ms = 1 };

	f->rules.rollback_ms = 1;
	serve(f, 1000, 1);
	s.published_ms = 1;
	node_stand(f, &s);
	node_decide(f);
	serve(f, 500, 1);
	s.published_ms = 0;
	node_stand(f, &s);
	node_decide(f);
	assert_int_equal(node_figures(f).verdicts[TW_ROLLED_BACK], 0);
	assert_true(node_figures(f).serving);
}

/* ---- publications ---- */

static void make_candidate(struct tw_candidate *c, double candidate_w)
{
	make_pipeline(700, 1, &c->result.pipeline);
	c->contest.wins = 1;
	c->contest.rows = 60;
	c->contest.candidate_w = candidate_w;
	c->contest.serving_w = 9;
}

/* Train with that winner in a standing; whether it is published. */
static bool is_published(struct node_fixture *f, const struct tw_standing *s,
			 double candidate_w, bool had_alone)
{
	struct tw_candidate c = { 0 };
	const uint64_t before = node_figures(f).verdicts[TW_PUBLISHED];
	bool published;

	/* A publication releases held segments. */
	node_fill(f, 1);
	serve(f, 1000, 2);
	node_stand(f, s);
	make_candidate(&c, candidate_w);
	training.reads = 0;
	node_decide(f);
	training.best = &c;
	training.had_alone = had_alone;
	training.done = true;
	node_decide(f);
	tw_fileset_clear(&c.result.pipeline);
	published = node_figures(f).verdicts[TW_PUBLISHED] > before;
	assert_int_equal(node_standing(f).published_ms, published ? f->to_ms : 0);
	assert_true(node_standing(f).error_w == (published ? candidate_w : 0));
	assert_int_equal(node_standing(f).tried_to_ms, f->to_ms);
	return published;
}

/* Better, but for the drift: that takes an error within twice the expected one. */
static void a_candidate_has_to_end_the_drift(void **state)
{
	struct node_fixture *f = *state;
	const struct tw_standing calm = { 0 }, drifts = { .onset_ms = START_MS };
	char *why;

	f->rules.rows_min = 1;
	assert_true(is_published(f, &drifts, 4, false));
	assert_true(is_published(f, &drifts, 4.001, true));
	assert_true(is_published(f, &calm, 4.001, false));
	assert_false(is_published(f, &drifts, 4.001, false));
	assert_int_equal(node_figures(f).verdicts[TW_NOT_BETTER], 1);
	assert_int_equal(training.drops, 3);
	why = node_reason(f);
	assert_string_equal(why, "error 4.001 W, that of the serving model 9.000 W, on "
				 "60 held-out rows: it would still drift");
	free(why);
}

/* Models of the samples since a drift began make those before useless. */
static void a_publication_is_of_some_samples(void **state)
{
	static const char *const told[] = {
		"level=info program=tallywatt msg=\"m: published: 'own-m' on samples"
	};
	struct node_fixture *f = *state;
	int saved;
	struct tw_candidate c = { 0 };
	char *why;

	node_fill(f, 1);
	f->rules.rows_min = 1;
	make_candidate(&c, 1.25);
	saved = node_begin_log(f);
	node_decide(f);
	training.best = &c;
	training.done = true;
	c.alone = true;
	assert_true(node_figures(f).segments > 1);
	node_decide(f);
	node_end_log(f, saved, told, TW_COUNT(told));
	tw_fileset_clear(&c.result.pipeline);
	/* No model served: every model of the candidate stays. */
	assert_int_equal(training.drops, 0);
	assert_true(node_figures(f).serving);
	assert_int_equal(node_figures(f).trained_to_ms, f->to_ms);
	assert_int_equal(node_figures(f).held_rows, 0);
	why = node_reason(f);
	assert_string_equal(why, "'own-m' on samples since the drift began: error 1.250 "
				 "W, that of the mean 9.000 W, on 60 held-out rows");
	free(why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NODE_TEST(a_machine_has_a_pipeline),
		NODE_TEST(published_data_was_trained_on),
		NODE_TEST(a_drift_begins_and_ends),
		NODE_TEST(a_previous_model_is_better_by_a_margin),
		NODE_TEST(a_model_that_stays_worse_is_rolled_back),
		NODE_TEST(only_a_publication_is_rolled_back),
		NODE_TEST(a_candidate_has_to_end_the_drift),
		NODE_TEST(a_publication_is_of_some_samples),
	};

	return cmocka_run_group_tests_name("online_publish", tests, NULL, NULL);
}
