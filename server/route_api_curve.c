/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/load_curve.h"
#include "estimator/predict/power_model.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/writer.h"
#include "model-db/index/index.h"
#include "model-db/index/index_use.h"
#include "model-db/model.h"
#include "server/routes.h"
#include "server/show.h"

/* /api/v1: the power that a model predicts from rest to its largest training load. */

static void add_watts(struct tw_buf *b, const char *key, const double *of)
{
	tw_json_add_array(b, key);
	for (size_t i = 0; i < TW_LOAD_CURVE_POINTS; i++)
		tw_json_add_rounded(b, NULL, of[i], 4);
	tw_json_end_array(b);
}

static void add_shares(struct tw_buf *b)
{
	tw_json_add_array(b, "load");
	for (size_t i = 0; i < TW_LOAD_CURVE_POINTS; i++)
		tw_json_add_number(b, NULL, tw_load_curve_share(i));
	tw_json_end_array(b);
}

/* The largest load: the end of the training range of each feature. */
static void add_most(struct tw_buf *b, const struct tw_power_model *p)
{
	double min, max;
	const char *name;

	tw_json_add_object(b, "largest");
	for (size_t i = 0; (name = tw_power_model_range(p, 0, i, &min, &max)) != NULL;
	     i++)
		tw_json_add_number(b, name, max);
	tw_json_end_object(b);
}

static int write_curves(const struct tw_power_model *p, struct tw_buf *b,
			struct tw_err *err)
{
	tw_json_add_object(b, NULL);
	add_shares(b);
	add_most(b, p);
	tw_json_add_object(b, "components");
	for (size_t part = 0; part < tw_power_model_parts(p); part++) {
		struct tw_load_curve c;

		if (tw_load_curve(p, part, &c, err) < 0)
			return -1;
		tw_json_add_object(b, tw_component_name(c.component));
		add_watts(b, "watts", c.watts);
		add_watts(b, "half_width_watts", c.half_w);
		tw_json_end_object(b);
	}
	tw_json_end_object(b);
	tw_json_end_object(b);
	return 0;
}

static int show_curve(struct tw_index *x, const struct tw_index_entry *e,
		      const struct tw_http_request *q, struct tw_http_reply *r,
		      struct tw_err *err)
{
	struct tw_power_model *p = NULL;
	struct tw_model m = { 0 };
	struct tw_err why = { 0 };
	struct tw_buf b = { 0 };

	(void)x;
	(void)q;
	if (tw_index_read_model(e, &m, err) < 0 || tw_power_model_new(&m, &p, err) < 0)
		return -1;
	if (write_curves(p, &b, &why) == 0)
		tw_http_reply_buf(r, &b);
	else
		tw_http_reply_error(r, &why);
	tw_buf_clear(&b);
	tw_power_model_free(p);
	return 0;
}

static void get_curve(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	tw_show_model(app, q, r, show_curve);
}

const struct tw_http_route tw_route_api_curve = {
	.method = "GET",
	.path = TW_SHOW_MODEL "/curve",
	.handle = get_curve,
};
