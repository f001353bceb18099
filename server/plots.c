/* SPDX-License-Identifier: Apache-2.0 */
#include "server/plots.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "model-db/index/index.h"
#include "model-db/report/card.h"
#include "model-db/report/plot.h"
#include "model-db/validation.h"

#include <stdlib.h>

static int list(struct tw_plots *p, struct tw_err *err)
{
	p->at = calloc(TW_COMPONENT_COUNT * tw_plot_count(), sizeof(*p->at));
	if (p->at == NULL)
		return tw_fail(err, TW_NOMEM, "plots");
	for (int c = 0; c < TW_COMPONENT_COUNT; c++) {
		if (!tw_validation_has_power(&p->rows, (enum tw_component)c))
			continue;
		for (size_t i = 0; i < tw_plot_count(); i++) {
			p->at[p->count].component = (enum tw_component)c;
			p->at[p->count++].plot = tw_plot_at(i);
		}
	}
	return 0;
}

int tw_plots_load(const struct tw_index_entry *e, struct tw_plots *out,
		  struct tw_err *err)
{
	struct tw_plots p = { 0 };
	struct tw_err why = { 0 };

	if (tw_validation_load(e->zip_path, &p.rows, &why) < 0) {
		if (why.code == TW_NOTFOUND)
			return 0;
		return tw_fail(err, why.code,
			       "the rows of the validation of model '%s' of pipeline "
			       "'%s' cannot be read",
			       e->name, e->pipeline);
	}
	if (list(&p, err) < 0) {
		tw_plots_release(&p);
		return -1;
	}
	*out = p;
	return 0;
}

void tw_plots_release(struct tw_plots *p)
{
	tw_dataset_release(&p->rows);
	free(p->at);
	*p = (struct tw_plots){ 0 };
}

int tw_plots_show(const struct tw_plots *p, struct tw_card_plot **out, struct tw_err *err)
{
	struct tw_card_plot *shown = calloc(p->count + 1, sizeof(*shown));

	for (size_t i = 0; shown != NULL && i < p->count; i++) {
		struct tw_buf b = { 0 };

		tw_buf_addf(&b, "plots/%s/%s", tw_component_name(p->at[i].component),
			    p->at[i].plot->name);
		shown[i].title = p->at[i].plot->title;
		shown[i].href = tw_buf_detach(&b, NULL);
		if (shown[i].href == NULL) {
			tw_plots_free_shown(shown, p->count);
			shown = NULL;
		}
	}
	if (shown == NULL)
		return tw_fail(err, TW_NOMEM, "%zu plots", p->count);
	*out = shown;
	return 0;
}

void tw_plots_free_shown(struct tw_card_plot *shown, size_t count)
{
	for (size_t i = 0; shown != NULL && i < count; i++)
		free(shown[i].href);
	free(shown);
}
