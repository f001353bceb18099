/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/models_config.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/http/client/url.h"
#include "lib/program/kepler_key.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const origin_names[TW_ORIGIN_COUNT] = {
	[TW_ORIGIN_SERVER] = "server",
	[TW_ORIGIN_URL] = "url",
	[TW_ORIGIN_DB] = "database",
	[TW_ORIGIN_SHIPPED] = "shipped",
};

const char *tw_origin_name(enum tw_origin o)
{
	assert((unsigned)o < TW_ORIGIN_COUNT);
	return origin_names[o];
}

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

/* ---- URLs of initial models ---- */

#define BLANKS " \t\r\n"

enum { TOTAL, COMPONENTS };

/* The origins, in order of preference. */
static const struct {
	const char *key;
	enum tw_output output;
	int components;
} keys[] = {
	{ "NODE_TOTAL_INIT_URL", TW_ABS_POWER, TOTAL },
	{ "NODE_COMPONENTS_INIT_URL", TW_ABS_POWER, COMPONENTS },
	{ "CONTAINER_TOTAL_INIT_URL", TW_DYN_POWER, TOTAL },
	{ "CONTAINER_COMPONENTS_INIT_URL", TW_DYN_POWER, COMPONENTS },
	{ "PROCESS_TOTAL_INIT_URL", TW_DYN_POWER, TOTAL },
	{ "PROCESS_COMPONENTS_INIT_URL", TW_DYN_POWER, COMPONENTS },
};

const char *const tw_init_urls_keys[] = {
	"MODEL_CONFIG",
	"NODE_TOTAL_INIT_URL",
	"NODE_COMPONENTS_INIT_URL",
	"CONTAINER_TOTAL_INIT_URL",
	"CONTAINER_COMPONENTS_INIT_URL",
	"PROCESS_TOTAL_INIT_URL",
	"PROCESS_COMPONENTS_INIT_URL",
	NULL,
};

_Static_assert(TW_COUNT(tw_init_urls_keys) == TW_COUNT(keys) + 2,
	       "MODEL_CONFIG, all keys, NULL");

/* Copy a text without the blanks around it; *out stays NULL for an empty text. */
static int copy_trimmed(const char *text, size_t len, char **out, struct tw_err *err)
{
	while (len > 0 && strchr(BLANKS, text[0]) != NULL) {
		text++;
		len--;
	}
	while (len > 0 && strchr(BLANKS, text[len - 1]) != NULL)
		len--;
	if (len == 0)
		return 0;
	*out = strndup(text, len);
	return *out != NULL ? 0 : tw_fail(err, TW_NOMEM, "configuration");
}

/* Find the value of a line "KEY=value". */
static int find_line(const char *lines, const char *key, char **out, struct tw_err *err)
{
	const size_t key_len = strlen(key);

	while (*lines != '\0') {
		const char *line = lines + strspn(lines, BLANKS);
		const size_t len = strcspn(line, "\n");

		if (strncmp(line, key, key_len) == 0 && line[key_len] == '=')
			return copy_trimmed(line + key_len + 1, len - key_len - 1, out,
					    err);
		lines = line + len;
	}
	return 0;
}

static int check_url(const char *key, const char *url, struct tw_err *err)
{
	if (tw_url_is(url))
		return 0;
	return tw_fail(err, TW_INVALID, "%s: '%.128s' is not an http:// or https:// URL",
		       key, url);
}

/* A line of MODEL_CONFIG takes precedence over a variable. */
static int read_url(const char *lines, const char *key, char **url, struct tw_err *err)
{
	const char *value = getenv(key);

	if (lines != NULL && find_line(lines, key, url, err) < 0)
		return -1;
	if (*url == NULL && value != NULL &&
	    copy_trimmed(value, strlen(value), url, err) < 0)
		return -1;
	return *url != NULL ? check_url(key, *url, err) : 0;
}

int tw_init_urls_read(struct tw_init_urls *out, struct tw_err *err)
{
	const char *lines = getenv("MODEL_CONFIG");

	for (size_t i = 0; i < TW_COUNT(keys); i++) {
		char **url = &out->of[keys[i].output][keys[i].components];

		if (*url == NULL && read_url(lines, keys[i].key, url, err) < 0)
			return -1;
	}
	return 0;
}

const char *tw_init_urls_find(const struct tw_init_urls *u, enum tw_output output,
			      const struct tw_energy_source *source)
{
	return u->of[output][source->components[0] == TW_PLATFORM ? TOTAL : COMPONENTS];
}

void tw_init_urls_release(struct tw_init_urls *u)
{
	for (int o = 0; o < TW_OUTPUT_COUNT; o++)
		for (int k = TOTAL; k <= COMPONENTS; k++)
			free(u->of[o][k]);
	*u = (struct tw_init_urls){ 0 };
}

bool tw_init_urls_any(const struct tw_init_urls *u)
{
	for (int o = 0; o < TW_OUTPUT_COUNT; o++)
		if (u->of[o][0] != NULL || u->of[o][1] != NULL)
			return true;
	return false;
}
