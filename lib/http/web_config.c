/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/web_config.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/http/web_line.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 3

/* The mappings that a line is in, by their keys. */
struct parser {
	struct tw_web_config *out;
	char section[DEPTH_MAX][64];
	size_t indent[DEPTH_MAX]; /* of their members; SIZE_MAX: not seen yet */
	size_t depth;
	struct tw_strs *list; /* whose entries may come; NULL: none's */
	size_t list_indent;   /* of its key */
};

static int set_text(char **field, const char *value, struct tw_err *err)
{
	if (*field != NULL)
		return tw_fail(err, TW_INVALID, "it is there twice");
	if (*value == '\0')
		return tw_fail(err, TW_INVALID, "it has no value");
	*field = strdup(value);
	return *field != NULL ? 0 : tw_fail(err, TW_NOMEM, "web configuration");
}

static int take_version(const char *value, enum tw_tls_version *out, struct tw_err *err)
{
	static const char *const names[] = { "TLS10", "TLS11", "TLS12", "TLS13" };

	for (size_t i = 0; i < TW_COUNT(names); i++) {
		if (strcmp(names[i], value) == 0) {
			*out = (enum tw_tls_version)i;
			return 0;
		}
	}
	return tw_fail(err, TW_INVALID, "'%.32s' is not TLS10, TLS11, TLS12 or TLS13",
		       value);
}

static int take_bool(const char *value, bool *out, struct tw_err *err)
{
	if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
		return tw_fail(err, TW_INVALID, "neither true nor false");
	*out = strcmp(value, "true") == 0;
	return 0;
}

static int take_client_auth(struct tw_web_config *c, const char *value,
			    struct tw_err *err)
{
	c->client_auth = strcmp(value, "RequireAndVerifyClientCert") == 0;
	if (!c->client_auth && strcmp(value, "NoClientCert") != 0)
		return tw_fail(err, TW_UNSUPPORTED,
			       "'%.64s' is neither NoClientCert nor "
			       "RequireAndVerifyClientCert",
			       value);
	return 0;
}

/* Keys that exporters know as well: why they are not done here. */
static const struct {
	const char *key, *why;
} not_done[] = {
	{ "cert", "only files are read: see cert_file" },
	{ "client_allowed_sans", "every certificate of client_ca_file is let in" },
	{ "client_ca", "only files are read: see client_ca_file" },
	{ "key", "only files are read: see key_file" },
	{ "rate_limit", "requests are not limited by rate" },
};

static int fail_key(const char *key, struct tw_err *err)
{
	for (size_t i = 0; i < TW_COUNT(not_done); i++)
		if (strcmp(not_done[i].key, key) == 0)
			return tw_fail(err, TW_UNSUPPORTED, "not done here: %s",
				       not_done[i].why);
	return tw_fail(err, TW_UNSUPPORTED, "not known, or not done here");
}

static int take_tls(struct tw_web_config *c, const char *key, const char *value,
		    struct tw_err *err)
{
	if (strcmp(key, "cert_file") == 0)
		return set_text(&c->cert_file, value, err);
	if (strcmp(key, "key_file") == 0)
		return set_text(&c->key_file, value, err);
	if (strcmp(key, "client_ca_file") == 0)
		return set_text(&c->client_ca_file, value, err);
	if (strcmp(key, "min_version") == 0)
		return take_version(value, &c->min, err);
	if (strcmp(key, "max_version") == 0)
		return take_version(value, &c->max, err);
	if (strcmp(key, "prefer_server_cipher_suites") == 0)
		return take_bool(value, &c->servers_order, err);
	if (strcmp(key, "client_auth_type") == 0)
		return take_client_auth(c, value, err);
	return fail_key(key, err);
}

/* Pairs of texts, each first one once. */
static int take_pair(struct tw_strs *list, const char *key, const char *value,
		     struct tw_err *err)
{
	for (size_t i = 0; i < list->count; i += 2)
		if (strcmp(list->at[i], key) == 0)
			return tw_fail(err, TW_INVALID, "it is there twice");
	if (*value == '\0')
		return tw_fail(err, TW_INVALID, "it has no value");
	if (tw_strs_adds(list, key, err) < 0)
		return -1;
	return tw_strs_adds(list, value, err);
}

static int take_user(struct tw_web_config *c, const char *name, const char *hash,
		     struct tw_err *err)
{
	/* $2a$10$ and 53 characters: anything else would let nobody in, or is no bcrypt.
	 */
	if (strlen(hash) != 60 || strncmp(hash, "$2", 2) != 0 ||
	    strchr("abxy", hash[2]) == NULL || hash[3] != '$' || hash[6] != '$')
		return tw_fail(err, TW_INVALID, "not a hash of bcrypt");
	return take_pair(&c->users, name, hash, err);
}

static int take_http(const char *key, const char *value, struct tw_err *err)
{
	bool ignored;

	/* HTTP/1.1 is spoken either way: a client that may use 2 need not. */
	if (strcmp(key, "http2") != 0)
		return fail_key(key, err);
	return take_bool(value, &ignored, err);
}

static bool in_section(const struct parser *p, const char *name)
{
	return p->depth > 0 && strcmp(p->section[0], name) == 0;
}

/* A member of a mapping. */
static int take_member(struct parser *p, const struct tw_web_line *l, struct tw_err *err)
{
	struct tw_web_config *c = p->out;

	if (p->depth == 1 && in_section(p, "tls_server_config"))
		return take_tls(c, l->key, l->value, err);
	if (p->depth == 1 && in_section(p, "basic_auth_users"))
		return take_user(c, l->key, l->value, err);
	if (p->depth == 1 && in_section(p, "http_server_config"))
		return take_http(l->key, l->value, err);
	if (p->depth == 2 && in_section(p, "http_server_config") &&
	    strcmp(p->section[1], "headers") == 0)
		return take_pair(&c->headers, l->key, l->value, err);
	return fail_key(l->key, err);
}

/* A list begins, if it is one's key. */
static bool take_list(struct parser *p, const struct tw_web_line *l)
{
	if (p->depth != 1 || !in_section(p, "tls_server_config"))
		return false;
	if (strcmp(l->key, "cipher_suites") == 0)
		p->list = &p->out->cipher_suites;
	else if (strcmp(l->key, "curve_preferences") == 0)
		p->list = &p->out->curves;
	p->list_indent = l->indent;
	return p->list != NULL;
}

static int take_entry(const struct parser *p, const struct tw_web_line *l,
		      struct tw_err *err)
{
	if (p->list == NULL || l->indent < p->list_indent)
		return tw_fail(err, TW_UNSUPPORTED, "an entry of no list");
	if (tw_strs_has(p->list, l->value))
		return tw_fail(err, TW_INVALID, "%.64s: it is there twice", l->value);
	return tw_strs_adds(p->list, l->value, err);
}

/* A mapping begins: may be empty. */
static int take_section(struct parser *p, const struct tw_web_line *l, struct tw_err *err)
{
	const bool known = (p->depth == 0 && (strcmp(l->key, "tls_server_config") == 0 ||
					      strcmp(l->key, "http_server_config") == 0 ||
					      strcmp(l->key, "basic_auth_users") == 0)) ||
			   (p->depth == 1 && in_section(p, "http_server_config") &&
			    strcmp(l->key, "headers") == 0);

	if (!known && take_list(p, l))
		return 0;
	if (!known)
		return fail_key(l->key, err);
	snprintf(p->section[p->depth], sizeof(p->section[0]), "%.*s",
		 (int)sizeof(p->section[0]) - 1, l->key);
	p->indent[p->depth] = SIZE_MAX;
	p->depth++;
	return 0;
}

/* Which mapping the line is in, by how far it is indented. */
static int find_depth(struct parser *p, const struct tw_web_line *l, struct tw_err *err)
{
	if (l->indent == 0) {
		p->depth = 0;
		return 0;
	}
	while (p->depth > 0) {
		size_t *indent = &p->indent[p->depth - 1];
		const size_t outer = p->depth > 1 ? p->indent[p->depth - 2] : 0;

		if (*indent == SIZE_MAX && l->indent > outer)
			*indent = l->indent;
		if (*indent == l->indent)
			return 0;
		p->depth--;
	}
	return tw_fail(err, TW_PARSE, "indented as nothing before it");
}

static int take_line(struct parser *p, const char *start, const char *end,
		     struct tw_web_line *l, struct tw_err *err)
{
	bool empty;

	if (end > start && end[-1] == '\r')
		end--;
	if (tw_web_line_read(start, end, l, &empty, err) < 0)
		return -1;
	if (empty)
		return 0;
	if (l->entry)
		return take_entry(p, l, err);
	p->list = NULL;
	if (find_depth(p, l, err) < 0)
		return -1;
	if ((l->value[0] == '\0' ? take_section(p, l, err) : take_member(p, l, err)) < 0)
		return tw_err_wrap(err, "%.64s", l->key);
	return 0;
}

static int check(const struct tw_web_config *c, struct tw_err *err)
{
	if ((c->cert_file == NULL) != (c->key_file == NULL))
		return tw_fail(err, TW_INVALID,
			       "tls_server_config: only one of cert_file, key_file");
	if (c->client_auth != (c->client_ca_file != NULL))
		return tw_fail(err, TW_INVALID,
			       "tls_server_config: client_ca_file and "
			       "RequireAndVerifyClientCert go together");
	if (c->client_auth && c->cert_file == NULL)
		return tw_fail(err, TW_INVALID,
			       "tls_server_config: client_auth_type without cert_file");
	if (c->min > c->max)
		return tw_fail(err, TW_INVALID,
			       "tls_server_config: min_version is above max_version");
	return 0;
}

int tw_web_config_parse(const char *data, size_t len, struct tw_web_config *out,
			struct tw_err *err)
{
	struct tw_web_config c = { .min = TW_TLS_1_2, .max = TW_TLS_1_3 };
	struct parser p = { .out = &c };
	struct tw_web_line l = { 0 };
	int rc = -1;

	for (size_t at = 0; at < len;) {
		const char *nl = memchr(data + at, '\n', len - at);
		const size_t n = nl != NULL ? (size_t)(nl - (data + at)) : len - at;

		l.number++;
		if (take_line(&p, data + at, data + at + n, &l, err) < 0) {
			tw_err_wrap(err, "line %zu", l.number);
			goto out;
		}
		at += n + 1;
	}
	if (check(&c, err) < 0)
		goto out;

	*out = c;
	c = (struct tw_web_config){ 0 };
	rc = 0;
out:
	tw_web_config_release(&c);
	return rc;
}

/* From the directory of the file that names it. */
static int resolve(char **path, const char *file, struct tw_err *err)
{
	const char *slash = strrchr(file, '/');
	char *dir, *joined;
	int rc;

	if (*path == NULL || **path == '/' || slash == NULL)
		return 0;
	dir = strndup(file, (size_t)(slash - file) + 1);
	if (dir == NULL)
		return tw_fail(err, TW_NOMEM, "path of a file");
	rc = tw_path_join(&joined, err, dir, *path, NULL);
	free(dir);
	if (rc < 0)
		return -1;
	free(*path);
	*path = joined;
	return 0;
}

int tw_web_config_read(const char *path, struct tw_web_config *out, struct tw_err *err)
{
	struct tw_web_config c = { 0 };
	char *data = NULL;
	size_t len;
	int rc = -1;

	if (tw_file_read(path, TW_WEB_CONFIG_BYTES_MAX, &data, &len, err) < 0)
		goto out;
	if (tw_web_config_parse(data, len, &c, err) < 0) {
		tw_err_wrap(err, "%s", path);
		goto out;
	}
	if (resolve(&c.cert_file, path, err) < 0 || resolve(&c.key_file, path, err) < 0 ||
	    resolve(&c.client_ca_file, path, err) < 0)
		goto out;

	*out = c;
	c = (struct tw_web_config){ 0 };
	rc = 0;
out:
	tw_web_config_release(&c);
	free(data);
	return rc;
}

void tw_web_config_release(struct tw_web_config *c)
{
	free(c->cert_file);
	free(c->key_file);
	free(c->client_ca_file);
	tw_strs_clear(&c->cipher_suites);
	tw_strs_clear(&c->curves);
	tw_strs_clear(&c->headers);
	tw_strs_clear(&c->users);
	*c = (struct tw_web_config){ 0 };
}
