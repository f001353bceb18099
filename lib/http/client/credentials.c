/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/client/credentials.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/json/json.h"

#include <stdlib.h>
#include <string.h>

#define SECRET_MAX_BYTES ((size_t)64 << 10)

/* Strip the newline that editors and `echo` append. */
static size_t without_newline(const char *text, size_t len)
{
	if (len > 0 && text[len - 1] == '\n')
		len--;
	if (len > 0 && text[len - 1] == '\r')
		len--;
	return len;
}

/* The secret of the file, else of the environment; NULL if neither is given. */
static int read_secret(const char *file, const char *env, char **out, struct tw_err *err)
{
	char *text = NULL;
	size_t len;

	if (file != NULL) {
		if (tw_file_read(file, SECRET_MAX_BYTES, &text, &len, err) < 0)
			return -1;
	} else if (getenv(env) != NULL && getenv(env)[0] != '\0') {
		text = strdup(getenv(env));
		if (text == NULL)
			return tw_fail(err, TW_NOMEM, "%s", env);
		len = strlen(text);
	} else {
		return 0;
	}
	len = without_newline(text, len);
	if (len == 0 || memchr(text, '\n', len) != NULL ||
	    memchr(text, '\0', len) != NULL) {
		free(text);
		return tw_fail(err, TW_INVALID, "%s%s%s is not one line of text",
			       file != NULL ? "'" : "", file != NULL ? file : env,
			       file != NULL ? "'" : "");
	}
	text[len] = '\0';
	*out = text;
	return 0;
}

/* Check "Name: value". Errors do not show the value, which may be secret. */
static int add_header(struct tw_strs *out, const char *line, size_t len,
		      struct tw_err *err)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789!#$%&'*+-.^_`|~";
	size_t name = 0;

	while (name < len && line[name] != '\0' && strchr(allowed, line[name]) != NULL)
		name++;
	if (name == 0 || name == len || line[name] != ':')
		return tw_fail(err, TW_INVALID, "a header is not 'Name: value'");
	for (size_t i = 0; i < len; i++)
		if (((unsigned char)line[i] < 0x20 && line[i] != '\t') || line[i] == 0x7f)
			return tw_fail(err, TW_INVALID,
				       "header '%.*s' has a control byte",
				       (int)(name < 64 ? name : 64), line);
	return tw_strs_add(out, line, len, err);
}

static int add_header_lines(struct tw_strs *out, const char *text, size_t len,
			    struct tw_err *err)
{
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end != NULL ? (size_t)(end - text) - at : len - at;
		size_t used = without_newline(text + at, n);

		if (used > 0 && add_header(out, text + at, used, err) < 0)
			return -1;
		at += n + 1;
	}
	return 0;
}

static int add_header_object(struct tw_strs *out, const char *text, const char *env,
			     struct tw_err *err)
{
	json_t *object = NULL, *value;
	const char *name;
	int rc = -1;

	if (tw_json_parse(text, strlen(text), env, &object, err) < 0)
		goto out;
	json_object_foreach(object, name, value) {
		struct tw_buf line = { 0 };
		bool added;

		tw_buf_addf(&line, "%s: %s", name,
			    json_is_string(value) ? json_string_value(value) : "\n");
		if (tw_buf_failed(&line))
			tw_fail(err, TW_NOMEM, "%s", env);
		added = !tw_buf_failed(&line) &&
			add_header(out, line.data, line.len, err) == 0;
		tw_buf_clear(&line);
		if (!added)
			goto out;
	}
	rc = 0;
out:
	json_decref(object);
	return rc;
}

static int read_headers(struct tw_strs *out, const char *file, const char *env,
			struct tw_err *err)
{
	const char *text = env != NULL ? getenv(env) : NULL;
	char *data = NULL;
	size_t len;
	int rc = -1;

	if (file != NULL) {
		if (tw_file_read(file, SECRET_MAX_BYTES, &data, &len, err) < 0)
			goto out;
		if (add_header_lines(out, data, len, err) < 0) {
			tw_err_wrap(err, "'%s'", file);
			goto out;
		}
	} else if (text != NULL) {
		if (text[strspn(text, " \t\r\n")] == '{'
			    ? add_header_object(out, text, env, err) < 0
			    : add_header_lines(out, text, strlen(text), err) < 0) {
			tw_err_wrap(err, "%s", env);
			goto out;
		}
	}
	rc = 0;
out:
	free(data);
	return rc;
}

static int check_use(const struct tw_credentials_config *c,
		     const struct tw_credentials *w, struct tw_err *err)
{
	if (c->user != NULL && w->password == NULL)
		return tw_fail(err, TW_INVALID,
			       "--user needs --password-file or TW_HTTP_PASSWORD");
	if (c->user == NULL && c->password_file != NULL)
		return tw_fail(err, TW_INVALID, "--password-file needs --user");
	if (c->user != NULL && strchr(c->user, ':') != NULL)
		return tw_fail(err, TW_INVALID, "--user has a ':'");
	if (c->user != NULL && w->token != NULL)
		return tw_fail(err, TW_INVALID, "want --user or a token, not both");
	if (c->key_file != NULL && c->cert_file == NULL)
		return tw_fail(err, TW_INVALID, "--key-file needs --cert-file");
	return 0;
}

int tw_credentials_open(struct tw_credentials *w, const struct tw_credentials_config *c,
			const char *headers_env, struct tw_err *err)
{
	struct tw_credentials web = { 0 };
	int rc = -1;

	if (read_secret(c->password_file, "TW_HTTP_PASSWORD", &web.password, err) < 0 ||
	    read_secret(c->token_file, "TW_HTTP_TOKEN", &web.token, err) < 0 ||
	    read_headers(&web.headers, c->headers_file, headers_env, err) < 0 ||
	    check_use(c, &web, err) < 0)
		goto out;
	web.access = (struct tw_http_access){ .user = c->user,
					      .password = web.password,
					      .token = web.token,
					      .ca_file = c->ca_file,
					      .cert_file = c->cert_file,
					      .key_file = c->key_file,
					      .insecure = c->insecure };

	*w = web;
	w->access.headers = &w->headers;
	web = (struct tw_credentials){ 0 };
	rc = 0;
out:
	tw_credentials_release(&web);
	return rc;
}

void tw_credentials_release(struct tw_credentials *w)
{
	free(w->password);
	free(w->token);
	tw_strs_clear(&w->headers);
	*w = (struct tw_credentials){ 0 };
}
