/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_ERAS_H
#define TW_TRAINER_ERAS_H

/*
 * Eras of the table: each generation and each memory type. Left out whole, an era is what
 * a machine newer than the table is: its machines count as their nearest ancestors, and
 * their numbers are clipped to the range of the others.
 */

#include "model-db/prior/prior.h"
#include "trainer/machines/process.h"

#include <stddef.h>

struct tw_err;
struct tw_posterior;

/*
 * The machines of the posterior as they are known without their eras, an era after the
 * other. A machine is in two eras, or in fewer: an era has a few machines, at least, and
 * leaves others. from[q->rows]: the rows of the prior. *out is yours: free(); NULL
 * without eras.
 */
int tw_eras_find(const struct tw_posterior *q, const size_t *from,
		 struct tw_process_stranger **out, size_t *count, struct tw_err *err);

#endif /* TW_TRAINER_ERAS_H */
