/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/json/json.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/index/choose.h"
#include "model-db/index/explain.h"
#include "model-db/index/filter.h"
#include "model-db/index/index.h"
#include "model-db/index/index_load.h"
#include "model-db/index/index_use.h"
#include "model-db/model_files.h"
#include "profiler/node_types.h"
#include "profiler/likeness.h"
#include "tests/unit/sample_model.h"
#include "tests/unit/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * tw_choose(), which skips families that cannot win, against a comparison of all models,
 * on random databases and requests.
 */

#define REQUESTS 3000

static const char *const pipelines[] = { "alpha", "beta", "gamma" };
static const char *const groups[] = { "BPFOnly", "Basic", "CounterOnly" };
static const char *const processors[] = { "", "intel_xeon_gold_6130", "intel_xeon_e5",
					  "amd_epyc_7551" };
static const struct {
	const char *trainer, *predictor, *text;
} trainers[] = {
	{ "SGDRegressorTrainer", "linear", NULL },
	{ "LinearRegressionTrainer", "linear",
	  "{\"All_Weights\":{\"Bias_Weight\":0,\"Numerical_Variables\":{}}}" },
	{ "XgboostFitTrainer", "xgboost", NULL },
	{ "KNeighborsRegressorTrainer", "knn", NULL },
};
static const char *const metrics[] = {
	"bpf_cpu_time_ms,bpf_page_cache_hit",
	"cache_miss,cpu_cycles,cpu_instructions",
	"cpu_cycles,cpu_instructions,bpf_cpu_time_ms,cache_miss,bpf_page_cache_hit",
	"cpu_cycles",
};
static const char *const filters[] = {
	NULL,     NULL,     "mae:3",
	"r2:0.5", "rmse:1", "features:cache_miss,cpu_cycles,cpu_instructions"
};

/* A fixed sequence: the same cases in every run. */
static unsigned draw(unsigned *seed, unsigned count)
{
	*seed = *seed * 1103515245u + 12345u;
	return (*seed >> 16) % count;
}

static struct tw_machine_spec draw_spec(unsigned *seed)
{
	struct tw_machine_spec s = { 0 };

	snprintf(s.processor, sizeof(s.processor), "%s",
		 processors[draw(seed, TW_COUNT(processors))]);
	s.cores = 8 * draw(seed, 4);
	s.chips = draw(seed, 3);
	s.memory_gib = 64 * draw(seed, 2);
	s.frequency_mhz = 2000 * draw(seed, 2);
	return s;
}

static void write_zip(const char *db, const char *pipeline, const struct sample *s)
{
	struct tw_fileset files = { 0 };
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };
	char path[512], dir[512], *data = NULL;
	size_t len;

	sample_model(s, &m);
	snprintf(dir, sizeof(dir), "%s/%s/%s/%s/%s", db, pipeline, m.info.source->name,
		 tw_output_name(m.info.output), m.info.group->name);
	snprintf(path, sizeof(path), "%.380s/%.120s.zip", dir, m.info.name);
	if (tw_model_to_files(&m, &files, &err) < 0 ||
	    tw_zip_write(&files, &data, &len, &err) < 0 || tw_dir_make(dir, &err) < 0 ||
	    tw_file_create(path, data, len, &err) < 0)
		fail_msg("%s", err.text);
	free(data);
	tw_fileset_clear(&files);
	tw_model_release(&m);
}

/* Give node types one member or two: the choice prefers the similar machine with more. */
static void write_members(const char *db, const char *pipeline, unsigned *seed)
{
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };
	char path[512];

	for (unsigned type = 0; type < 4; type++)
		tw_buf_addf(&b, "%s\"%u\":{\"attrs\":{},\"members\":[%s]}",
			    type == 0 ? "{" : ",", type,
			    draw(seed, 2) == 0 ? "\"a\"" : "\"a\",\"b\"");
	tw_buf_adds(&b, "}");
	snprintf(path, sizeof(path), "%s/%s/node_type_index.json", db, pipeline);
	if (tw_file_create(path, b.data, b.len, &err) < 0)
		fail_msg("%s", err.text);
	tw_buf_clear(&b);
}

static void write_models(const char *db, unsigned *seed)
{
	for (size_t p = 0; p < TW_COUNT(pipelines); p++) {
		for (unsigned type = 0; type < 4; type++) {
			const struct tw_machine_spec spec = draw_spec(seed);

			for (int n = 0; n < 6; n++) {
				const size_t t = draw(seed, TW_COUNT(trainers));
				char metadata[192];
				struct sample s = {
					.group = groups[draw(seed, TW_COUNT(groups))],
					.trainer = trainers[t].trainer,
					.predictor = trainers[t].predictor,
					.text = trainers[t].text,
					.node_type = type,
					.mae_w = 1 + draw(seed, 5),
					.spec = spec,
					.metadata = metadata,
				};
				char path[512];

				snprintf(path, sizeof(path),
					 "%s/%s/rapl-sysfs/AbsPower/%s/%s_%u.zip", db,
					 pipelines[p], s.group, s.trainer, type);
				if (access(path, F_OK) == 0)
					continue;
				snprintf(metadata, sizeof(metadata),
					 "{\"r2\":%.1f,\"data_rows\":%u,"
					 "\"certificate_bias\":%g,\"package_bias\":%u,"
					 "\"package_mae\":%g%s%u}",
					 draw(seed, 10) / 10.0, 500 * draw(seed, 4),
					 draw(seed, 3) == 0 ? 0.4 : 0.1, draw(seed, 3),
					 s.mae_w,
					 draw(seed, 2) == 0 ? ",\"package_series_mae\":"
							    : ",\"other\":",
					 1 + draw(seed, 5));
				write_zip(db, pipelines[p], &s);
			}
		}
		write_members(db, pipelines[p], seed);
	}
}

/* ---- the choice by comparing all models ---- */

static bool measures(const struct tw_wanted *w, const struct tw_index_entry *e)
{
	for (size_t i = 0; i < e->feature_count; i++)
		if (!tw_strs_has(&w->metrics, e->features[i]))
			return false;
	return true;
}

static double similarity(const struct tw_wanted *w, const struct tw_index_entry *e)
{
	struct tw_likeness wanted, model;
	double s;

	if (!tw_machine_spec_known(&w->spec))
		return 0;
	if (tw_node_equal(&w->spec, &e->machine->spec))
		return 1;
	tw_likeness_of(&w->spec, &wanted);
	tw_likeness_of(&e->machine->spec, &model);
	s = tw_likeness(&wanted, &model);
	return s >= TW_SIMILAR_ENOUGH ? s : 0;
}

static bool is_candidate(const struct tw_wanted *w, const struct tw_filter *f,
			 const struct tw_index_entry *e)
{
	if (!measures(w, e) ||
	    (w->pipeline != NULL && strcmp(w->pipeline, e->pipeline)) ||
	    (w->trainer != NULL && strcmp(w->trainer, e->trainer)))
		return false;
	if (!w->loose_node_type && w->node_type >= 0 && w->node_type != e->node_type)
		return false;
	if (!w->loose_node_type && w->node_type < 0 && tw_machine_spec_known(&w->spec) &&
	    similarity(w, e) < 1)
		return false;
	if (w->weight && !tw_index_has_weights(e, w->client))
		return false;
	if (w->weight && w->trainer == NULL && strcmp(e->predictor, "linear") != 0)
		return false;
	if (w->weight && tw_index_is_trees(e) && !w->trees)
		return false;
	if (!w->weight && w->trainer == NULL && e->fitness == TW_UNFIT)
		return false;
	return tw_filter_pass(f, e, NULL);
}

static bool better(const struct tw_wanted *w, const struct tw_index_entry *a,
		   const struct tw_index_entry *b)
{
	const bool a_type = w->node_type >= 0 && a->node_type == w->node_type;
	const bool b_type = w->node_type >= 0 && b->node_type == w->node_type;
	const double a_like = similarity(w, a), b_like = similarity(w, b);
	const bool series = !w->weight && w->ensembles;

	if (a_type != b_type)
		return a_type;
	if (!a_type && (a_like < b_like || a_like > b_like))
		return a_like > b_like;
	if (!a_type && a_like > 0 && a->machine->members != b->machine->members)
		return a->machine->members > b->machine->members;
	if (w->weight && a->idle_power != b->idle_power)
		return a->idle_power;
	if (series ? a->series_yields != b->series_yields : a->yields != b->yields)
		return series ? b->series_yields : b->yields;
	if (series && a->machine == b->machine &&
	    (a->fitness == TW_UNFIT) == (b->fitness == TW_UNFIT) &&
	    (a->series_error < b->series_error || a->series_error > b->series_error))
		return a->series_error < b->series_error;
	return a->rank < b->rank;
}

static enum tw_match match_of(const struct tw_wanted *w, const struct tw_index_entry *e)
{
	const double like = similarity(w, e);

	if (w->node_type >= 0 && e->node_type == w->node_type)
		return TW_MATCH_NODE_TYPE;
	if (like >= 1)
		return TW_MATCH_SPEC;
	return like > 0 ? TW_MATCH_SIMILAR : TW_MATCH_ANY;
}

/* Of trees, of models that serve shares of one machine, or of all. */
struct among {
	bool trees;
	const struct tw_index_machine *shares_of;
};

static bool is_among(const struct among *a, const struct tw_index_entry *e)
{
	if (a->trees && !tw_index_is_trees(e))
		return false;
	return a->shares_of == NULL || (e->machine == a->shares_of && e->serves_shares);
}

static const struct tw_index_entry *
look_among(const struct tw_index *x, const struct tw_wanted *w, const struct among *a)
{
	const struct tw_index_entry *best = NULL;
	struct tw_filter f = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_filter_parse(w->filter, &f, &err), 0);
	for (size_t i = 0; i < tw_index_count(x); i++) {
		const struct tw_index_entry *e = tw_index_at(x, i);

		if (is_among(a, e) && is_candidate(w, &f, e) &&
		    (best == NULL || better(w, e, best)))
			best = e;
	}
	tw_filter_release(&f);
	return best;
}

static const struct tw_index_entry *look_at_all(const struct tw_index *x,
						const struct tw_wanted *w)
{
	struct among a = { .trees = !w->weight && !w->classes && w->trainer == NULL };
	const struct tw_index_entry *best = look_among(x, w, &a), *share;

	if (best == NULL && a.trees) {
		a.trees = false;
		best = look_among(x, w, &a);
	}
	if (best == NULL || w->trainer != NULL || w->spec.cores == 0 ||
	    2 * w->spec.cores > best->machine->spec.cores || best->serves_shares)
		return best;
	a.shares_of = best->machine;
	share = look_among(x, w, &a);
	return share != NULL ? share : best;
}

/* ---- */

static char *copy(const char *text)
{
	return text != NULL ? strdup(text) : NULL;
}

static struct tw_wanted draw_request(unsigned *seed)
{
	struct tw_wanted w = { .source = tw_energy_source_find("rapl-sysfs"),
			       .node_type = -1,
			       .loose_node_type = draw(seed, 3) > 0,
			       .weight = draw(seed, 2) == 0,
			       .classes = draw(seed, 2) == 0,
			       .ensembles = draw(seed, 2) == 0,
			       .trees = draw(seed, 2) == 0 };
	struct tw_err err = { 0 };

	assert_int_equal(
		tw_strs_split(&w.metrics, metrics[draw(seed, TW_COUNT(metrics))], &err),
		0);
	w.filter = copy(filters[draw(seed, TW_COUNT(filters))]);
	if (draw(seed, 3) == 0)
		w.node_type = draw(seed, 6);
	if (draw(seed, 2) == 0)
		w.spec = draw_spec(seed);
	if (draw(seed, 4) == 0)
		w.pipeline = copy(pipelines[draw(seed, TW_COUNT(pipelines))]);
	if (draw(seed, 4) == 0)
		w.trainer = copy(trainers[draw(seed, TW_COUNT(trainers))].trainer);
	return w;
}

/* The explanation names the chosen model, and a reason for every other one. */
static void explains(const struct tw_index *x, const struct tw_wanted *w,
		     const struct tw_index_entry *want)
{
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };
	json_t *doc = NULL, *v;
	const json_t *chosen;
	size_t i, winners = 0;

	assert_int_equal(tw_explain(x, w, &b, &err), 0);
	assert_int_equal(tw_json_parse(b.data, b.len, "explanation", &doc, &err), 0);
	chosen = json_object_get(doc, "chosen");
	assert_true(json_is_null(chosen) == (want == NULL));
	if (want != NULL)
		assert_string_equal(
			json_string_value(json_object_get(chosen, "model_name")),
			want->name);
	json_array_foreach(json_object_get(doc, "candidates"), i, v) {
		const char *lost = json_string_value(json_object_get(v, "lost"));

		winners += lost == NULL;
		if (lost != NULL && lost[0] == '\0')
			fail_msg("%s", b.data);
	}
	assert_int_equal(winners, want != NULL);
	json_decref(doc);
	tw_buf_clear(&b);
}

static void the_choice_is_that_of_a_comparison_of_all_models(void **state)
{
	unsigned seed = 7;
	size_t found = 0;

	(void)state;
	for (int round = 0; round < 3; round++) {
		char *db = scratch_new();
		struct tw_index *x;
		struct tw_err err = { 0 };

		write_models(db, &seed);
		assert_int_equal(tw_index_load(db, NULL, NULL, &x, &err), 0);
		for (int i = 0; i < REQUESTS; i++) {
			struct tw_wanted w = draw_request(&seed);
			const struct tw_index_entry *want = look_at_all(x, &w);
			struct tw_choice got = { 0 };
			struct tw_err why = { 0 };

			tw_choose(x, &w, &got, &why);
			if (got.entry != want)
				fail_msg("round %d, request %d: got %s/%s, want %s/%s",
					 round, i,
					 got.entry != NULL ? got.entry->pipeline : "",
					 got.entry != NULL ? got.entry->name : why.text,
					 want != NULL ? want->pipeline : "",
					 want != NULL ? want->name : "nothing");
			if (want == NULL)
				assert_int_equal(why.code, TW_NOTFOUND);
			else
				assert_int_equal(got.match, match_of(&w, want));
			found += want != NULL;
			if (i % 10 == 0)
				explains(x, &w, want);
			tw_wanted_release(&w);
		}
		tw_index_unref(x);
		scratch_free(db);
	}
	/* Neither always nor never. */
	assert_in_range(found, REQUESTS, 3 * REQUESTS - REQUESTS / 2);
}

static void the_next_model_is_chosen_after_one_is_given_up(void **state)
{
	char *db = scratch_new();
	struct tw_wanted w = { .source = tw_energy_source_find("rapl-sysfs"),
			       .node_type = -1,
			       .loose_node_type = true,
			       .classes = true };
	struct tw_choice choice;
	struct tw_index *x;
	struct tw_err err = { 0 };
	size_t count = 0;
	uint32_t rank = 0;
	unsigned seed = 3;
	bool yields = false;

	(void)state;
	write_models(db, &seed);
	assert_int_equal(tw_index_load(db, NULL, NULL, &x, &err), 0);
	assert_int_equal(tw_strs_split(&w.metrics, metrics[2], &err), 0);
	while (tw_choose(x, &w, &choice, &err) == 0) {
		if (choice.entry->yields && !yields)
			rank = 0;
		assert_true(choice.entry->yields >= yields);
		assert_true(rank == 0 || choice.entry->rank > rank);
		yields = choice.entry->yields;
		assert_int_equal(choice.match, TW_MATCH_ANY);
		rank = choice.entry->rank;
		tw_index_give_up(x, choice.entry);
		count++;
	}
	assert_int_equal(count, tw_index_count(x));
	assert_non_null(strstr(err.text, "CounterOnly: its models cannot be read"));
	tw_wanted_release(&w);
	tw_index_unref(x);
	scratch_free(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_choice_is_that_of_a_comparison_of_all_models),
		cmocka_unit_test(the_next_model_is_chosen_after_one_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
