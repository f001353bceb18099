/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/web/web_config.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* Bytes of a key or a value. */
#define TEXT_MAX ((size_t)1023)

/* Entries of a list; headers; users. */
#define ENTRIES_MAX 1000

/*
 * The file is read as the events of libyaml. A read_...() function gets the first event
 * of its value in p->event and returns with the last one there. No function accepts a
 * value of another kind, so the depth of the file is that of the tables below.
 */
struct parser {
	yaml_parser_t yaml;
	yaml_event_t event;
	const char *data;
	struct tw_web_config *out;
	size_t line;            /* of the event or of the syntax error */
	char key[TEXT_MAX + 1]; /* last key read, or "" */
};

/* ---- events ---- */

/* The line of byte `at`. */
static size_t line_of(const char *data, size_t at)
{
	size_t line = 1;

	for (size_t i = 0; i < at; i++)
		line += data[i] == '\n';
	return line;
}

static int fail_syntax(struct parser *p, struct tw_err *err)
{
	const yaml_parser_t *y = &p->yaml;
	const char *context = y->context != NULL ? y->context : "";

	if (y->error == YAML_MEMORY_ERROR)
		return tw_fail(err, TW_NOMEM, "web configuration");
	p->key[0] = '\0';
	/* An encoding error has an offset, the others have a line. */
	p->line = y->error == YAML_READER_ERROR ? line_of(p->data, y->problem_offset)
						: y->problem_mark.line + 1;
	return tw_fail(err, TW_PARSE, "%s%s%s", y->problem, *context != '\0' ? " " : "",
		       context);
}

/* Reject aliases, which let a small file expand to a large one, and their anchors. */
static int check_event(const yaml_event_t *e, struct tw_err *err)
{
	const yaml_char_t *anchor = NULL, *tag = NULL;

	if (e->type == YAML_ALIAS_EVENT)
		return tw_fail(err, TW_UNSUPPORTED, "aliases are not supported");
	if (e->type == YAML_SCALAR_EVENT) {
		anchor = e->data.scalar.anchor;
		tag = e->data.scalar.tag;
	} else if (e->type == YAML_SEQUENCE_START_EVENT) {
		anchor = e->data.sequence_start.anchor;
		tag = e->data.sequence_start.tag;
	} else if (e->type == YAML_MAPPING_START_EVENT) {
		anchor = e->data.mapping_start.anchor;
		tag = e->data.mapping_start.tag;
	}
	if (anchor != NULL)
		return tw_fail(err, TW_UNSUPPORTED, "anchors are not supported");
	if (tag != NULL)
		return tw_fail(err, TW_UNSUPPORTED, "tags are not supported");
	return 0;
}

static int next_event(struct parser *p, struct tw_err *err)
{
	yaml_event_delete(&p->event);
	if (!yaml_parser_parse(&p->yaml, &p->event))
		return fail_syntax(p, err);
	p->line = p->event.start_mark.line + 1;
	return check_event(&p->event, err);
}

static bool is_null(const yaml_event_t *e)
{
	static const char *const names[] = { "", "~", "null", "Null", "NULL" };

	if (e->type != YAML_SCALAR_EVENT ||
	    e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return false;
	for (size_t i = 0; i < TW_COUNT(names); i++)
		if (strcmp((const char *)e->data.scalar.value, names[i]) == 0)
			return true;
	return false;
}

/* The current event as text; *out lives as long as the event. */
static int read_text(const struct parser *p, const char **out, struct tw_err *err)
{
	const yaml_event_t *e = &p->event;

	if (e->type != YAML_SCALAR_EVENT)
		return tw_fail(err, TW_INVALID, "want a text");
	if (is_null(e) || e->data.scalar.length == 0)
		return tw_fail(err, TW_INVALID, "no value");
	if (e->data.scalar.length > TEXT_MAX)
		return tw_fail(err, TW_INVALID, "a text of more than %zu bytes",
			       TEXT_MAX);
	for (size_t i = 0; i < e->data.scalar.length; i++)
		if (e->data.scalar.value[i] < ' ' || e->data.scalar.value[i] == 127)
			return tw_fail(err, TW_UNSUPPORTED,
				       "a control character in a text");
	*out = (const char *)e->data.scalar.value;
	return 0;
}

/* Read the next key into p->key, or set *end at the end of the mapping. */
static int next_key(struct parser *p, bool *end, struct tw_err *err)
{
	const char *key;

	p->key[0] = '\0';
	if (next_event(p, err) < 0)
		return -1;
	*end = p->event.type == YAML_MAPPING_END_EVENT;
	if (*end)
		return 0;
	if (read_text(p, &key, err) < 0)
		return tw_err_wrap(err, "key of a mapping");
	strcpy(p->key, key);
	return 0;
}

/* *empty: the value is null. */
static int begin_mapping(const struct parser *p, bool *empty, struct tw_err *err)
{
	*empty = is_null(&p->event);
	if (!*empty && p->event.type != YAML_MAPPING_START_EVENT)
		return tw_fail(err, TW_INVALID, "want 'key: value' lines");
	return 0;
}

/* ---- values ---- */

static int read_string(struct parser *p, void *field, struct tw_err *err)
{
	char **out = field;
	const char *text;

	if (read_text(p, &text, err) < 0)
		return -1;
	return tw_text_copy(text, strlen(text), out, err);
}

static int read_version(struct parser *p, void *field, struct tw_err *err)
{
	static const char *const names[] = { "TLS10", "TLS11", "TLS12", "TLS13" };
	enum tw_tls_version *out = field;
	const char *text;

	if (read_text(p, &text, err) < 0)
		return -1;
	for (size_t i = 0; i < TW_COUNT(names); i++) {
		if (strcmp(names[i], text) == 0) {
			*out = (enum tw_tls_version)i;
			return 0;
		}
	}
	return tw_fail(err, TW_INVALID, "'%.32s' is not TLS10, TLS11, TLS12 or TLS13",
		       text);
}

static int read_bool(struct parser *p, void *field, struct tw_err *err)
{
	bool *out = field;
	const char *text;

	if (read_text(p, &text, err) < 0)
		return -1;
	if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return tw_fail(err, TW_INVALID, "want true or false, not '%.32s'", text);
	*out = strcmp(text, "true") == 0;
	return 0;
}

static int read_http2(struct parser *p, void *field, struct tw_err *err)
{
	bool ignored;

	/* The server has HTTP/1.1 only; clients that could use 2 fall back to it. */
	(void)field;
	return read_bool(p, &ignored, err);
}

static int read_client_auth(struct parser *p, void *field, struct tw_err *err)
{
	bool *out = field;
	const char *text;

	if (read_text(p, &text, err) < 0)
		return -1;
	*out = strcmp(text, "RequireAndVerifyClientCert") == 0;
	if (!*out && strcmp(text, "NoClientCert") != 0)
		return tw_fail(err, TW_UNSUPPORTED,
			       "'%.64s' is neither NoClientCert nor "
			       "RequireAndVerifyClientCert",
			       text);
	return 0;
}

static int read_list(struct parser *p, void *field, struct tw_err *err)
{
	struct tw_strs *out = field;
	const char *text;

	if (is_null(&p->event))
		return 0;
	if (p->event.type != YAML_SEQUENCE_START_EVENT)
		return tw_fail(err, TW_INVALID, "want a list of '- value' lines");
	for (;;) {
		if (next_event(p, err) < 0)
			return -1;
		if (p->event.type == YAML_SEQUENCE_END_EVENT)
			return 0;
		if (read_text(p, &text, err) < 0)
			return -1;
		if (tw_strs_has(out, text))
			return tw_fail(err, TW_INVALID, "'%.64s' twice", text);
		if (out->count == ENTRIES_MAX)
			return tw_fail(err, TW_INVALID, "more than %d entries",
				       ENTRIES_MAX);
		if (tw_strs_adds(out, text, err) < 0)
			return -1;
	}
}

static int add_pair(struct tw_strs *list, const char *key, const char *value,
		    struct tw_err *err)
{
	for (size_t i = 0; i < list->count; i += 2)
		if (strcmp(list->at[i], key) == 0)
			return tw_fail(err, TW_INVALID, "the key is there twice");
	if (list->count == (size_t)2 * ENTRIES_MAX)
		return tw_fail(err, TW_INVALID, "more than %d entries", ENTRIES_MAX);
	if (tw_strs_adds(list, key, err) < 0)
		return -1;
	return tw_strs_adds(list, value, err);
}

static int read_headers(struct parser *p, void *field, struct tw_err *err)
{
	const char *value;
	bool end;

	if (begin_mapping(p, &end, err) < 0)
		return -1;
	while (!end) {
		if (next_key(p, &end, err) < 0)
			return -1;
		if (!end && (next_event(p, err) < 0 || read_text(p, &value, err) < 0 ||
			     add_pair(field, p->key, value, err) < 0))
			return -1;
	}
	return 0;
}

/* "$2a$10$" and 53 characters: no password would match any other text. */
static bool is_bcrypt(const char *hash)
{
	return strlen(hash) == 60 && strncmp(hash, "$2", 2) == 0 &&
	       strchr("abxy", hash[2]) != NULL && hash[3] == '$' && hash[6] == '$';
}

static int read_users(struct parser *p, void *field, struct tw_err *err)
{
	const char *hash;
	bool end;

	if (begin_mapping(p, &end, err) < 0)
		return -1;
	while (!end) {
		if (next_key(p, &end, err) < 0)
			return -1;
		if (end)
			break;
		if (next_event(p, err) < 0 || read_text(p, &hash, err) < 0)
			return -1;
		if (!is_bcrypt(hash))
			return tw_fail(err, TW_INVALID,
				       "not a bcrypt hash: make one by htpasswd -nBC 10");
		if (add_pair(field, p->key, hash, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- mappings with known keys ---- */

struct member {
	const char *key;
	int (*read)(struct parser *p, void *field, struct tw_err *err);
	size_t offset;       /* of field in struct tw_web_config */
	const char *instead; /* exporters know the key, this server does not: a hint */
};

#define FIELD(m) .offset = offsetof(struct tw_web_config, m)

static int read_mapping(struct parser *p, const struct member *members, size_t count,
			struct tw_err *err)
{
	unsigned seen = 0; /* bits by member */
	size_t i;
	bool end;

	if (begin_mapping(p, &end, err) < 0)
		return -1;
	while (!end) {
		if (next_key(p, &end, err) < 0)
			return -1;
		if (end)
			break;
		for (i = 0; i < count && strcmp(members[i].key, p->key) != 0;)
			i++;
		if (i == count)
			return tw_fail(err, TW_UNSUPPORTED, "unknown key");
		if (members[i].read == NULL)
			return tw_fail(err, TW_UNSUPPORTED, "not supported: %s",
				       members[i].instead);
		if ((seen & 1u << i) != 0)
			return tw_fail(err, TW_INVALID, "the key is there twice");
		seen |= 1u << i;
		if (next_event(p, err) < 0 ||
		    members[i].read(p, (char *)p->out + members[i].offset, err) < 0)
			return -1;
	}
	return 0;
}

static int read_tls(struct parser *p, void *field, struct tw_err *err)
{
	static const struct member members[] = {
		{ .key = "cert", .instead = "use cert_file" },
		{ .key = "cert_file", .read = read_string, FIELD(cert_file) },
		{ .key = "cipher_suites", .read = read_list, FIELD(cipher_suites) },
		{ .key = "client_allowed_sans",
		  .instead = "every certificate of client_ca_file is accepted" },
		{ .key = "client_auth_type",
		  .read = read_client_auth,
		  FIELD(client_auth) },
		{ .key = "client_ca", .instead = "use client_ca_file" },
		{ .key = "client_ca_file", .read = read_string, FIELD(client_ca_file) },
		{ .key = "curve_preferences", .read = read_list, FIELD(curves) },
		{ .key = "key", .instead = "use key_file" },
		{ .key = "key_file", .read = read_string, FIELD(key_file) },
		{ .key = "max_version", .read = read_version, FIELD(max) },
		{ .key = "min_version", .read = read_version, FIELD(min) },
		{ .key = "prefer_server_cipher_suites",
		  .read = read_bool,
		  FIELD(servers_order) },
	};

	(void)field;
	return read_mapping(p, members, TW_COUNT(members), err);
}

static int read_http(struct parser *p, void *field, struct tw_err *err)
{
	static const struct member members[] = {
		{ .key = "headers", .read = read_headers, FIELD(headers) },
		{ .key = "http2", .read = read_http2 },
	};

	(void)field;
	return read_mapping(p, members, TW_COUNT(members), err);
}

static int read_root(struct parser *p, struct tw_err *err)
{
	static const struct member members[] = {
		{ .key = "basic_auth_users", .read = read_users, FIELD(users) },
		{ .key = "http_server_config", .read = read_http },
		{ .key = "rate_limit", .instead = "requests are not limited by rate" },
		{ .key = "tls_server_config", .read = read_tls },
	};

	return read_mapping(p, members, TW_COUNT(members), err);
}

/* ---- the file ---- */

static int read_stream(struct parser *p, struct tw_err *err)
{
	if (next_event(p, err) < 0 || next_event(p, err) < 0)
		return -1;
	if (p->event.type == YAML_STREAM_END_EVENT)
		return 0; /* an empty file */
	if (next_event(p, err) < 0 || read_root(p, err) < 0)
		return -1;
	if (next_event(p, err) < 0 || next_event(p, err) < 0)
		return -1;
	if (p->event.type != YAML_STREAM_END_EVENT)
		return tw_fail(err, TW_UNSUPPORTED, "a second document");
	return 0;
}

static int parse_yaml(const char *data, size_t len, struct tw_web_config *out,
		      struct tw_err *err)
{
	struct parser p = { .data = data, .out = out };
	int rc = -1;

	if (!yaml_parser_initialize(&p.yaml))
		return tw_fail(err, TW_NOMEM, "web configuration");
	yaml_parser_set_encoding(&p.yaml, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&p.yaml, (const unsigned char *)data, len);
	if (read_stream(&p, err) < 0) {
		if (p.key[0] != '\0')
			tw_err_wrap(err, "line %zu: %.64s", p.line, p.key);
		else
			tw_err_wrap(err, "line %zu", p.line);
		goto out;
	}
	rc = 0;
out:
	yaml_event_delete(&p.event);
	yaml_parser_delete(&p.yaml);
	return rc;
}

static int check(const struct tw_web_config *c, struct tw_err *err)
{
	if ((c->cert_file == NULL) != (c->key_file == NULL))
		return tw_fail(err, TW_INVALID,
			       "tls_server_config: cert_file and key_file go together");
	if (c->client_auth != (c->client_ca_file != NULL))
		return tw_fail(err, TW_INVALID,
			       "tls_server_config: client_ca_file and "
			       "RequireAndVerifyClientCert go together");
	if (c->client_auth && c->cert_file == NULL)
		return tw_fail(err, TW_INVALID,
			       "tls_server_config: client_auth_type needs cert_file");
	if (c->min > c->max)
		return tw_fail(err, TW_INVALID,
			       "tls_server_config: min_version is above max_version");
	return 0;
}

int tw_web_config_parse(const char *data, size_t len, struct tw_web_config *out,
			struct tw_err *err)
{
	struct tw_web_config c = { .min = TW_TLS_1_2, .max = TW_TLS_1_3 };
	int rc = -1;

	if (len > TW_WEB_CONFIG_BYTES_MAX)
		return tw_fail(err, TW_INVALID, "the file is over %zu bytes",
			       TW_WEB_CONFIG_BYTES_MAX);
	if (parse_yaml(data, len, &c, err) < 0 || check(&c, err) < 0)
		goto out;

	*out = c;
	c = (struct tw_web_config){ 0 };
	rc = 0;
out:
	tw_web_config_release(&c);
	return rc;
}

/* Make a relative path one from the directory of the file. */
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
