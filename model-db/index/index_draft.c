/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/index_draft.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/zip/zip.h"
#include "model-db/weights.h"

#include <stdlib.h>
#include <string.h>

static int read_member(void *zip, const char *name, size_t max, char **data, size_t *len,
		       struct tw_err *err)
{
	const struct tw_zip_member *m = tw_zip_list_find(zip, name);

	if (m == NULL)
		return tw_fail(err, TW_NOTFOUND, "there is no file '%s'", name);
	if (m->len > max)
		return tw_fail(err, TW_INVALID, "%s: %zu bytes, limit is %zu", name,
			       m->len, max);
	*len = m->len;
	return tw_zip_unpack(m, data, err);
}

/* A model must be what its place says. */
static int check_place(const struct tw_model_info *i, const struct tw_index_place *at,
		       struct tw_err *err)
{
	if (i->source != at->source || i->output != at->output || i->group != at->group)
		return tw_fail(
			err, TW_INVALID, "the model says that it belongs to %s/%s/%s",
			i->source->name, tw_output_name(i->output), i->group->name);
	if (strcmp(i->name, at->name) != 0)
		return tw_fail(err, TW_INVALID, "the model says that its name is '%s'",
			       i->name);
	return 0;
}

/* Weights add up; of other models the certificate tells. */
static bool serves_shares(const struct tw_model *m)
{
	const json_t *v =
		json_object_get(m->info.metadata, TW_CERTIFICATE_SHARE_DEVIATION);

	if (strcmp(m->info.predictor, "linear") == 0)
		return true;
	return json_is_number(v) && json_number_value(v) <= TW_SHARE_DEVIATION_MAX;
}

/* Weights that no client can use are no failure: there are none. */
static int read_weights(struct tw_index_draft *d, struct tw_err *err)
{
	struct tw_err why = { 0 };

	if (tw_weights_first_metric(&d->model, &d->first_metric, &why) < 0 &&
	    why.code != TW_UNSUPPORTED)
		return tw_fail(err, why.code, "%s", why.text);
	if (tw_weights_shape(&d->model, &d->shape, err) < 0)
		return -1;
	d->fitness = tw_model_fitness(&d->model.info, &d->shape, &d->unfit_why);
	d->serves_shares = serves_shares(&d->model);
	if (why.code == TW_OK && d->fitness == TW_FIT &&
	    (!d->shape.known || d->shape.non_negative))
		d->weights_for = tw_weights_clients(&d->model);
	return 0;
}

int tw_index_draft_read(const struct tw_index_place *at, struct tw_index_draft *out,
			struct tw_err *err)
{
	struct tw_zip_list zip = { 0 };
	char *data = NULL;
	size_t len;
	int rc = -1;

	if (tw_file_read(at->path, TW_INDEX_ZIP_BYTES_MAX, &data, &len, err) < 0 ||
	    tw_zip_list_read(data, len, &tw_zip_model_limits, &zip, err) < 0)
		goto out;
	if (tw_model_glance(read_member, &zip, tw_weights_small, &out->model, err) < 0 ||
	    check_place(&out->model.info, at, err) < 0 || read_weights(out, err) < 0)
		goto out;
	out->zip_bytes = len;
	out->zip_sum = tw_zip_list_sum(&zip);
	rc = 0;
out:
	tw_zip_list_release(&zip);
	free(data);
	return rc;
}

void tw_index_draft_release(struct tw_index_draft *d)
{
	tw_model_release(&d->model);
	free(d->first_metric);
	*d = (struct tw_index_draft){ 0 };
}
