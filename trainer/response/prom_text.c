/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/response/prom_text.h"

#include "lib/core/buf.h"
#include "lib/core/num.h"
#include "lib/json/json.h"
#include "trainer/response/prom_store.h"

#include <string.h>

static void add_text(struct tw_buf *out, const char *text)
{
	tw_buf_add_json_text(out, text, strlen(text));
}

static void add_labels(struct tw_buf *out, const struct tw_series *s)
{
	tw_buf_adds(out, "{\"metric\":{");
	for (size_t i = 0; i < s->labels; i++) {
		tw_buf_adds(out, i > 0 ? "," : "");
		add_text(out, s->label[i].name);
		tw_buf_adds(out, ":");
		add_text(out, s->label[i].value);
	}
	tw_buf_adds(out, "},\"values\":[");
}

static void add_series(struct tw_buf *out, const struct tw_series *s)
{
	struct tw_unpack time = tw_unpack_begin(&s->time_ms);
	struct tw_unpack value = tw_unpack_begin(&s->value);

	add_labels(out, s);
	for (size_t i = 0; i < s->value.count; i++) {
		const int64_t ms = (int64_t)tw_unpack_next(&time);

		tw_buf_addf(out, "%s[%lld.%03lld,\"", i > 0 ? "," : "",
			    (long long)(ms / 1000), (long long)(ms % 1000));
		tw_buf_add_double(out, tw_unpack_next(&value));
		tw_buf_adds(out, "\"]");
	}
	tw_buf_adds(out, "]}");
}

void tw_prom_text(const struct tw_prom *p, struct tw_buf *out)
{
	tw_buf_adds(out, "{");
	for (size_t i = 0; i < p->count; i++) {
		const struct tw_prom_metric *m = &p->metric[i];

		tw_buf_adds(out, i > 0 ? "," : "");
		add_text(out, m->name);
		tw_buf_adds(out, ":[");
		for (size_t k = 0; k < m->count; k++) {
			tw_buf_adds(out, k > 0 ? "," : "");
			add_series(out, &m->series[k]);
		}
		tw_buf_adds(out, "]");
	}
	tw_buf_adds(out, "}");
}
