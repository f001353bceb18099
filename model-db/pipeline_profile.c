/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/pipeline_profile.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "lib/zip/fileset.h"
#include "profiler/profile.h"

#include <stdlib.h>
#include <string.h>

/* Nothing is added where the pipeline has none. */
static int join_from(struct tw_profile *to, const struct tw_fileset *pipeline,
		     struct tw_err *err)
{
	const struct tw_fileset_file *f = tw_fileset_find(pipeline, TW_PIPELINE_PROFILE);
	struct tw_profile p = { 0 };
	json_t *doc = NULL;
	int rc = -1;

	if (f == NULL)
		return 0;
	if (tw_json_parse(f->data, f->len, f->name, &doc, err) < 0 ||
	    tw_profile_from_json(doc, f->name, &p, err) < 0 ||
	    tw_profile_join(to, &p, err) < 0)
		goto out;
	rc = 0;
out:
	json_decref(doc);
	tw_profile_release(&p);
	return rc;
}

static int put(struct tw_fileset *pipeline, char *data, size_t len, struct tw_err *err)
{
	for (size_t i = 0; i < pipeline->count; i++) {
		struct tw_fileset_file *f = &pipeline->at[i];

		if (strcmp(f->name, TW_PIPELINE_PROFILE) != 0)
			continue;
		free(f->data);
		f->data = data;
		f->len = len;
		return 0;
	}
	return tw_fileset_take(pipeline, TW_PIPELINE_PROFILE, data, len, err);
}

int tw_pipeline_set_profile(struct tw_fileset *pipeline, const struct tw_profile *p,
			    struct tw_err *err)
{
	json_t *doc = tw_profile_to_json(p);
	struct tw_buf text = { 0 };
	char *data = NULL;
	size_t len = 0;

	if (doc != NULL) {
		tw_buf_add_json_pretty(&text, doc);
		data = tw_buf_detach(&text, &len);
	}
	json_decref(doc);
	if (data == NULL)
		return tw_fail(err, TW_NOMEM, "%s", TW_PIPELINE_PROFILE);
	return put(pipeline, data, len, err);
}

int tw_pipeline_join_profile(struct tw_fileset *fresh, const struct tw_fileset *old,
			     struct tw_err *err)
{
	struct tw_profile p = { 0 };
	int rc = -1;

	if (tw_fileset_find(old, TW_PIPELINE_PROFILE) == NULL)
		return 0;
	if (join_from(&p, fresh, err) < 0 || join_from(&p, old, err) < 0 ||
	    tw_pipeline_set_profile(fresh, &p, err) < 0)
		goto out;
	rc = 0;
out:
	tw_profile_release(&p);
	return rc;
}
