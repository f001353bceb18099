/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_CARD_H
#define TW_MODEL_DB_CARD_H

/*
 * A model card: what a model is, of which machine and data, how wrong it is on data that
 * it did not see, and where that ends. It says nothing that the model's files do not.
 */

#include <jansson.h>

struct tw_buf;
struct tw_err;
struct tw_model;

/* As an object (docs/model-db.md, "Model cards"); NULL without memory. */
json_t *tw_card_json(const struct tw_model *m);

/* A plot to show: where it is, seen from the card. */
struct tw_card_plot {
	const char *title;
	char *href;
};

/* Append the card as Markdown, with plots at its end. */
int tw_card_markdown(const struct tw_model *m, const struct tw_card_plot *plots,
		     size_t count, struct tw_buf *out, struct tw_err *err);

/* Append text as one cell of a Markdown table: no bars, no line ends, no markup. */
void tw_card_add_cell(struct tw_buf *b, const char *text);

/* Append a figure with that many decimals; a dash where it is not defined. */
void tw_card_add_figure(struct tw_buf *b, double v, int decimals);

#endif /* TW_MODEL_DB_CARD_H */
