/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_database DIR TYPES: a model database of TYPES node types x 10 trainers x 3 groups
 * x 2 outputs, in one pipeline. Models are whole and have metadata as ours, certificates
 * included; their numbers are made up, the same in every run. DynPower models are
 * additive, except curves, which never are: the server refuses weights of others.
 */
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/fitness.h"
#include "model-db/model.h"
#include "model-db/model_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPES_MAX 100000

static const char *const groups[] = { "BPFOnly", "Basic", "CounterOnly" };

#define LINEAR                                                                           \
	"{\"All_Weights\":{\"Bias_Weight\":%u,\"Categorical_Variables\":{},\"Numerical_" \
	"Variables\":{%s}}}"
#define CURVE(name, weights)                                                     \
	"{\"curve\":\"" name "\",\"All_Weights\":{\"Categorical_Variables\":{}," \
	"\"Numerical_Variables\":{\"%s\":{\"scale\":1000}},\"CurveFit_"          \
	"Weights\":" weights "}}"

enum form { FORM_LINEAR, FORM_CURVE, FORM_TEXT };

static const struct {
	const char *name, *predictor, *text;
	enum form form;
} trainers[] = {
	{ "ExponentialRegressionTrainer", "curvefit", CURVE("exponential", "[2,0.5,7]"),
	  FORM_CURVE },
	{ "GradientBoostingRegressorTrainer", "xgboost", "{\"learner\":{}}", FORM_TEXT },
	{ "KNeighborsRegressorTrainer", "knn", "{\"knn\":{}}", FORM_TEXT },
	{ "LinearRegressionTrainer", "linear", NULL, FORM_LINEAR },
	{ "LogarithmicRegressionTrainer", "curvefit", CURVE("logarithmic", "[3,4,7]"),
	  FORM_CURVE },
	{ "LogisticRegressionTrainer", "curvefit", CURVE("logistic", "[30,0.5,8,7]"),
	  FORM_CURVE },
	{ "PolynomialRegressionTrainer", "polynomial", "{\"polynomial\":{}}", FORM_TEXT },
	{ "SGDRegressorTrainer", "linear", NULL, FORM_LINEAR },
	{ "SVRRegressorTrainer", "svr", "{\"svr\":{}}", FORM_TEXT },
	{ "XgboostFitTrainer", "xgboost", "{\"learner\":{}}", FORM_TEXT },
};

static const char *const figures[] = { "mae",        "rmse",          "r2",
				       "bias",       "p95",           "mape",
				       "mape_floor", "mape_left_out", "idle_bias" };

static unsigned draw(unsigned *seed, unsigned count)
{
	*seed = *seed * 1103515245u + 12345u;
	return (*seed >> 16) % count;
}

static void die(const struct tw_err *err)
{
	fprintf(stderr, "make_database: %s\n", err->text);
	exit(1);
}

static char *take(struct tw_buf *b)
{
	char *text = tw_buf_detach(b, NULL);

	if (text == NULL)
		exit(1);
	return text;
}

static char *component_text(size_t trainer, const struct tw_model_info *info,
			    unsigned *seed)
{
	const struct tw_feature_group *g = info->group;
	struct tw_buf b = { 0 }, features = { 0 };
	unsigned bias;
	char *list;

	for (size_t i = 0; i < g->count; i++)
		tw_buf_addf(&features,
			    "%s\"%s\":{\"scale\":%u,\"mean\":0,\"variance\":1,"
			    "\"weight\":%u.%06u}",
			    i > 0 ? "," : "", g->features[i], 1000 + draw(seed, 30000),
			    draw(seed, 100), draw(seed, 1000000));
	list = take(&features);
	switch (trainers[trainer].form) {
	case FORM_LINEAR:
		bias = 1 + draw(seed, 50);
		tw_buf_addf(&b, LINEAR, info->output == TW_DYN_POWER ? 0 : bias, list);
		break;
	case FORM_CURVE: {
		const char *percent = strstr(trainers[trainer].text, "%s");

		tw_buf_add(&b, trainers[trainer].text,
			   (size_t)(percent - trainers[trainer].text));
		tw_buf_adds(&b, g->features[0]);
		tw_buf_adds(&b, percent + 2);
		break;
	}
	case FORM_TEXT:
		tw_buf_adds(&b, trainers[trainer].text);
		break;
	}
	free(list);
	return take(&b);
}

static json_t *make_metadata(const struct tw_energy_source *source, enum tw_output output,
			     enum form form, unsigned *seed)
{
	const bool additive = output == TW_DYN_POWER && form != FORM_CURVE;
	json_t *obj = json_pack(
		"{s:s,s:i,s:i,s:s,s:s,s:f,s:s,s:i,s:s,s:b,s:b,s:b,s:b,s:b}",
		"validation_scheme", "blocked", "validation_folds", 5, "data_rows",
		2000 + (int)draw(seed, 3000), "data_first", "2023-09-19T09:27:43.000Z",
		"data_last", "2023-09-19T11:17:46.000Z", "data_step_s", 3.0,
		"data_origin", "made up by tests/bench/make_database.c", "seed", 1,
		"creator", "tallywatt " TW_VERSION, TW_CERTIFICATE_RISES, true,
		TW_CERTIFICATE_ADDITIVE, additive, TW_CERTIFICATE_NON_NEGATIVE, true,
		TW_CERTIFICATE_REST, true, TW_CERTIFICATE_NO_JUMP, true);
	char key[64];

	for (size_t c = 0; c < source->count; c++) {
		for (size_t f = 0; f < TW_COUNT(figures); f++) {
			snprintf(key, sizeof(key), "%s_%s",
				 tw_component_name(source->components[c]), figures[f]);
			json_object_set_new(obj, key,
					    json_real(draw(seed, 100000) / 10000.0));
		}
	}
	return obj;
}

static void add_parts(size_t trainer, struct tw_model *m, unsigned *seed)
{
	const struct tw_feature_group *g = m->info.group;
	struct tw_err err = { 0 };

	for (size_t c = 0; c < m->info.source->count; c++) {
		struct tw_model_part *p = &m->part[m->parts++];

		p->component = m->info.source->components[c];
		if (tw_strs_copy(&p->features, &m->info.features, &err) < 0)
			die(&err);
		p->feature_min = calloc(g->count, sizeof(double));
		p->feature_max = calloc(g->count, sizeof(double));
		if (p->feature_min == NULL || p->feature_max == NULL)
			exit(1);
		for (size_t i = 0; i < g->count; i++)
			p->feature_max[i] = 1e6 + draw(seed, 1000);
		p->text = component_text(trainer, &m->info, seed);
		p->len = strlen(p->text);
	}
}

static void make_model(unsigned type, size_t trainer, size_t group, enum tw_output output,
		       unsigned *seed, struct tw_model *m)
{
	struct tw_model_info *i = &m->info;
	struct tw_err err = { 0 };

	i->source = tw_energy_source_find("rapl-sysfs");
	i->group = tw_feature_group_find(groups[group]);
	i->output = output;
	i->node_type = type;
	i->mae_w = 1 + draw(seed, 20000) / 1000.0;
	i->mape_percent = 2 + draw(seed, 20000) / 1000.0;
	/* As many names of processors as there are types of machines, about. */
	snprintf(i->spec.vendor, sizeof(i->spec.vendor), "intel");
	snprintf(i->spec.processor, sizeof(i->spec.processor), "intel_xeon_%u",
		 type * 2 / 3);
	i->spec.cores = 8 + 8 * (type % 16);
	i->spec.chips = 1 + type % 2;
	i->spec.memory_gib = 64u << type % 4;
	i->spec.frequency_mhz = 2000 + 100 * (type % 20);
	i->spec.threads_per_core = 2;
	snprintf(i->trainer, sizeof(i->trainer), "%s", trainers[trainer].name);
	snprintf(i->predictor, sizeof(i->predictor), "%s", trainers[trainer].predictor);
	snprintf(i->name, sizeof(i->name), "%s_%u", trainers[trainer].name, type);
	for (size_t f = 0; f < i->group->count; f++)
		if (tw_strs_adds(&i->features, i->group->features[f], &err) < 0)
			die(&err);
	i->metadata = make_metadata(i->source, output, trainers[trainer].form, seed);
	add_parts(trainer, m, seed);
}

/* Not synced to disk: it is made anew where it is lost. */
static void write_model(const char *db, const struct tw_model *m)
{
	struct tw_fileset files = { 0 };
	struct tw_err err = { 0 };
	char path[1024], *data;
	size_t len;
	FILE *f;

	if (tw_model_to_files(m, &files, &err) < 0 ||
	    tw_zip_write(&files, &data, &len, &err) < 0)
		die(&err);
	snprintf(path, sizeof(path), "%s/generated/%s/%s/%s/%s.zip", db,
		 m->info.source->name, tw_output_name(m->info.output),
		 m->info.group->name, m->info.name);
	f = fopen(path, "wbe");
	if (f == NULL || fwrite(data, 1, len, f) != len || fclose(f) != 0) {
		fprintf(stderr, "make_database: cannot write '%s'\n", path);
		exit(1);
	}
	free(data);
	tw_fileset_clear(&files);
}

static void make_directories(const char *db)
{
	struct tw_err err = { 0 };
	char path[1024];

	for (int o = 0; o < TW_OUTPUT_COUNT; o++) {
		for (size_t g = 0; g < TW_COUNT(groups); g++) {
			snprintf(path, sizeof(path), "%s/generated/rapl-sysfs/%s/%s", db,
				 tw_output_name((enum tw_output)o), groups[g]);
			if (tw_dir_make(path, &err) < 0)
				die(&err);
		}
	}
}

int main(int argc, char **argv)
{
	struct tw_err err = { 0 };
	unsigned seed = 1;
	uint32_t types;

	if (argc != 3 || tw_parse_u32(argv[2], 1, TYPES_MAX, &types, &err) < 0) {
		fprintf(stderr, "usage: make_database DIR TYPES\n");
		return 2;
	}
	make_directories(argv[1]);
	for (unsigned type = 0; type < types; type++)
		for (size_t t = 0; t < TW_COUNT(trainers); t++)
			for (size_t g = 0; g < TW_COUNT(groups); g++)
				for (int o = 0; o < TW_OUTPUT_COUNT; o++) {
					struct tw_model m = { 0 };

					make_model(type, t, g, (enum tw_output)o, &seed,
						   &m);
					write_model(argv[1], &m);
					tw_model_release(&m);
				}
	return 0;
}
