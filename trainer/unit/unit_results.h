/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_UNIT_RESULTS_H
#define TW_TRAINER_UNIT_RESULTS_H

/*
 * The last evaluations of each unit of work: as metrics, as a member of /healthz, and as
 * the answer to GET /api/v1/units. One thread adds evaluations, threads of the HTTP
 * server write them.
 */

#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/http/server/expo.h"
#include "trainer/unit/unit_file.h"
#include "trainer/unit/unit_fit.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;

/*
 * Drift of a unit of work: whether the newest blocks have other joules or another
 * standing power than the blocks before them.
 *
 * Both parts are fitted apart, so their errors are independent. A value drifts if its
 * difference is more than the intervals of both explain,
 *
 *	|now - before| > 2 sqrt(h1^2 + h2^2),	h: half of an interval of 90 %
 *
 * (twice 90 % is about 99 % with the few degrees of freedom of an interval), and more
 * than a twentieth of the value before.
 */

/* Least number of blocks of each part. */
#define TW_UNIT_DRIFT_BLOCKS 48

enum tw_unit_drift_state {
	TW_UNIT_DRIFT_UNKNOWN, /* too few blocks, or a part is refused by tw_unit_fit() */
	TW_UNIT_DRIFT_NONE,
	TW_UNIT_DRIFT_SEEN,
};

struct tw_unit_drift {
	enum tw_unit_drift_state state;
	/* For TW_UNIT_DRIFT_SEEN, the part that drifts most: */
	size_t work; /* index of the counter; SIZE_MAX: standing power */
	double before, now;
	double seconds; /* length of the newest part */
};

/* Fails without memory only. */
int tw_unit_drift_find(const struct tw_unit_blocks *b, struct tw_unit_drift *out,
		       struct tw_err *err);

/* ---- the last evaluations ---- */

#define TW_UNIT_HISTORY 200

struct tw_unit_evaluation {
	int64_t to_ms; /* end of its window */
	struct tw_unit_value standing_w, joules[TW_UNIT_WORKS_MAX];
	double r2, residual_w;
	enum tw_unit_drift_state drift;
};

/* The results of one unit. */
struct tw_unit_history {
	struct tw_unit_data asked; /* without series: names and selectors */
	bool drifts;               /* by the last evaluation that gave numbers */
	bool up;                   /* the last evaluation gave numbers */
	struct tw_strs warnings;   /* of the last evaluation that gave numbers */
	const char *reason;        /* why not, in a few fixed words; "" */
	char problem[TW_ERR_TEXT]; /* the same in full; "" */
	/* A ring of the evaluations that gave numbers: the last is at (added - 1). */
	struct tw_unit_evaluation *evaluation;
	uint64_t added;
};

struct tw_unit_results {
	pthread_mutex_t lock;
	const struct tw_unit_file *file; /* borrowed */
	struct tw_unit_history *unit;    /* of each unit of the file */
};

int tw_unit_results_open(struct tw_unit_results *r, const struct tw_unit_file *f,
			 struct tw_err *err);
/* May be called after a failed open. */
void tw_unit_results_close(struct tw_unit_results *r);

/* The result of an evaluation of unit i: e and its warnings, which become empty; or why
 * there is none. True: whether there is one, or the reason, differs from before. */
bool tw_unit_results_add(struct tw_unit_results *r, size_t i,
			 const struct tw_unit_evaluation *e, struct tw_strs *warnings);
bool tw_unit_results_fail(struct tw_unit_results *r, size_t i, const struct tw_err *why);

extern const struct tw_expo_table tw_unit_families[];
void tw_unit_results_metrics(struct tw_unit_results *r, struct tw_expo *e);
void tw_unit_results_health(struct tw_unit_results *r, struct tw_buf *out);
/* The members of a list. */
void tw_unit_results_list(struct tw_unit_results *r, struct tw_buf *out);

/* Append the member {"value": .., "low": .., "high": ..}. */
void tw_unit_value_add(struct tw_buf *out, const char *key,
		       const struct tw_unit_value *v);

/* Append the list of the selectors of energy. */
void tw_unit_energy_add(struct tw_buf *out, const char *key,
			const struct tw_unit_data *d);

#endif /* TW_TRAINER_UNIT_RESULTS_H */
