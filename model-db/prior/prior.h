/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_PRIOR_H
#define TW_MODEL_DB_PRIOR_H

/*
 * The prior: wall power of a machine over load, from what is known of the machine. It is
 * learned from machines of published results (docs/machines.md).
 *
 * A view is a set of known attributes. Each view has models of its own, trained with the
 * other attributes masked: nothing unknown is guessed. A model (a member of the view) is
 * a Gaussian process for each of four targets:
 *
 *	log(W_full / scale), log(W_idle / sqrt(chips scale)) (of all cores: scale), and
 * the first two principal components of (W_j - W_idle) / (W_full - W_idle) at j = 10 ..
 * 90 % load
 *
 * with scale = chips TDP, or chips sqrt(cores of a chip), or all cores. Its mean is
 *
 *	f(x) = mean + sum over rows of weight_i k(x, x_i)
 *	k(a, b) = linear z_a z_b + square (z_a^2 - 1)(z_b^2 - 1)
 *	        + radial exp(-1/2 sum ((z_a - z_b) / length)^2)
 *	        + sum over categories of category_c [a_c = b_c]
 *
 * (of generations in place of [a_c = b_c] their likeness, model-db/prior/lineage.h) of
 * standardised numbers z, clipped to the range of the rows (C. E. Rasmussen, C. K. I.
 * Williams, Gaussian Processes for Machine Learning, 2006, chapter 2). The median M of
 * the answer is the geometric mean of the members. The answer is M exp(-v), where v is
 * the variance of log W (model-db/prior/prior_answer.h): of a lognormal W, this number
 * has the least expected |P / W - 1|, because it is the median of W under the weights
 * 1 / W. A factor close to 1 corrects the rest. The interval of log W is a multiple of
 * the standard deviation, by conformal prediction (factor and multiple are from held-out
 * processors; for a generation that the table lacks, the multiple is from machines later
 * than the training).
 */

#include "model-db/prior/lineage.h"
#include "model-db/prior/prior_machine.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct tw_buf;
struct tw_err;

#define TW_PRIOR_LOADS 11 /* 0, 10 .. 100 % */
#define TW_PRIOR_INNER (TW_PRIOR_LOADS - 2)
#define TW_PRIOR_TARGETS 4
#define TW_PRIOR_SHAPES 2 /* targets from the third on */
#define TW_PRIOR_ROWS_MAX 4096
#define TW_PRIOR_MEMBERS_MAX 3
#define TW_PRIOR_VIEWS_MAX 8
#define TW_PRIOR_ANCHORS_MAX 192
#define TW_PRIOR_BYTES_MAX ((size_t)2 << 20)

/* Steps of likeness (profiler/likeness.h): 0, 0.05 .. 1. */
#define TW_PRIOR_LIKENESSES 21

/*
 * Variance of the part that all rows share, the unknown mean. It is large, so that the
 * mean is free. The prediction has it in its constant: weights times it would cancel each
 * other, which rounded weights do not.
 */
#define TW_PRIOR_SHARED 1.0

enum tw_prior_scale {
	TW_PRIOR_BY_TDP,
	TW_PRIOR_BY_ROOT_CORES,
	TW_PRIOR_BY_CORES,
	TW_PRIOR_SCALES
};

/* An answer is the power of this part: of a chip, a core or a logical CPU if the machine
 * is unknown. Files have no view of a logical CPU. */
enum tw_prior_unit {
	TW_PRIOR_OF_MACHINE,
	TW_PRIOR_OF_CHIP,
	TW_PRIOR_OF_CORE,
	TW_PRIOR_OF_CPU,
	TW_PRIOR_UNITS
};

/* Variances of the parts of a process. */
struct tw_prior_kernel {
	double linear, square, radial, noise;
	double length[TW_PRIOR_NUMBERS];
	double category[TW_PRIOR_CATEGORIES];
};

struct tw_prior_target {
	double mean;
	struct tw_prior_kernel kernel;
	double *weight; /* of each row; 0: the row is not used */
	size_t weights; /* the number of rows */
};

struct tw_prior_member {
	enum tw_prior_scale scale;
	/*
	 * Mean, deviation and range of the numbers in training (of their logarithms,
	 * except threads).
	 */
	double mean[TW_PRIOR_NUMBERS], sd[TW_PRIOR_NUMBERS];
	double low[TW_PRIOR_NUMBERS], high[TW_PRIOR_NUMBERS];
	double shape_mean[TW_PRIOR_INNER];
	double shape[TW_PRIOR_SHAPES][TW_PRIOR_INNER];
	struct tw_prior_target target[TW_PRIOR_TARGETS];
};

/* A machine that stands for those with its processor (prior_answer.h). */
struct tw_prior_anchor {
	size_t row;
	double machines, curves; /* curves: machines with power at all loads */
};

/* How far measured power is from an answer, in standard deviations of log W. */
struct tw_prior_misses {
	double width[TW_PRIOR_LOADS]; /* half-width of the 90 % interval of log W */
	double error[TW_PRIOR_LOADS]; /* mean absolute error, a share of W */
};

/* Cholesky factors of the anchors' covariances, once they are needed (prior_answer.h). */
struct tw_prior_roots {
	atomic_bool ready;
	double *of[TW_PRIOR_MEMBERS_MAX][TW_PRIOR_TARGETS];
};

struct tw_prior_view {
	char name[32];
	/* The place of a view with the same needs, or -1: answers are the geometric mean
	 * of both. */
	int beside;
	unsigned needs;      /* numbers that must be known, a bit each */
	unsigned numbers;    /* numbers that are used */
	unsigned categories; /* categories that are used */
	enum tw_prior_unit unit;
	struct tw_prior_member member[TW_PRIOR_MEMBERS_MAX];
	size_t members;
	struct tw_prior_anchor *anchor;
	size_t anchors;
	struct tw_prior_roots *roots;
	double factor[TW_PRIOR_LOADS]; /* by which answers are multiplied */
	struct tw_prior_misses known;  /* of generations that the table has */
	struct tw_prior_misses later;  /* of other generations */
};

/* A machine: numbers, and places in the lists of categories; -1: unknown. */
struct tw_prior_row {
	double number[TW_PRIOR_NUMBERS];
	int category[TW_PRIOR_CATEGORIES];
	/* Of its generation to each of the prior's list (model-db/prior/lineage.h), and
	 * to itself. NULL: the generation is unknown, or only equal ones are alike. */
	const double *like;
	double own_like;
};

struct tw_prior {
	struct tw_prior_row *row;        /* the newest machine is last */
	double (*row_w)[TW_PRIOR_LOADS]; /* measured power of each row; NaN: unknown */
	size_t rows;
	struct tw_strs names[TW_PRIOR_CATEGORIES]; /* of the categories */
	int *after; /* of each generation: the place of the one before it, or -1 */
	size_t afters;
	struct tw_lineage lineage;
	struct tw_prior_view view[TW_PRIOR_VIEWS_MAX]; /* the best known first */
	size_t views;
	/*
	 * Mean absolute error, a share of W, of the power of the most alike machine with
	 * another processor, by likeness.
	 */
	double nearest_error[TW_PRIOR_LIKENESSES];
};

/*
 * Compute the lineage from p->after, which has an entry for each generation, in place of
 * an older lineage, and give each row the likeness of its generation.
 */
int tw_prior_find_lineage(struct tw_prior *p, struct tw_err *err);

/*
 * Give a row the likeness of its generation. more: generations between that and its real
 * one, which the list of the prior lacks.
 */
void tw_prior_set_lineage(const struct tw_prior *p, struct tw_prior_row *r,
			  unsigned more);

/*
 * Find a machine's categories among the names of the prior. A memory type that the view
 * has no machine of counts as the nearest one before it that it has, a generation that
 * the prior's list lacks as the nearest one before it on the list: without a level, a
 * machine would have the mean power of all eras. True: the generation is unknown, or one
 * that the view has no machine of.
 */
bool tw_prior_locate(const struct tw_prior *p, const struct tw_prior_view *v,
		     const struct tw_prior_machine *m, struct tw_prior_row *out);

/* The standardised numbers; 0 for those that the view does not use or nobody knows. */
void tw_prior_standardise(const struct tw_prior_view *v, const struct tw_prior_member *m,
			  const struct tw_prior_row *r, double *z);

/* A number as the member uses it: log, memory and supplies over scale. May be NaN. */
double tw_prior_number(const struct tw_prior_member *m, const struct tw_prior_row *r,
		       enum tw_prior_number n);

/* The likeness of two rows in a category: 1 or 0, of generations by their lineage. */
double tw_prior_like(const struct tw_prior_row *a, const struct tw_prior_row *b,
		     enum tw_prior_category c);

/* The covariance of two rows, without noise and without the part that all rows share. */
double tw_prior_covariance(const struct tw_prior_kernel *k, unsigned categories,
			   const struct tw_prior_row *a, const double *za,
			   const struct tw_prior_row *b, const double *zb);

/* log W of a view, the mean of its members: the median, without variance and factor. The
 * view beside it does not count. */
void tw_prior_view_log_w(const struct tw_prior *p, const struct tw_prior_view *v,
			 const struct tw_prior_row *r, double *log_w);

/* Whether the power of a row is known at all loads: at idle and full load it always is.
 */
bool tw_prior_has_curve(const struct tw_prior *p, size_t row);

/* Whether the view has machines of the processor's vendor, its generation or one before
 * it. */
bool tw_prior_is_related(const struct tw_prior *p, const struct tw_prior_view *v,
			 const struct tw_prior_machine *m);

/* Make the machine that a row describes. */
void tw_prior_machine_of_row(const struct tw_prior *p, size_t row,
			     struct tw_prior_machine *out);

/* Make of a machine the part of it that the view answers for: one chip, one core. */
void tw_prior_part(const struct tw_prior_view *v, struct tw_prior_row *r);

/*
 * The best view for the attributes that are known; NULL if no view fits. A view that uses
 * the vendor of the system has learned from machines of that vendor.
 */
const struct tw_prior_view *tw_prior_view_for(const struct tw_prior *p,
					      const struct tw_prior_machine *m);

void tw_prior_roots_clear(struct tw_prior_roots *r);
void tw_prior_release(struct tw_prior *p);

#endif /* TW_MODEL_DB_PRIOR_H */
