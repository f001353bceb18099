/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/machine_figures.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "model-db/prior/prior_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAST (TW_PRIOR_LOADS - 1)

static void die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

bool machine_case_next(FILE *plan, struct machine_case *out)
{
	char *line = NULL, *rest;
	size_t size = 0;
	int at = 0;

	*out = (struct machine_case){ 0 };
	if (getline(&line, &size, plan) < 0) {
		free(line);
		return false;
	}
	if (sscanf(line, "%63s %511s %511s %n", out->protocol, out->learned,
		   out->conditioned, &at) != 3)
		die("plan", "want a protocol and two files");
	for (rest = line + at; *rest != '\0' && *rest != '\n';) {
		const unsigned long i = strtoul(rest, &rest, 10);

		if (i >= TW_PRIOR_ROWS_MAX || (*rest != ' ' && *rest != '\n'))
			die("plan", "want numbers of machines");
		out->judged[i] = true;
	}
	free(line);
	return true;
}

void machine_prior_load(const char *path, struct tw_prior *p)
{
	struct tw_err err = { 0 };
	char *data = NULL;
	size_t len = 0;

	tw_prior_release(p);
	if (tw_file_read(path, TW_PRIOR_BYTES_MAX, &data, &len, &err) < 0 ||
	    tw_prior_read(data, len, p, &err) < 0)
		die(path, err.text);
	free(data);
}

void machine_figures_clear(struct machine_figures *f)
{
	for (size_t i = 0; i < TW_PRIOR_ROWS_MAX; i++)
		f->w[i][0] = NAN;
}

/* The mean of what is known of a machine at its loads; of NaN nothing is known. */
static double mean_of(const double *x)
{
	double sum = 0, n = 0;

	for (size_t l = 0; l < TW_PRIOR_LOADS; l++)
		if (!isnan(x[l])) {
			sum += x[l];
			n++;
		}
	return sum / n;
}

static double error_at(const struct machine_figures *f, const struct tw_prior *p,
		       size_t i, size_t l)
{
	return fabs(f->w[i][l] / p->row_w[i][l] - 1);
}

void machine_figures_print(const char *protocol, const struct machine_figures *f,
			   const struct tw_prior *p)
{
	double machine[TW_PRIOR_ROWS_MAX], all = 0, idle = 0, full = 0, claimed = 0;
	double width = 0;
	const size_t names = p->names[TW_PRIOR_PROCESSOR].count;
	double *inside = calloc(2 * names + 1, sizeof(*inside)), covered = 0;
	double error[TW_PRIOR_LOADS];
	size_t n = 0, processors = 0;

	if (inside == NULL)
		exit(1);
	for (size_t i = 0; i < p->rows; i++) {
		const size_t k = 2 * (size_t)p->row[i].category[TW_PRIOR_PROCESSOR];

		if (isnan(f->w[i][0]))
			continue;
		for (size_t l = 0; l < TW_PRIOR_LOADS; l++)
			error[l] = error_at(f, p, i, l);
		machine[n] = mean_of(error);
		all += machine[n++];
		idle += error[0];
		full += error[LAST];
		claimed += mean_of(f->claimed[i]);
		width += f->width[i];
		inside[k] += f->inside[i];
		inside[k + 1]++;
	}
	for (size_t k = 0; k < names; k++)
		if (inside[2 * k + 1] > 0) {
			covered += inside[2 * k] / inside[2 * k + 1];
			processors++;
		}
	free(inside);
	if (n == 0)
		return;
	qsort(machine, n, sizeof(*machine), tw_compare_doubles);
	printf("%s %s %zu %.2f %.2f %.2f %.2f %.2f %.1f %.2f %.2f\n", protocol, f->name,
	       n, 100 * all / (double)n, 100 * idle / (double)n, 100 * full / (double)n,
	       100 * machine[n / 2], 100 * machine[n * 9 / 10],
	       100 * covered / (double)processors, claimed / all, exp(width / (double)n));
}
