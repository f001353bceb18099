/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/publishing.h"

#include "estimator/predict/predictor.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/http/client/http.h"
#include "lib/http/client/url.h"
#include "lib/json/json.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/model.h"
#include "model-db/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZIP_MAX ((size_t)1 << 30)
#define SEND_MS 600000
#define STALL_MS 60000

int tw_publishing_name(const char *from, char *out, size_t size, struct tw_err *err)
{
	size_t end = strlen(from), start;

	while (end > 0 && from[end - 1] == '/')
		end--;
	for (start = end; start > 0 && from[start - 1] != '/'; start--)
		;
	if (end - start > 4 && strncmp(from + end - 4, ".zip", 4) == 0)
		end -= 4;
	if (tw_pipeline_name_check(from + start, end - start, err) < 0)
		return -1;
	snprintf(out, size, "%.*s", (int)(end - start), from + start);
	return 0;
}

int tw_publishing_read(const char *path, struct tw_fileset *out, struct tw_err *err)
{
	return tw_zip_read_path(path, ZIP_MAX, &tw_zip_pipeline_limits, out, err);
}

/* ---- check ---- */

static int load_part(const struct tw_predictor *p, const struct tw_model_part *part,
		     struct tw_err *err)
{
	void *state;

	if (tw_predictor_load(p, part->text, part->len, &part->features, &state, err) < 0)
		return tw_err_wrap(err, "%s", tw_component_name(part->component));
	tw_predictor_free(p, state);
	return 0;
}

int tw_publishing_look(void *arg, const struct tw_model *m, struct tw_err *err)
{
	const struct tw_predictor *p = tw_predictor_find(m->info.predictor);

	(void)arg;
	if (p == NULL)
		return tw_fail(err, TW_UNSUPPORTED, "no predictor '%s'",
			       m->info.predictor);
	for (size_t i = 0; i < m->parts; i++)
		if (load_part(p, &m->part[i], err) < 0)
			return -1;
	return 0;
}

int tw_publishing_check(struct tw_fileset *pipeline, size_t *models_out,
			struct tw_err *err)
{
	return tw_pipeline_check(pipeline, tw_publishing_look, NULL, models_out, err);
}

/* ---- send ---- */

/* A proxy or a page for log-in may answer 200, too: a server names the pipeline. */
static int check_answer(const char *url, const char *name, const struct tw_http_answer *a,
			struct tw_err *err)
{
	struct tw_err why = { 0 };
	json_t *answer = NULL;
	const char *named = "";
	int rc = -1;

	if (tw_json_parse(a->body, a->len, "answer", &answer, &why) < 0 ||
	    tw_json_text(answer, "answer", "pipeline", false, &named, &why) < 0 ||
	    strcmp(named, name) != 0) {
		tw_fail(err, TW_IO,
			"'%s' is no tw-server: its answer does not name the pipeline",
			url);
		goto out;
	}
	rc = 0;
out:
	json_decref(answer);
	return rc;
}

static int call(const char *url, const char *name, const char *more,
		const struct tw_http_call *how, struct tw_err *err)
{
	struct tw_http_answer answer = { 0 };
	struct tw_buf path = { 0 };
	int rc = -1;

	tw_buf_adds(&path, "/api/v1/pipelines/");
	tw_url_escape(&path, name);
	tw_buf_adds(&path, more);
	if (tw_buf_check(&path, err) < 0 || tw_http_init(err) < 0 ||
	    tw_http_api_call(url, path.data, how, &answer, err) < 0 ||
	    check_answer(url, name, &answer, err) < 0)
		goto out;
	rc = 0;
out:
	tw_http_answer_release(&answer);
	tw_buf_clear(&path);
	return rc;
}

int tw_publishing_send(const char *url, const char *name, const struct tw_fileset *s,
		       const struct tw_http_access *access, struct tw_err *err)
{
	struct tw_http_call c = { .method = "PUT",
				  .content_type = "application/zip",
				  .timeout_ms = SEND_MS,
				  .stall_ms = STALL_MS,
				  .access = access };
	char *zip = NULL;
	int rc = -1;

	if (tw_zip_write(s, &zip, &c.body_len, err) < 0)
		goto out;
	c.body = zip;
	if (call(url, name, "", &c, err) < 0)
		goto out;
	rc = 0;
out:
	free(zip);
	return rc;
}

int tw_publishing_send_rollback(const char *url, const char *name,
				const struct tw_http_access *access, struct tw_err *err)
{
	const struct tw_http_call c = {
		.body = "{}", .body_len = 2, .timeout_ms = STALL_MS, .access = access
	};

	return call(url, name, "/rollback", &c, err);
}
