/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/signer.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/zip/fileset.h"
#include "model-db/manifest.h"
#include "model-db/signature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int read_password(const char *path, char **out, struct tw_err *err)
{
	const char *set = getenv("TW_SIGN_PASSWORD");
	size_t len;

	if (path != NULL) {
		if (tw_file_read(path, TW_MINISIGN_TEXT_MAX, out, &len, err) < 0)
			return -1;
		(*out)[strcspn(*out, "\r\n")] = '\0';
		return 0;
	}
	if (set == NULL)
		return 0;
	*out = strdup(set);
	return *out != NULL ? 0 : tw_fail(err, TW_NOMEM, "password");
}

int tw_signer_read(const char *key_file, const char *password_file, struct tw_signer *out,
		   struct tw_err *err)
{
	struct tw_signer s = { 0 };
	int rc = -1;

	if (read_password(password_file, &s.password, err) < 0 ||
	    tw_file_read(key_file, TW_MINISIGN_TEXT_MAX, &s.key, &s.key_len, err) < 0)
		goto out;
	if (tw_signature_public(s.key, s.key_len, s.password, &s.keys, err) < 0) {
		tw_err_wrap(err, "'%s'", key_file);
		goto out;
	}

	*out = s;
	s = (struct tw_signer){ 0 };
	rc = 0;
out:
	tw_signer_release(&s);
	return rc;
}

void tw_signer_release(struct tw_signer *s)
{
	if (s->key != NULL)
		explicit_bzero(s->key, s->key_len);
	if (s->password != NULL)
		explicit_bzero(s->password, strlen(s->password));
	free(s->key);
	free(s->password);
	tw_strs_clear(&s->keys);
	*s = (struct tw_signer){ 0 };
}

int tw_signer_sign(const struct tw_signer *s, const void *manifest, size_t len,
		   struct tw_buf *out, struct tw_err *err)
{
	char comment[96];

	snprintf(comment, sizeof(comment), "timestamp:%lld\tfile:%s",
		 (long long)time(NULL), TW_MANIFEST_NAME);
	return tw_signature_make(s->key, s->key_len, s->password, comment, manifest, len,
				 out, err);
}

int tw_signer_add(const struct tw_signer *s, const struct tw_manifest_id *id,
		  struct tw_fileset *pipeline, struct tw_err *err)
{
	const struct tw_fileset_file *m;
	struct tw_buf b = { 0 };
	char *text;
	size_t len;

	if (tw_manifest_add(pipeline, id, err) < 0)
		return -1;
	m = tw_fileset_find(pipeline, TW_MANIFEST_NAME);
	if (tw_signer_sign(s, m->data, m->len, &b, err) < 0) {
		tw_buf_clear(&b);
		return -1;
	}
	text = tw_buf_detach(&b, &len);
	if (text == NULL)
		return tw_fail(err, TW_NOMEM, TW_MANIFEST_SIGNATURE);
	return tw_fileset_take(pipeline, TW_MANIFEST_SIGNATURE, text, len, err);
}
