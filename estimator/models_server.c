/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/models_entry.h"
#include "estimator/models_net.h"
#include "estimator/predict/predictor.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/http/http.h"
#include "lib/json/json.h"
#include "lib/program/kepler_key.h"
#include "model-db/index/choose.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What the model server is asked: POST /model, weight false (docs/wire.md). */

const char *const tw_models_server_keys[] = { "MODEL_SERVER_URL", "MODEL_SERVER_ENABLE",
					      "MODEL_SERVER_PORT",
					      "MODEL_SERVER_MODEL_REQ_PATH", NULL };

int tw_models_server_default(struct tw_err *err)
{
	const char *enable = getenv("MODEL_SERVER_ENABLE");
	const char *port = getenv("MODEL_SERVER_PORT");

	if (enable == NULL || strcasecmp(enable, "true") != 0)
		return 0;
	if ((port == NULL || *port == '\0') && setenv("MODEL_SERVER_PORT", "8100", 1) < 0)
		return tw_fail(err, TW_NOMEM, "MODEL_SERVER_PORT");
	return tw_kepler_key_default(
		"MODEL_SERVER_URL",
		"http://kepler-model-server.kepler.svc.cluster.local:",
		"MODEL_SERVER_PORT", "", err);
}

const char *tw_models_server(const char *url)
{
	const char *enable = getenv("MODEL_SERVER_ENABLE");

	if (enable != NULL && strcasecmp(enable, "false") == 0)
		return NULL;
	return url != NULL && url[0] != '\0' ? url : NULL;
}

const char *tw_models_server_path(void)
{
	const char *path = getenv("MODEL_SERVER_MODEL_REQ_PATH");

	return path != NULL && path[0] != '\0' ? path : NULL;
}

static void add_text(struct tw_buf *b, const char *key, const char *text)
{
	tw_buf_addf(b, ",\"%s\":", key);
	tw_buf_add_json_text(b, text, strlen(text));
}

static char *make_body(const struct tw_wanted *w, size_t *len)
{
	struct tw_buf b = { 0 };
	json_t *spec = tw_machine_spec_to_json(&w->spec);
	const char *separator = "";

	tw_buf_adds(&b, "{\"metrics\":[");
	for (size_t i = 0; i < w->metrics.count; i++) {
		if (w->counters_unproven && tw_feature_is_counter(w->metrics.at[i]))
			continue;
		tw_buf_adds(&b, separator);
		separator = ",";
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
