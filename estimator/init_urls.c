/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/init_urls.h"

#include "lib/err.h"
#include "lib/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_MAX ((size_t)64 * 1024)
#define BLANKS " \t\r\n"

enum { TOTAL, COMPONENTS };

/* In order of preference. */
static const struct {
	const char *key;
	enum tw_output output;
	int kind;
} keys[] = {
	{ "NODE_TOTAL_INIT_URL", TW_ABS_POWER, TOTAL },
	{ "NODE_COMPONENTS_INIT_URL", TW_ABS_POWER, COMPONENTS },
	{ "CONTAINER_TOTAL_INIT_URL", TW_DYN_POWER, TOTAL },
	{ "CONTAINER_COMPONENTS_INIT_URL", TW_DYN_POWER, COMPONENTS },
	{ "PROCESS_TOTAL_INIT_URL", TW_DYN_POWER, TOTAL },
	{ "PROCESS_COMPONENTS_INIT_URL", TW_DYN_POWER, COMPONENTS },
};

#define KEYS (sizeof(keys) / sizeof(keys[0]))

/* What is between the blanks around it; nothing is no value. */
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

static int read_key_file(const char *dir, const char *key, char **out, struct tw_err *err)
{
	struct tw_err why = { 0 };
	char *path = NULL, *text = NULL;
	size_t len;
	int rc = -1;

	if (tw_path_join(&path, err, dir, key, NULL) < 0)
		goto out;
	if (tw_file_read(path, VALUE_MAX, &text, &len, &why) < 0) {
		if (why.code != TW_NOTFOUND) {
			tw_fail(err, why.code, "%s", why.text);
			goto out;
		}
	} else if (copy_trimmed(text, len, out, err) < 0) {
		goto out;
	}
	rc = 0;
out:
	free(text);
	free(path);
	return rc;
}

int tw_init_urls_get(void *arg, const char *key, char **out, struct tw_err *err)
{
	const char *dir = arg, *value;

	if (dir != NULL && read_key_file(dir, key, out, err) < 0)
		return -1;
	value = getenv(key);
	return *out != NULL || value == NULL
		       ? 0
		       : copy_trimmed(value, strlen(value), out, err);
}

/* The value of "KEY=value" among lines. */
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
	if (strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0)
		return 0;
	return tw_fail(err, TW_INVALID, "%s: '%.128s' is not http:// or https://", key,
		       url);
}

int tw_init_urls_read(tw_init_urls_get_fn *get, void *arg, struct tw_init_urls *out,
		      struct tw_err *err)
{
	char *lines = NULL;
	int rc = -1;

	if (get(arg, "MODEL_CONFIG", &lines, err) < 0)
		goto out;
	for (size_t i = 0; i < KEYS; i++) {
		char **url = &out->of[keys[i].output][keys[i].kind];

		if (*url != NULL)
			continue;
		if (lines != NULL && find_line(lines, keys[i].key, url, err) < 0)
			goto out;
		if (*url == NULL && get(arg, keys[i].key, url, err) < 0)
			goto out;
		if (*url != NULL && check_url(keys[i].key, *url, err) < 0)
			goto out;
	}
	rc = 0;
out:
	free(lines);
	return rc;
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
