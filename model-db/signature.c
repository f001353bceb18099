/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/signature.h"

#include "lib/core/base64.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/zip/fileset.h"
#include "model-db/manifest.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- minisign's files ---- */

struct line {
	const char *at;
	size_t len;
};

/* Take the next line, without its end. It is empty at the end of the text. */
static struct line next_line(const char **text, size_t *len)
{
	const char *end = memchr(*text, '\n', *len);
	struct line l = { *text, end != NULL ? (size_t)(end - *text) : *len };

	*len -= l.len + (end != NULL);
	*text += l.len + (end != NULL);
	if (l.len > 0 && l.at[l.len - 1] == '\r')
		l.len--;
	return l;
}

static bool skip_prefix(struct line *l, const char *prefix)
{
	const size_t n = strlen(prefix);

	if (l->len < n || memcmp(l->at, prefix, n) != 0)
		return false;
	l->at += n;
	l->len -= n;
	return true;
}

int tw_minisign_bytes(const char *what, const char *text, size_t len, unsigned char *out,
		      size_t size, struct tw_err *err)
{
	char *data = NULL;
	size_t n;
	int rc = -1;

	if (tw_base64_read(text, len, &data, &n, err) < 0) {
		tw_err_wrap(err, "%s", what);
		goto out;
	}
	if (n != size) {
		tw_fail(err, TW_PARSE, "%s: %zu bytes, want %zu", what, n, size);
		goto out;
	}
	memcpy(out, data, size);
	rc = 0;
out:
	free(data);
	return rc;
}

static int check_size(const char *what, size_t len, struct tw_err *err)
{
	if (len > TW_MINISIGN_TEXT_MAX)
		return tw_fail(err, TW_INVALID, "%s: %zu bytes, limit is %d", what, len,
			       TW_MINISIGN_TEXT_MAX);
	return 0;
}

int tw_minisign_key(const char *what, const char *text, size_t len, unsigned char *out,
		    size_t size, struct tw_err *err)
{
	struct line comment, key;

	if (check_size(what, len, err) < 0)
		return -1;
	comment = next_line(&text, &len);
	key = next_line(&text, &len);
	if (!skip_prefix(&comment, "untrusted comment:") || key.len == 0)
		return tw_fail(
			err, TW_PARSE,
			"%s: want a line 'untrusted comment: ..' and one of base64",
			what);
	return tw_minisign_bytes(what, key.at, key.len, out, size, err);
}

int tw_minisign_signature(const char *text, size_t len, struct tw_minisig *out,
			  struct tw_err *err)
{
	struct line untrusted, signature, trusted, global;
	struct tw_minisig s;

	if (check_size("signature", len, err) < 0)
		return -1;
	untrusted = next_line(&text, &len);
	signature = next_line(&text, &len);
	trusted = next_line(&text, &len);
	global = next_line(&text, &len);
	if (!skip_prefix(&untrusted, "untrusted comment:") ||
	    !skip_prefix(&trusted, "trusted comment: ") || global.len == 0)
		return tw_fail(err, TW_PARSE, "signature: want minisign's four lines");
	if (tw_minisign_bytes("signature", signature.at, signature.len, s.signature,
			      sizeof(s.signature), err) < 0 ||
	    tw_minisign_bytes("signature of the comment", global.at, global.len, s.global,
			      sizeof(s.global), err) < 0)
		return -1;
	s.comment = trusted.at;
	s.comment_len = trusted.len;
	*out = s;
	return 0;
}

/* ---- pipelines and keys ---- */

#define KEY_TEXT 56 /* base64 of TW_MINISIGN_PUBLIC */

static int check_signed(const struct tw_fileset_file *signature,
			struct tw_fileset *pipeline, const struct tw_strs *keys,
			struct tw_err *err)
{
	const struct tw_fileset_file *m = tw_fileset_find(pipeline, TW_MANIFEST_NAME);

	if (m == NULL)
		return tw_fail(err, TW_INVALID,
			       TW_MANIFEST_SIGNATURE " without " TW_MANIFEST_NAME);
	if (tw_signature_check(signature->data, signature->len, keys, m->data, m->len,
			       err) < 0)
		return tw_err_wrap(err, TW_MANIFEST_SIGNATURE);
	return 0;
}

/* Whether a manifest with this name and version may stand for the pipeline. */
static int check_id(const struct tw_manifest_id *id, const char *name, bool required,
		    struct tw_err *err)
{
	if (required && id->version == 0)
		return tw_fail(err, TW_DENIED,
			       TW_MANIFEST_NAME " has no pipeline and version: sign it "
						"again with tallywatt publish --sign");
	if (name != NULL && id->version != 0 && strcmp(id->pipeline, name) != 0)
		return tw_fail(err, TW_DENIED,
			       TW_MANIFEST_NAME " is of pipeline '%s', not of '%s'",
			       id->pipeline, name);
	return 0;
}

int tw_signature_check_pipeline(struct tw_fileset *pipeline, const char *name,
				const struct tw_strs *keys, bool required,
				struct tw_err *err)
{
	const struct tw_fileset_file *signature =
		tw_fileset_find(pipeline, TW_MANIFEST_SIGNATURE);
	struct tw_manifest_id id;
	struct tw_err why = { 0 };

	if (signature == NULL && required)
		return tw_fail(err, TW_DENIED, "not signed: there is no %s",
			       TW_MANIFEST_SIGNATURE);
	if (signature != NULL && (required || keys->count > 0) &&
	    check_signed(signature, pipeline, keys, err) < 0)
		return -1;
	if (tw_manifest_check(pipeline, &id, &why) == 0)
		return check_id(&id, name, required, err);
	if (why.code == TW_NOTFOUND && signature == NULL)
		return 0;
	return tw_fail(err, why.code, "%s", why.text);
}

static int add_key(const char *text, size_t len, struct tw_strs *keys, struct tw_err *err)
{
	unsigned char bytes[TW_MINISIGN_PUBLIC];

	if (tw_minisign_bytes("public key", text, len, bytes, sizeof(bytes), err) < 0)
		return -1;
	if (memcmp(bytes, "Ed", 2) != 0)
		return tw_fail(err, TW_UNSUPPORTED, "public key: not an Ed25519 key");
	return tw_strs_add(keys, text, len, err);
}

static int read_key_file(const char *path, struct tw_strs *keys, struct tw_err *err)
{
	const char *line, *end;
	char *text = NULL;
	size_t len;
	int rc = -1;

	if (tw_file_read(path, TW_MINISIGN_TEXT_MAX, &text, &len, err) < 0)
		goto out;
	/* `minisign -P` takes the base64 alone, so a file may omit the comment line. */
	line = strncmp(text, "untrusted comment:", 18) == 0 ? strchr(text, '\n') : text;
	if (line == NULL) {
		tw_fail(err, TW_PARSE, "'%s': no key", path);
		goto out;
	}
	line += *line == '\n';
	end = line + strcspn(line, "\r\n");
	if (add_key(line, (size_t)(end - line), keys, err) < 0) {
		tw_err_wrap(err, "'%s'", path);
		goto out;
	}
	rc = 0;
out:
	free(text);
	return rc;
}

int tw_signature_read_key(const char *path_or_key, struct tw_strs *keys,
			  struct tw_err *err)
{
	const size_t len = strlen(path_or_key);

	if (len == KEY_TEXT && strncmp(path_or_key, "RW", 2) == 0)
		return add_key(path_or_key, len, keys, err);
	return read_key_file(path_or_key, keys, err);
}
