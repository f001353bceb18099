/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/signature_text.h"

#include "lib/core/base64.h"
#include "lib/core/err.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct line {
	const char *at;
	size_t len;
};

/* The next line, without its end. False where there is none. */
static bool next_line(const char **text, size_t *len, struct line *out)
{
	const char *end;

	if (*len == 0)
		return false;
	end = memchr(*text, '\n', *len);
	out->at = *text;
	out->len = end != NULL ? (size_t)(end - *text) : *len;
	*len -= out->len + (end != NULL);
	*text += out->len + (end != NULL);
	if (out->len > 0 && out->at[out->len - 1] == '\r')
		out->len--;
	return true;
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
	if (!next_line(&text, &len, &comment) ||
	    !skip_prefix(&comment, "untrusted comment:") || !next_line(&text, &len, &key))
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
	if (!next_line(&text, &len, &untrusted) ||
	    !skip_prefix(&untrusted, "untrusted comment:") ||
	    !next_line(&text, &len, &signature) || !next_line(&text, &len, &trusted) ||
	    !skip_prefix(&trusted, "trusted comment: ") ||
	    !next_line(&text, &len, &global))
		return tw_fail(err, TW_PARSE,
			       "signature: not the four lines of minisign");
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
