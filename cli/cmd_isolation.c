/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_isolation.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/json/json.h"
#include "trainer/response/hints.h"
#include "trainer/response/prom.h"

#include <string.h>

/* Limit of a profile: some hundred machines. */
#define PROFILE_BYTES_MAX (256 << 10)

static int read_profile(const char *path, struct tw_profile *out, struct tw_err *err)
{
	json_t *doc = NULL;
	int rc = -1;

	if (tw_json_read(path, PROFILE_BYTES_MAX, &doc, err) == 0 &&
	    tw_profile_from_json(doc, path, out, err) == 0)
		rc = 0;
	json_decref(doc);
	return rc;
}

int tw_isolation_read(const struct tw_isolation_texts *texts, const char *model_db,
		      struct tw_isolation_input *in, struct tw_err *err)
{
	struct tw_isolation_config *c = &in->config;

	if (texts->idle != NULL && texts->profile != NULL)
		return tw_fail(err, TW_INVALID, "want one of --idle and --profile");
	if (texts->abs_pipeline != NULL &&
	    tw_name_check("pipeline name", texts->abs_pipeline,
			  strlen(texts->abs_pipeline), err) < 0)
		return -1;
	if (tw_hints_split(texts->target_hints, "--target-hints", &c->target_hints, err) <
		    0 ||
	    tw_hints_split(texts->bg_hints, "--bg-hints", &c->bg_hints, err) < 0)
		return -1;
	if (texts->idle != NULL && tw_prom_read(texts->idle, &in->idle, err) < 0)
		return -1;
	if (texts->profile != NULL && read_profile(texts->profile, &in->profile, err) < 0)
		return -1;
	c->model_db = model_db;
	c->abs_pipeline = texts->abs_pipeline;
	c->idle = in->idle;
	c->profile = texts->profile != NULL ? &in->profile : NULL;
	return 0;
}

void tw_isolation_input_release(struct tw_isolation_input *in)
{
	tw_strs_clear(&in->config.target_hints);
	tw_strs_clear(&in->config.bg_hints);
	tw_prom_free(in->idle);
	tw_profile_release(&in->profile);
	*in = (struct tw_isolation_input){ 0 };
}
