/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-accuracy: the error of each trainer on blocked folds beside that of the old
 * programs' trainer of the same name, and AutoTrainer beside the best of those.
 *
 *	accuracy DATA GOLDEN [TRAINER..]
 *
 * DATA holds nx12_abs_*.csv; GOLDEN is what the old programs reach on the same folds of
 * all columns (accuracy/blocked.csv). Trainers of the same names fit without limits, as
 * the old programs do (struct tw_samples, unconstrained), and with limits. Of data that
 * GOLDEN lacks, the old trainers beside AutoTrainer are those of this program without
 * limits, which have nearly the same errors. The features are those of the group that a
 * file is named after, as in training.
 */

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/core/pool.h"
#include "lib/field/csv.h"
#include "lib/field/dataset.h"
#include "lib/field/energy.h"
#include "lib/field/feature.h"
#include "trainer/fit/fits.h"
#include "trainer/fit/score.h"
#include "trainer/fit/trainer.h"
#include "trainer/fit/validate.h"

#include <glob.h>
#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FOLDS 5
#define FILES_MAX 32
#define TRAINERS_MAX 16
#define GOLDEN_MAX 1024
#define SEED 1
#define AUTO "AutoTrainer"
/* A row above this is marked: docs/accuracy.md has to say why. */
#define MARK_ABOVE 1.10

/* Names of the old programs' models, by trainer. */
static const struct {
	const char *model, *trainer;
} old_names[] = {
	{ "LinearRegression(positive)", "LinearRegressionTrainer" },
	{ "SGDRegressor(1000)", "SGDRegressorTrainer" },
	{ "Polynomial2+LR", "PolynomialRegressionTrainer" },
	{ "GradientBoosting(100,3,0.1)", "GradientBoostingRegressorTrainer" },
	{ "KNN(6)", "KNeighborsRegressorTrainer" },
	{ "SVR(C=1,eps=0.2)", "SVRRegressorTrainer" },
	{ "XGB(100,0.1)", "XgboostFitTrainer" },
	{ "Curvefit-log", "LogarithmicRegressionTrainer" },
	{ "Curvefit-logistic", "LogisticRegressionTrainer" },
	{ "Curvefit-exp", "ExponentialRegressionTrainer" },
};

#define OLD_NAMES TW_COUNT(old_names)

struct golden {
	char data[64], component[16], model[40];
	double mae;
};

struct target {
	char name[64]; /* "rapl_Basic" */
	struct tw_samples samples;
	double *load; /* what orders rows for the idle bias */
};

struct result {
	const struct target *target;
	const struct tw_trainer *trainer;
	bool unconstrained;
	double *alone, *series;
	struct tw_err err[FOLDS];
	uint64_t ns[FOLDS];
};

struct bench {
	struct golden golden[GOLDEN_MAX];
	size_t goldens, from_file; /* all, and the first ones: of the file */
	struct tw_dataset data[FILES_MAX];
	struct target target[4 * FILES_MAX];
	size_t targets;
	struct result *result;
	size_t results;
};

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void die(const char *what, const struct tw_err *err)
{
	fprintf(stderr, "bench-accuracy: %s: %s\n", what, err->text);
	exit(1);
}

static void *must(void *p)
{
	if (p == NULL) {
		fprintf(stderr, "bench-accuracy: out of memory\n");
		exit(1);
	}
	return p;
}

/* ---- the old figures ---- */

/* Cut the next cell off *line; quotes are taken away. */
static char *next_cell(char **line)
{
	char *cell = *line, *end;

	if (*cell == '"') {
		end = strchr(++cell, '"');
		*end++ = '\0';
	} else {
		end = cell + strcspn(cell, ",");
	}
	*line = *end == ',' ? end + 1 : end;
	*end = '\0';
	return cell;
}

/* dataset,source,output,feature_group,component,rows,y_mean,y_std,model,folds_ok,mae,..
 */
static void read_golden_line(struct bench *b, char *line)
{
	struct golden *g = &b->golden[b->goldens];
	char *cell[11];

	for (size_t i = 0; i < 11; i++)
		cell[i] = next_cell(&line);
	if (b->goldens == GOLDEN_MAX ||
	    !tw_parse_double(cell[10], strlen(cell[10]), &g->mae))
		return;
	snprintf(g->data, sizeof(g->data), "%.24s_%.32s", cell[1], cell[3]);
	snprintf(g->component, sizeof(g->component), "%.15s", cell[4]);
	snprintf(g->model, sizeof(g->model), "%.39s", cell[8]);
	b->goldens++;
}

static void read_golden(struct bench *b, const char *path)
{
	struct tw_err err = { 0 };
	char *text, *at, *line;
	size_t len;

	if (tw_file_read(path, 1 << 20, &text, &len, &err) < 0)
		die("golden", &err);
	at = text;
	while ((line = strsep(&at, "\n")) != NULL)
		if (strncmp(line, "nx12", 4) == 0)
			read_golden_line(b, line);
	free(text);
}

static const struct golden *find_golden(const struct bench *b, const struct target *t,
					const char *model)
{
	for (size_t i = 0; i < b->goldens; i++)
		if (strcmp(b->golden[i].data, t->name) == 0 &&
		    strcmp(b->golden[i].component,
			   tw_component_name(t->samples.component)) == 0 &&
		    strcmp(b->golden[i].model, model) == 0)
			return &b->golden[i];
	return NULL;
}

static const struct golden *find_old(const struct bench *b, const struct target *t,
				     const char *trainer)
{
	for (size_t i = 0; i < OLD_NAMES; i++)
		if (strcmp(old_names[i].trainer, trainer) == 0)
			return find_golden(b, t, old_names[i].model);
	return NULL;
}

static const struct golden *best_old(const struct bench *b, const struct target *t)
{
	const struct golden *best = NULL;

	for (size_t i = 0; i < OLD_NAMES; i++) {
		const struct golden *g = find_golden(b, t, old_names[i].model);

		if (g != NULL && (best == NULL || g->mae < best->mae))
			best = g;
	}
	return best;
}

/* ---- data ---- */

/* Whether the group that a file is named after ("rapl_Basic") has the feature. */
static bool is_feature(const char *file, const char *name)
{
	const struct tw_feature_group *g = tw_feature_group_find(strchr(file, '_') + 1);

	for (size_t i = 0; g != NULL && i < g->count; i++)
		if (strcmp(g->features[i], name) == 0)
			return true;
	return false;
}

static void add_target(struct bench *b, const char *name, const struct tw_dataset *d,
		       enum tw_component c)
{
	struct target *t = &b->target[b->targets];
	const char **features = must(calloc(d->cols, sizeof(*features)));
	double *x = must(calloc(d->rows, d->cols * sizeof(*x)));
	size_t cols = 0, k = 0;

	snprintf(t->name, sizeof(t->name), "%s", name);
	t->samples = (struct tw_samples){ .rows = d->rows,
					  .x = x,
					  .y = tw_dataset_find(d, tw_power_column(c)),
					  .features = features,
					  .component = c,
					  .time_ms = d->time_ms,
					  .blocks = FOLDS,
					  .fits = must(tw_fits_new()) };
	for (size_t i = 0; i < d->cols; i++)
		cols += is_feature(name, d->col[i].name);
	for (size_t i = 0; i < d->cols; i++) {
		if (!is_feature(name, d->col[i].name))
			continue;
		features[k] = d->col[i].name;
		for (size_t r = 0; r < d->rows; r++)
			x[r * cols + k] = d->col[i].v[r];
		k++;
	}
	t->samples.cols = cols;
	t->load = tw_dataset_find(d, features[tw_main_feature(features, cols, c)]);
	for (size_t r = 1; r < d->rows; r++)
		if (t->samples.y[r] != t->samples.y[0]) {
			b->targets++;
			break;
		}
}

static void read_data(struct bench *b, const char *dir)
{
	static const char head[] = "nx12_abs_";
	struct tw_err err = { 0 };
	char pattern[4096], name[64];
	glob_t found = { 0 };

	snprintf(pattern, sizeof(pattern), "%s/%s*.csv", dir, head);
	if (glob(pattern, 0, NULL, &found) != 0 || found.gl_pathc > FILES_MAX) {
		fprintf(stderr, "bench-accuracy: %s: no data, or too much\n", pattern);
		exit(1);
	}
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *base = strrchr(found.gl_pathv[i], '/') + 1;

		if (tw_csv_load(found.gl_pathv[i], &b->data[i], &err) < 0)
			die("data", &err);
		snprintf(name, sizeof(name), "%.*s",
			 (int)(strlen(base) - strlen(head) - strlen(".csv")),
			 base + strlen(head));
		for (int c = 0; c < TW_COMPONENT_COUNT; c++)
			if (tw_dataset_find(&b->data[i],
					    tw_power_column((enum tw_component)c)))
				add_target(b, name, &b->data[i], (enum tw_component)c);
	}
	globfree(&found);
}

/* ---- fits ---- */

static void add_result(struct bench *b, const struct tw_trainer *t,
		       const struct target *target, bool unconstrained)
{
	const size_t rows = target->samples.rows;

	b->result[b->results++] =
		(struct result){ .target = target,
				 .trainer = t,
				 .unconstrained = unconstrained,
				 .alone = must(calloc(rows, sizeof(double))),
				 .series = must(calloc(rows, sizeof(double))) };
}

/* A result with limits follows the one without. */
static void add_results(struct bench *b, const struct tw_trainer *t)
{
	for (size_t i = 0; i < b->targets; i++) {
		if (strcmp(t->name, AUTO) != 0)
			add_result(b, t, &b->target[i], true);
		add_result(b, t, &b->target[i], false);
	}
}

static void run_fold(void *arg, size_t i)
{
	struct bench *b = arg;
	struct result *r = &b->result[i / FOLDS];
	struct tw_samples s = r->target->samples;
	const size_t f = i % FOLDS;
	const struct tw_fold fold = tw_fold_at(s.rows, FOLDS, f);
	const uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	s.unconstrained = r->unconstrained;
	tw_validate_fold(r->trainer, &s, fold, SEED, r->alone + fold.from,
			 r->series + fold.from, &r->err[f]);
	r->ns[f] = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
}

/* Judge an old trainer on target i / OLD_NAMES, if the file does not. */
static void run_old(void *arg, size_t i)
{
	struct bench *b = arg;
	const struct target *t = &b->target[i / OLD_NAMES];
	const struct tw_trainer *trainer =
		tw_trainer_find(old_names[i % OLD_NAMES].trainer);
	struct golden *g = &b->golden[b->goldens + i];
	struct tw_samples s = t->samples;
	double *watts = must(calloc(s.rows, sizeof(*watts)));
	struct tw_err err = { 0 };
	struct tw_score of;

	s.unconstrained = true;
	for (size_t f = 0; f < FOLDS && trainer != NULL && best_old(b, t) == NULL; f++) {
		const struct tw_fold fold = tw_fold_at(s.rows, FOLDS, f);

		if (tw_validate_fold(trainer, &s, fold, SEED, watts + fold.from, NULL,
				     &err) < 0)
			die(trainer->name, &err);
		if (f + 1 < FOLDS)
			continue;
		if (tw_score(s.y, watts, NULL, s.rows, &of, &err) < 0)
			die(trainer->name, &err);
		memcpy(g->data, t->name, sizeof(g->data));
		snprintf(g->component, sizeof(g->component), "%s",
			 tw_component_name(s.component));
		snprintf(g->model, sizeof(g->model), "%s",
			 old_names[i % OLD_NAMES].model);
		g->mae = of.mae;
	}
	free(watts);
}

static struct tw_score score(const struct result *r, const double *predicted)
{
	struct tw_err err = { 0 };
	struct tw_score s;

	for (size_t f = 0; f < FOLDS; f++)
		if (r->err[f].code != TW_OK)
			die(r->trainer->name, &r->err[f]);
	if (tw_score(r->target->samples.y, predicted, r->target->load,
		     r->target->samples.rows, &s, &err) < 0)
		die(r->trainer->name, &err);
	return s;
}

/* ---- tables ---- */

static double seconds_of(const struct bench *b, const struct tw_trainer *t)
{
	double s = 0.0;

	for (size_t i = 0; i < b->results; i++)
		for (size_t f = 0; f < FOLDS && b->result[i].trainer == t; f++)
			s += (double)b->result[i].ns[f] / 1e9;
	return s;
}

struct totals {
	double logs, largest;
	size_t count;
};

static void add_total(struct totals *t, double ratio)
{
	t->logs += log(ratio);
	t->largest = fmax(t->largest, ratio);
	t->count++;
}

static double mean_of(const struct totals *t)
{
	return exp(t->logs / (double)t->count);
}

/*
 * Whether the old trainers had the same features. GOLDEN's Basic has those of CgroupOnly
 * and KubeletOnly, too.
 */
static bool is_comparable(const struct bench *b, const struct target *t,
			  const struct golden *old)
{
	return old < b->golden + b->from_file && strstr(t->name, "Basic") == NULL;
}

static void print_trainer(const struct bench *b, const struct tw_trainer *t)
{
	struct totals free = { 0 }, limited = { 0 };

	printf("\n%s\n  %-22s %-9s %9s %9s %6s %12s\n", t->name, "data", "component",
	       "MAE, W", "old, W", "ratio", "with limits");
	for (size_t i = 0; i < b->results; i++) {
		const struct result *r = &b->result[i];
		const struct golden *old = find_old(b, r->target, t->name);
		double mae, with_limits;

		if (r->trainer != t || !r->unconstrained ||
		    !is_comparable(b, r->target, old))
			continue;
		mae = score(r, r->alone).mae;
		with_limits = score(r + 1, r[1].alone).mae / old->mae;
		add_total(&free, mae / old->mae);
		add_total(&limited, with_limits);
		printf("  %-22s %-9s %9.4f %9.4f %6.3f %12.3f%s\n", r->target->name,
		       tw_component_name(r->target->samples.component), mae, old->mae,
		       mae / old->mae, with_limits,
		       mae / old->mae > MARK_ABOVE ? "  <-- above 1.10" : "");
	}
	printf("  geometric mean %.3f, largest %.3f; with limits %.3f; %.1f s of fits\n",
	       mean_of(&free), free.largest, mean_of(&limited), seconds_of(b, t));
}

/* What a machine's users see: its packages, or the platform. */
static bool is_main(const struct target *t)
{
	return t->samples.component == TW_PACKAGE || t->samples.component == TW_PLATFORM;
}

/* The mean of the measured power where the idle bias is taken. */
static double idle_power(const struct result *r)
{
	const struct tw_samples *s = &r->target->samples;
	double *zero = must(calloc(s->rows, sizeof(*zero)));
	struct tw_score of;

	of = score(r, zero);
	free(zero);
	return -of.idle_bias;
}

static double mean_power(const struct result *r)
{
	const struct tw_samples *s = &r->target->samples;
	double mean = 0.0;

	for (size_t i = 0; i < s->rows; i++)
		mean += s->y[i] / (double)s->rows;
	return mean;
}

static bool small(double bias, double power)
{
	return fabs(bias) <= fmax(3.0, 0.03 * power);
}

static void print_auto_row(const struct bench *b, const struct result *r,
			   const double *predicted, const char *form, struct totals *t)
{
	const struct golden *old = best_old(b, r->target);
	const struct tw_score s = score(r, predicted);
	const double mean = mean_power(r), idle = idle_power(r);
	const bool good = small(s.bias, mean) && small(s.idle_bias, idle);

	printf("  %-22s %-9s %-7s %8.3f %8.3f %6.3f %7.2f %5.1f%% %7.2f %5.1f%% %s\n",
	       r->target->name, tw_component_name(r->target->samples.component), form,
	       s.mae, old->mae, s.mae / old->mae, s.bias, 100.0 * s.bias / mean,
	       s.idle_bias, 100.0 * s.idle_bias / idle,
	       good ? "" : "<-- beyond 3 W and 3 %");
	add_total(t, s.mae / old->mae);
}

static void print_totals(const char *what, const struct totals *t)
{
	printf("  %-44s geometric mean %.3f, largest %.3f\n", what, mean_of(t),
	       t->largest);
}

static void print_auto(const struct bench *b, const struct tw_trainer *t)
{
	struct totals alone = { 0 }, series = { 0 }, all_alone = { 0 },
		      all_series = { 0 };

	printf("\n" AUTO " beside the best old trainer of each data set\n"
	       "  %-22s %-9s %-7s %8s %8s %6s %14s %14s\n",
	       "data", "component", "form", "MAE, W", "best old", "ratio", "bias, W",
	       "idle bias, W");
	for (int main = 1; main >= 0; main--)
		for (size_t i = 0; i < b->results; i++) {
			const struct result *r = &b->result[i];

			if (r->trainer != t || is_main(r->target) != (main == 1))
				continue;
			print_auto_row(b, r, r->alone, "alone",
				       main ? &alone : &all_alone);
			print_auto_row(b, r, r->series, "series",
				       main ? &series : &all_series);
		}
	print_totals("package and platform, rows alone", &alone);
	print_totals("package and platform, series", &series);
	if (all_alone.count > 0) {
		print_totals("other components, rows alone", &all_alone);
		print_totals("other components, series", &all_series);
	}
	printf("  %.1f s of fits\n", seconds_of(b, t));
}

static bool wanted(const char *name, int argc, char **argv)
{
	for (int i = 3; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return argc <= 3;
}

int main(int argc, char **argv)
{
	const uint64_t start = clock_ns(CLOCK_MONOTONIC);
	struct bench *b = must(calloc(1, sizeof(*b)));
	const struct tw_trainer *trainer[TRAINERS_MAX];
	size_t trainers = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: accuracy DATA GOLDEN [TRAINER..]\n");
		return 2;
	}
	gsl_set_error_handler_off();
	read_golden(b, argv[2]);
	read_data(b, argv[1]);
	for (size_t i = 0; i < tw_trainer_count(); i++)
		if (wanted(tw_trainer_at(i)->name, argc, argv))
			trainer[trainers++] = tw_trainer_at(i);
	b->from_file = b->goldens;
	b->result = must(calloc(2 * trainers * b->targets + 1, sizeof(*b->result)));
	for (size_t i = 0; i < trainers; i++)
		add_results(b, trainer[i]);
	printf("%zu data sets and components, %zu trainers, %d blocked folds\n",
	       b->targets, trainers, FOLDS);
	if (b->goldens + b->targets * OLD_NAMES > GOLDEN_MAX) {
		fprintf(stderr, "bench-accuracy: too many data sets\n");
		return 1;
	}
	tw_pool_run(b->targets * OLD_NAMES, 0, run_old, b);
	b->goldens += b->targets * OLD_NAMES;
	tw_pool_run(b->results * FOLDS, 0, run_fold, b);
	for (size_t i = 0; i < trainers; i++) {
		if (strcmp(trainer[i]->name, AUTO) == 0)
			print_auto(b, trainer[i]);
		else
			print_trainer(b, trainer[i]);
	}
	printf("\n%.1f s in all\n", (double)(clock_ns(CLOCK_MONOTONIC) - start) / 1e9);
	return 0;
}
