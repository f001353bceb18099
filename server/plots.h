/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_PLOTS_H
#define TW_SERVER_PLOTS_H

/*
 * Which plots there are of a model: each plot of each component of which the rows of its
 * validation (model-db/validation.h) have any power.
 */

#include "lib/field/dataset.h"

struct tw_card_plot;
struct tw_err;
struct tw_index_entry;
struct tw_plot;

struct tw_plots {
	struct tw_dataset rows;
	struct {
		enum tw_component component;
		const struct tw_plot *plot;
	} * at;
	size_t count;
};

/*
 * *out must be all zero; it is yours. A model without rows has no plots, which is no
 * failure. The errors name no path: they are for clients.
 */
int tw_plots_load(const struct tw_index_entry *e, struct tw_plots *out,
		  struct tw_err *err);
void tw_plots_release(struct tw_plots *p);

/*
 * The same for a card: where they are, seen from it. *out is yours, and so is each href:
 * tw_plots_free_shown().
 */
int tw_plots_show(const struct tw_plots *p, struct tw_card_plot **out,
		  struct tw_err *err);
void tw_plots_free_shown(struct tw_card_plot *shown, size_t count);

#endif /* TW_SERVER_PLOTS_H */
