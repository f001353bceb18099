/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_CARD_H
#define TW_MODEL_DB_CARD_H

/*
 * A model card: the model's type, machine and training data, its errors on rows that it
 * was not trained on, and the range of its features. All of it is in the model's files.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_buf;
struct tw_err;
struct tw_model;

/* Append the card as JSON (docs/model-db.md, "Model cards"). */
void tw_card_json(const struct tw_model *m, struct tw_buf *out);

/* A test of a certificate (docs/accuracy.md), as reports name it. */
struct tw_card_test {
	const char *key, *title;
	bool of_workloads; /* of DynPower only; else of AbsPower */
	bool of_both;
};

#define TW_CARD_TESTS 5
extern const struct tw_card_test tw_card_tests[TW_CARD_TESTS];

/* A plot in a card. */
struct tw_card_plot {
	const char *title;
	char *href; /* relative to the card */
};

/* Append the card as Markdown, plots last. */
int tw_card_markdown(const struct tw_model *m, const struct tw_card_plot *plots,
		     size_t count, struct tw_buf *out, struct tw_err *err);

/* Append text as a cell of a Markdown table; escapes bars, line ends and markup. */
void tw_card_add_cell(struct tw_buf *b, const char *text);

/* Append a figure with that many decimals; "-" if it is not defined. */
void tw_card_add_figure(struct tw_buf *b, double v, int decimals);

#endif /* TW_MODEL_DB_CARD_H */
