/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/models_entry.h"
#include "estimator/models_net.h"
#include "estimator/predictor.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/http.h"
#include "lib/json.h"
#include "model-db/choose.h"

#include <stdlib.h>
#include <string.h>

/* What the model server is asked: POST /model, weight false (docs/wire.md). */

static void add_text(struct tw_buf *b, const char *key, const char *text)
{
	tw_buf_addf(b, ",\"%s\":", key);
	tw_buf_add_json_text(b, text, strlen(text));
}

static char *make_body(const struct tw_wanted *w, size_t *len)
{
	struct tw_buf b = { 0 };
	json_t *spec = tw_machine_spec_to_json(&w->spec);

	tw_buf_adds(&b, "{\"metrics\":[");
	for (size_t i = 0; i < w->metrics.count; i++) {
		tw_buf_adds(&b, i > 0 ? "," : "");
		tw_buf_add_json_text(&b, w->metrics.at[i], strlen(w->metrics.at[i]));
	}
	tw_buf_adds(&b, "],\"weight\":false,\"node_type\":-1,\"model_classes\":[");
	for (size_t i = 0; i < tw_predictor_count(); i++)
		tw_buf_addf(&b, "%s\"%s\"", i > 0 ? "," : "", tw_predictor_at(i)->name);
	tw_buf_adds(&b, "]");
	add_text(&b, "output_type", tw_output_name(w->output));
	add_text(&b, "source", w->source->name);
	add_text(&b, "trainer_name", w->trainer != NULL ? w->trainer : "");
	add_text(&b, "filter", w->filter != NULL ? w->filter : "");
	if (spec != NULL) {
		tw_buf_adds(&b, ",\"machine_spec\":");
		tw_buf_add_json(&b, spec);
	}
	tw_buf_adds(&b, "}");
	json_decref(spec);
	return tw_buf_detach(&b, len);
}

/* "http://host:8100" is the server, anything with a path the very place to ask. */
static int make_url(const char *url, const char *at, char **out, struct tw_err *err)
{
	const char *scheme = strstr(url, "://");
	const char *path = strchr(scheme != NULL ? scheme + 3 : url, '/');
	struct tw_buf b = { 0 };

	tw_buf_adds(&b, url);
	if (path == NULL)
		tw_buf_addf(&b, "/%s", at + (*at == '/'));
	else if (path[1] == '\0')
		tw_buf_adds(&b, at + (*at == '/'));
	*out = tw_buf_detach(&b, NULL);
	return *out != NULL ? 0 : tw_fail(err, TW_NOMEM, "URL");
}

int tw_models_ask_server(const struct tw_models *m, const struct tw_models_key *k,
			 const char *etag, struct tw_http_answer *out, struct tw_err *err)
{
	struct tw_http_call call = { .timeout_ms = TW_MODELS_CALL_MS };
	struct tw_wanted wanted = { 0 };
	char *url = NULL, *body = NULL;
	int rc = -1;

	if (make_url(m->server_url, m->server_path, &url, err) < 0 ||
	    tw_models_wanted(m, k, &wanted, err) < 0)
		goto out;
	body = make_body(&wanted, &call.body_len);
	if (body == NULL) {
		tw_fail(err, TW_NOMEM, "request to the model server");
		goto out;
	}
	call.url = url;
	call.etag = etag;
	call.body = body;
	if (m->http.call(m->http.arg, &call, out, err) < 0)
		goto out;
	rc = 0;
out:
	tw_wanted_release(&wanted);
	free(body);
	free(url);
	return rc;
}
