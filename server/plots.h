/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_PLOTS_H
#define TW_SERVER_PLOTS_H

/*
 * The plots of a model: each kind of plot, for each component whose validation rows
 * (model-db/validation.h) have power above 0.
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
 * *out must be all zero; it is yours. A model without validation rows has no plots; that
 * is no failure. Errors name no path, because clients see them.
 */
int tw_plots_load(const struct tw_index_entry *e, struct tw_plots *out,
		  struct tw_err *err);
void tw_plots_release(struct tw_plots *p);

/*
 * The plots as links of a model card, relative to it. *out and each href are yours:
 * tw_plots_free_shown().
 */
int tw_plots_show(const struct tw_plots *p, struct tw_card_plot **out,
		  struct tw_err *err);
void tw_plots_free_shown(struct tw_card_plot *shown, size_t count);

#endif /* TW_SERVER_PLOTS_H */
