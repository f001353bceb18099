/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/unit/unit_fit.h"

#include "lib/core/array.h"
#include "lib/core/err.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Standing power, then the counters. */
#define COLS_MAX (1 + TW_UNIT_WORKS_MAX)
/* Few, so that errors of neighbouring groups hardly depend on each other. */
#define GROUPS 6
#define NOISE_CORRELATION 0.5
#define HALF_MAX 0.5
/* A pivot below this share of its column's size is 0 but for rounding. */
#define PIVOT_MIN 1e-10

/* Sums over rows, of a group or of all. */
struct sums {
	double zx[COLS_MAX][COLS_MAX];
	double zy[COLS_MAX];
};

struct problem {
	const struct tw_unit_blocks *b;
	size_t cols;
	double *x, *z; /* count * cols, scaled */
	double *y;
	double scale[COLS_MAX]; /* x times scale is the unit's own */
	struct sums group[GROUPS], all;
};

double tw_unit_block_s(const struct tw_unit_blocks *b, size_t i)
{
	return (double)(b->bound_ms[i + 1] - b->bound_ms[i]) / 1e3;
}

/* ---- small systems of equations ---- */

struct system {
	size_t n;
	double a[COLS_MAX][COLS_MAX + 1]; /* the last column is the right side */
};

static size_t find_pivot(const struct system *s, size_t row, size_t col)
{
	size_t best = row;

	for (size_t r = row + 1; r < s->n; r++)
		if (fabs(s->a[r][col]) > fabs(s->a[best][col]))
			best = r;
	return best;
}

static void swap_rows(struct system *s, size_t i, size_t k)
{
	for (size_t c = 0; c <= COLS_MAX; c++) {
		const double v = s->a[i][c];

		s->a[i][c] = s->a[k][c];
		s->a[k][c] = v;
	}
}

static void eliminate(struct system *s, size_t row, size_t col)
{
	for (size_t r = 0; r < s->n; r++) {
		const double f = r != row ? s->a[r][col] / s->a[row][col] : 0;

		for (size_t c = 0; f != 0 && c <= s->n; c++)
			s->a[r][c == s->n ? COLS_MAX : c] -=
				f * s->a[row][c == s->n ? COLS_MAX : c];
	}
}

/*
 * Solve by Gauss-Jordan elimination. An unknown without a pivot becomes 0. Returns
 * whether all unknowns have a pivot. Columns are scaled to a size near 1.
 */
static bool solve(struct system *s, double *out)
{
	size_t row = 0, row_of[COLS_MAX];
	bool regular = true;

	for (size_t c = 0; c < s->n; c++) {
		const size_t pivot = find_pivot(s, row, c);

		row_of[c] = SIZE_MAX;
		if (row == s->n || !(fabs(s->a[pivot][c]) > PIVOT_MIN)) {
			regular = false;
			continue;
		}
		swap_rows(s, row, pivot);
		eliminate(s, row, c);
		row_of[c] = row++;
	}
	for (size_t c = 0; c < s->n; c++)
		out[c] = row_of[c] != SIZE_MAX
				 ? s->a[row_of[c]][COLS_MAX] / s->a[row_of[c]][c]
				 : 0;
	return regular;
}

/* ---- rows ---- */

static double root_mean_square(const double *v, size_t rows, size_t cols, size_t col)
{
	double sum = 0;

	for (size_t i = 0; i < rows; i++)
		sum += v[i * cols + col] * v[i * cols + col];
	return sqrt(sum / (double)rows);
}

static void scale_column(double *v, size_t rows, size_t cols, size_t col, double scale)
{
	for (size_t i = 0; i < rows; i++)
		v[i * cols + col] /= scale;
}

static int check_work(const struct tw_unit_blocks *b, struct tw_err *err)
{
	double energy = 0;

	if (b->count < TW_UNIT_BLOCKS_MIN)
		return tw_fail(err, TW_INVALID,
			       "%zu blocks of %.4g s, need %d: record longer, or choose "
			       "shorter blocks",
			       b->count, (double)b->block_ms / 1e3, TW_UNIT_BLOCKS_MIN);
	for (size_t i = 0; i < b->count; i++)
		energy += b->energy_j[i];
	if (!(energy > 0))
		return tw_fail(err, TW_INVALID, "the energy does not grow");
	for (size_t k = 0; k < b->works; k++) {
		double inner = 0, units = 0;

		for (size_t i = 0; i < b->count; i++) {
			units += b->work[i * b->works + k];
			inner += b->inner_work[i * b->works + k];
		}
		if (!(units > 0))
			return tw_fail(err, TW_INVALID, "%s does not grow: no work",
				       b->name[k]);
		if (!(inner > 0))
			return tw_fail(err, TW_INVALID,
				       "%s grows by %.4g, too little: record longer",
				       b->name[k], units);
	}
	return 0;
}

static void fill_rows(struct problem *p)
{
	const struct tw_unit_blocks *b = p->b;

	for (size_t i = 0; i < b->count; i++) {
		const double root = sqrt(tw_unit_block_s(b, i));
		double *x = &p->x[i * p->cols], *z = &p->z[i * p->cols];

		x[0] = z[0] = root;
		for (size_t k = 0; k < b->works; k++) {
			x[1 + k] = b->work[i * b->works + k] / root;
			z[1 + k] = b->inner_work[i * b->works + k] / root;
		}
		p->y[i] = b->energy_j[i] / root;
	}
	for (size_t c = 0; c < p->cols; c++) {
		p->scale[c] = root_mean_square(p->x, b->count, p->cols, c);
		scale_column(p->x, b->count, p->cols, c, p->scale[c]);
		scale_column(p->z, b->count, p->cols, c,
			     root_mean_square(p->z, b->count, p->cols, c));
	}
}

static void add_sums(struct sums *to, const struct sums *from, size_t cols, double factor)
{
	for (size_t r = 0; r < cols; r++) {
		for (size_t c = 0; c < cols; c++)
			to->zx[r][c] += factor * from->zx[r][c];
		to->zy[r] += factor * from->zy[r];
	}
}

static void sum_rows(struct problem *p)
{
	const size_t n = p->b->count;

	for (size_t i = 0; i < n; i++) {
		struct sums *s = &p->group[i * GROUPS / n];
		const double *x = &p->x[i * p->cols], *z = &p->z[i * p->cols];

		for (size_t r = 0; r < p->cols; r++) {
			for (size_t c = 0; c < p->cols; c++)
				s->zx[r][c] += z[r] * x[c] / (double)n;
			s->zy[r] += z[r] * p->y[i] / (double)n;
		}
	}
	for (size_t g = 0; g < GROUPS; g++)
		add_sums(&p->all, &p->group[g], p->cols, 1);
}

/* ---- which counters can be told apart ---- */

/* The column v[col] less its regression on the columns that `with` has. */
static void subtract_others(const double *v, size_t rows, size_t cols, size_t col,
			    const bool *with, double *out)
{
	struct system s = { 0 };
	size_t place[COLS_MAX] = { 0 };
	double weight[COLS_MAX];

	for (size_t c = 0; c < cols; c++)
		if (with[c])
			place[s.n++] = c;
	for (size_t i = 0; i < rows; i++) {
		const double *row = &v[i * cols];

		for (size_t r = 0; r < s.n; r++) {
			for (size_t c = 0; c < s.n; c++)
				s.a[r][c] += row[place[r]] * row[place[c]] / (double)rows;
			s.a[r][COLS_MAX] += row[place[r]] * row[col] / (double)rows;
		}
	}
	solve(&s, weight);
	for (size_t i = 0; i < rows; i++) {
		out[i] = v[i * cols + col];
		for (size_t c = 0; c < s.n; c++)
			out[i] -= weight[c] * v[i * cols + place[c]];
	}
}

static double multiply(const double *a, const double *b, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum / (double)n;
}

static double correlate(const double *a, const double *b, size_t n)
{
	const double size = sqrt(multiply(a, a, n) * multiply(b, b, n));

	return size > 0 ? multiply(a, b, n) / size : 0;
}

struct room {
	double *x, *z, *other; /* a column each */
};

/* The counter whose power correlates most with that of column c. */
static void find_partner(const struct problem *p, size_t c, const struct room *room,
			 struct tw_unit_cost *out)
{
	const bool constant[COLS_MAX] = { true };
	const size_t n = p->b->count;

	out->partner = SIZE_MAX;
	subtract_others(p->x, n, p->cols, c, constant, room->x);
	for (size_t k = 1; k < p->cols; k++) {
		double r;

		if (k == c)
			continue;
		subtract_others(p->x, n, p->cols, k, constant, room->other);
		r = correlate(room->x, room->other, n);
		if (out->partner != SIZE_MAX && fabs(r) <= fabs(out->correlation))
			continue;
		out->partner = k - 1;
		out->correlation = r;
	}
}

static int fail_together(const struct tw_unit_blocks *b, size_t k,
			 const struct tw_unit_cost *c, struct tw_err *err)
{
	return tw_fail(
		err, TW_INVALID,
		"%.40s moves together with %.40s (correlation %.4f, VIF %.3g): joules "
		"not identifiable; record loads of another mix, or leave one out: "
		"the other's joules then include it",
		b->name[k], b->name[c->partner], c->correlation, c->vif);
}

static int fail_constant(const struct tw_unit_blocks *b, size_t k, double share,
			 struct tw_err *err)
{
	return tw_fail(
		err, TW_INVALID,
		"%.40s changes by %.2g %% about its mean, or only between samples: "
		"joules not identifiable from standing power; record times of "
		"other load, with little among them",
		b->name[k], 100 * share);
}

static int check_counter(const struct problem *p, size_t k, const struct room *room,
			 struct tw_unit_cost *out, struct tw_err *err)
{
	const size_t n = p->b->count, c = 1 + k;
	bool others[COLS_MAX];
	double varies, alone;

	find_partner(p, c, room, out);
	varies = multiply(room->x, room->x, n);
	for (size_t i = 0; i < p->cols; i++)
		others[i] = i != c;
	subtract_others(p->x, n, p->cols, c, others, room->x);
	subtract_others(p->z, n, p->cols, c, others, room->z);
	alone = multiply(room->x, room->x, n);
	out->vif = alone > 0 ? varies / alone : INFINITY;
	if (varies > PIVOT_MIN && alone > PIVOT_MIN &&
	    correlate(room->x, room->z, n) >= NOISE_CORRELATION)
		return 0;
	if (out->partner != SIZE_MAX && out->vif > TW_UNIT_VIF_MAX)
		return fail_together(p->b, k, out, err);
	return fail_constant(p->b, k, sqrt(varies / fmax(1 - varies, PIVOT_MIN)), err);
}

static int check_counters(const struct problem *p, struct tw_unit_fit *f,
			  struct tw_err *err)
{
	const size_t n = p->b->count;
	double *all = calloc(3 * n, sizeof(*all));
	const struct room room = { all, all + n, all + 2 * n };
	int rc = -1;

	if (all == NULL)
		return tw_fail(err, TW_NOMEM, "%zu blocks", n);
	for (size_t k = 0; k < p->b->works; k++)
		if (check_counter(p, k, &room, &f->work[k], err) < 0)
			goto out;
	rc = 0;
out:
	free(all);
	return rc;
}

/* ---- estimates ---- */

/* beta of the columns that `with` has, scaled; 0 of the others. */
static bool estimate(const struct sums *sums, size_t cols, const bool *with, double *beta)
{
	struct system s = { 0 };
	size_t place[COLS_MAX] = { 0 };
	double found[COLS_MAX];
	bool regular;

	for (size_t c = 0; c < cols; c++)
		if (with[c])
			place[s.n++] = c;
	for (size_t r = 0; r < s.n; r++) {
		for (size_t c = 0; c < s.n; c++)
			s.a[r][c] = sums->zx[place[r]][place[c]];
		s.a[r][COLS_MAX] = sums->zy[place[r]];
	}
	regular = solve(&s, found);
	memset(beta, 0, cols * sizeof(*beta));
	for (size_t c = 0; c < s.n; c++)
		beta[place[c]] = found[c];
	return regular;
}

/* Half of each interval by the jackknife. */
static int measure_halves(const struct problem *p, const bool *with, const double *beta,
			  double *half, struct tw_err *err)
{
	const double groups = GROUPS;
	const double t = gsl_cdf_tdist_Pinv(0.5 + TW_UNIT_LEVEL / 2, groups - 1);
	double without[COLS_MAX], sum[COLS_MAX] = { 0 };

	for (size_t g = 0; g < GROUPS; g++) {
		struct sums rest = p->all;

		add_sums(&rest, &p->group[g], p->cols, -1);
		if (!estimate(&rest, p->cols, with, without))
			return tw_fail(err, TW_INVALID,
				       "a counter has work in one part of the recording "
				       "only: record longer, with all kinds of work at "
				       "several times");
		for (size_t c = 0; c < p->cols; c++)
			sum[c] += (without[c] - beta[c]) * (without[c] - beta[c]);
	}
	for (size_t c = 0; c < p->cols; c++)
		half[c] = t * sqrt((groups - 1) / groups * sum[c]);
	return 0;
}

static struct tw_unit_value *value_at(struct tw_unit_fit *f, size_t c)
{
	return c == 0 ? &f->standing_w : &f->work[c - 1].joules;
}

/* Set the most negative coefficient to 0. Returns whether there is one. */
static bool drop_negative(const double *beta, size_t cols, bool *with)
{
	size_t worst = 0;

	for (size_t c = 1; c < cols; c++)
		if (beta[c] < beta[worst])
			worst = c;
	if (beta[worst] >= 0)
		return false;
	with[worst] = false;
	return true;
}

static int estimate_all(const struct problem *p, struct tw_unit_fit *f,
			struct tw_err *err)
{
	bool with[COLS_MAX];
	double beta[COLS_MAX], half[COLS_MAX];

	for (size_t c = 0; c < COLS_MAX; c++)
		with[c] = c < p->cols;
	do {
		if (!estimate(&p->all, p->cols, with, beta))
			return tw_fail(err, TW_INVALID,
				       "the counters' joules cannot be told apart");
		if (measure_halves(p, with, beta, half, err) < 0)
			return -1;
		for (size_t c = 0; c < p->cols; c++)
			if (with[c])
				*value_at(f, c) = (struct tw_unit_value){
					.at = fmax(beta[c], 0) / p->scale[c],
					.low = fmax(beta[c] - half[c], 0) / p->scale[c],
					.high = fmax(beta[c] + half[c], 0) / p->scale[c],
					.falls = beta[c] + half[c] < 0,
				};
	} while (drop_negative(beta, p->cols, with));
	return 0;
}

/* Joules of counters that move together may be anything. */
static int check_precision(const struct problem *p, const struct tw_unit_fit *f,
			   struct tw_err *err)
{
	for (size_t k = 0; k < p->b->works; k++) {
		const struct tw_unit_cost *c = &f->work[k];
		const double half = (c->joules.high - c->joules.low) / 2;

		if (c->vif > TW_UNIT_VIF_MAX && half >= HALF_MAX * c->joules.at)
			return fail_together(p->b, k, c, err);
	}
	return 0;
}

/* ---- the result ---- */

static int judge(const struct tw_unit_blocks *b, struct tw_unit_fit *f,
		 struct tw_err *err)
{
	double wrong = 0, varies = 0;

	if (TW_NEW(f->predicted_j, b->count, err) < 0)
		return -1;
	for (size_t i = 0; i < b->count; i++) {
		f->seconds += tw_unit_block_s(b, i);
		f->energy_j += b->energy_j[i];
		f->idle_j += b->idle_j[i];
	}
	for (size_t i = 0; i < b->count; i++) {
		const double s = tw_unit_block_s(b, i);
		const double off = b->energy_j[i] - f->energy_j / f->seconds * s;
		double predicted = f->standing_w.at * s;

		for (size_t k = 0; k < b->works; k++) {
			const double units = b->work[i * b->works + k];

			predicted += f->work[k].joules.at * units;
			f->work[k].units += units;
		}
		f->predicted_j[i] = predicted;
		wrong += (b->energy_j[i] - predicted) * (b->energy_j[i] - predicted) / s;
		varies += off * off / s;
	}
	for (size_t k = 0; k < b->works; k++)
		f->work[k].share = f->work[k].joules.at * f->work[k].units / f->energy_j;
	f->r2 = varies > 0 ? 1 - wrong / varies : NAN;
	f->residual_w = sqrt(wrong / f->seconds);
	return 0;
}

int tw_unit_fit(const struct tw_unit_blocks *b, struct tw_unit_fit *out,
		struct tw_err *err)
{
	struct problem p = { .b = b, .cols = 1 + b->works };
	struct tw_unit_fit f = { .works = b->works };
	int rc = -1;

	if (check_work(b, err) < 0)
		return -1;
	if (TW_NEW(p.x, b->count * p.cols, err) < 0 ||
	    TW_NEW(p.z, b->count * p.cols, err) < 0 || TW_NEW(p.y, b->count, err) < 0)
		goto out;
	fill_rows(&p);
	sum_rows(&p);
	if (check_counters(&p, &f, err) < 0 || estimate_all(&p, &f, err) < 0 ||
	    check_precision(&p, &f, err) < 0 || judge(b, &f, err) < 0)
		goto out;
	*out = f;
	f = (struct tw_unit_fit){ 0 };
	rc = 0;
out:
	tw_unit_fit_release(&f);
	free(p.x);
	free(p.z);
	free(p.y);
	return rc;
}

void tw_unit_fit_release(struct tw_unit_fit *f)
{
	free(f->predicted_j);
	*f = (struct tw_unit_fit){ 0 };
}
