/* SPDX-License-Identifier: Apache-2.0 */
#include "server/uploads.h"

#include "lib/core/array.h"
#include "lib/core/base64.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/import/import.h"
#include "model-db/import/import_find.h"
#include "model-db/manifest.h"
#include "model-db/model.h"
#include "model-db/pipeline.h"
#include "model-db/publish.h"
#include "model-db/signature.h"
#include "model-db/weights.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define AUTH_BYTES_MAX 65536

struct tw_uploads {
	char *model_db;
	struct tw_strs secrets; /* lines of the file: tokens and user:password */
	struct tw_strs keys;
	bool require_signature, allow_downgrade;
};

static int read_secrets(const char *path, struct tw_strs *out, struct tw_err *err)
{
	char *text = NULL;
	size_t len;
	int rc = -1;

	if (tw_file_read(path, AUTH_BYTES_MAX, &text, &len, err) < 0)
		goto out;
	for (char *at = text; *at != '\0';) {
		const size_t n = strcspn(at, "\r\n");

		if (n > 0 && *at != '#' && tw_strs_add(out, at, n, err) < 0)
			goto out;
		at += n + (at[n] != '\0');
	}
	if (out->count == 0) {
		tw_fail(err, TW_INVALID, "'%s': no token and no user:password", path);
		goto out;
	}
	rc = 0;
out:
	free(text);
	return rc;
}

int tw_uploads_new(const struct tw_uploads_config *c, struct tw_uploads **out,
		   struct tw_err *err)
{
	struct tw_uploads *u = NULL;
	int rc = -1;

	if (TW_NEW(u, 1, err) < 0 ||
	    tw_text_copy(c->model_db, strlen(c->model_db), &u->model_db, err) < 0)
		goto out;
	u->require_signature = c->require_signature;
	u->allow_downgrade = c->allow_downgrade;
	if (c->auth_file != NULL && read_secrets(c->auth_file, &u->secrets, err) < 0)
		goto out;
	if (tw_signature_read_keys(c->keys, &u->keys, err) < 0)
		goto out;
	if (u->require_signature && (u->keys.count == 0 || !tw_signature_available())) {
		tw_fail(err, TW_INVALID, "--require-signature %s",
			u->keys.count == 0 ? "without a --public-key"
					   : "in a build without libsodium");
		goto out;
	}

	*out = u;
	u = NULL;
	rc = 0;
out:
	tw_uploads_free(u);
	return rc;
}

void tw_uploads_free(struct tw_uploads *u)
{
	if (u == NULL)
		return;
	tw_strs_clear(&u->keys);
	tw_strs_clear(&u->secrets);
	free(u->model_db);
	free(u);
}

/* ---- who ---- */

/* Compare in constant time. */
static bool same(const char *secret, const char *given, size_t len)
{
	const size_t n = strlen(secret);
	unsigned char differs = n != len;

	for (size_t i = 0; i < len; i++)
		differs |= (unsigned char)(secret[n > 0 ? i % n : 0] ^ given[i]);
	return differs == 0;
}

static bool known(const struct tw_uploads *u, const char *given, size_t len, bool basic)
{
	bool found = false;

	for (size_t i = 0; i < u->secrets.count; i++)
		if ((strchr(u->secrets.at[i], ':') != NULL) == basic)
			found |= same(u->secrets.at[i], given, len);
	return found;
}

static bool basic_is_known(const struct tw_uploads *u, const char *base64)
{
	struct tw_err ignored = { 0 };
	char *text = NULL;
	size_t len;
	bool found;

	if (tw_base64_read(base64, strlen(base64), &text, &len, &ignored) < 0)
		return false;
	found = known(u, text, len, true);
	free(text);
	return found;
}

int tw_uploads_allow(const struct tw_uploads *u, const char *authorization,
		     struct tw_err *err)
{
	if (u->secrets.count == 0)
		return tw_fail(err, TW_DENIED, "publishing is off: see --publish-auth");
	if (authorization == NULL)
		return tw_fail(err, TW_DENIED, "a token, or name and password is needed");
	if (strncasecmp(authorization, "Bearer ", 7) == 0 &&
	    known(u, authorization + 7, strlen(authorization + 7), false))
		return 0;
	if (strncasecmp(authorization, "Basic ", 6) == 0 &&
	    basic_is_known(u, authorization + 6))
		return 0;
	return tw_fail(err, TW_DENIED, "this token, or name and password may not");
}

/* ---- what ---- */

/* Check that the weights for clients can be written. */
static int look(void *arg, const struct tw_model *m, struct tw_err *err)
{
	struct tw_buf b = { 0 };
	struct tw_err why = { 0 };
	int rc = -1;

	(void)arg;
	if (tw_weights_exist(m) && tw_weights_write(m, TW_CLIENT_CURRENT, &b, &why) < 0 &&
	    why.code != TW_UNSUPPORTED) {
		tw_fail(err, why.code, "%s", why.text);
		goto out;
	}
	if (tw_buf_check(&b, err) < 0)
		goto out;
	rc = 0;
out:
	tw_buf_clear(&b);
	return rc;
}

#if TW_FLEET
bool tw_uploads_allow_downgrade(const struct tw_uploads *u)
{
	return u->allow_downgrade;
}
#endif

bool tw_uploads_require_signature(const struct tw_uploads *u)
{
	return u->require_signature;
}

static int check_signed(const struct tw_uploads *u, const char *name,
			struct tw_fileset *pipeline, struct tw_err *err)
{
	return tw_signature_check_pipeline(pipeline, name, &u->keys, u->require_signature,
					   err);
}

int tw_uploads_admit(void *uploads, const char *path, const char *name,
		     struct tw_err *err)
{
	const struct tw_uploads *u = uploads;
	struct tw_fileset files = { 0 };
	int rc = -1;

	if (!u->require_signature)
		return 0;
	if (tw_fileset_read_dir(&files, path, &tw_zip_pipeline_limits, err) == 0 &&
	    check_signed(u, name, &files, err) == 0)
		rc = 0;
	tw_fileset_clear(&files);
	return rc;
}

static int take_files(const struct tw_uploads *u, const char *name,
		      struct tw_fileset *pipeline, size_t *models_out, struct tw_err *err)
{
	const struct tw_publish_terms terms = { .allow_downgrade = u->allow_downgrade };
	size_t models;

	if (tw_pipeline_name_check(name, strlen(name), err) < 0 ||
	    check_signed(u, name, pipeline, err) < 0 ||
	    tw_pipeline_check(pipeline, look, NULL, &models, err) < 0 ||
	    tw_pipeline_publish_with(u->model_db, name, pipeline, &terms, err) < 0)
		return -1;
	*models_out = models;
	return 0;
}

int tw_uploads_take(const struct tw_uploads *u, const char *name, const char *zip,
		    size_t len, size_t *models_out, struct tw_err *err)
{
	struct tw_fileset files = { 0 };
	int rc = -1;

	if (tw_zip_read(zip, len, &tw_zip_pipeline_limits, &files, err) == 0 &&
	    take_files(u, name, &files, models_out, err) == 0)
		rc = 0;
	tw_fileset_clear(&files);
	return rc;
}

static int check_again(void *arg, const char *name, struct tw_fileset *files,
		       struct tw_err *err)
{
	const struct tw_uploads *u = arg;
	size_t models;

	if (check_signed(u, name, files, err) < 0)
		return -1;
	return tw_pipeline_check(files, look, NULL, &models, err);
}

int tw_uploads_rollback(struct tw_uploads *u, const char *name, struct tw_err *err)
{
	return tw_pipeline_rollback(u->model_db, name, check_again, u, err);
}

#if TW_FLEET
/* ---- of others ---- */

static void count_outcome(void *arg, const char *model, enum tw_import_outcome outcome,
			  const char *why)
{
	size_t *of = arg;

	(void)model;
	(void)why;
	of[outcome]++;
}

static int convert(struct tw_fileset *pipeline, size_t *kept_out, struct tw_err *err)
{
	size_t of[TW_IMPORT_OUTCOMES] = { 0 };
	const struct tw_import_listener listener = { .report = count_outcome,
						     .look = look,
						     .arg = of };
	struct tw_fileset ours = { 0 };

	if (tw_import_pipeline(pipeline, &ours, &listener, err) < 0)
		return -1;
	tw_fileset_clear(pipeline);
	*pipeline = ours;
	*kept_out = of[TW_IMPORT_KEPT];
	return 0;
}

int tw_uploads_check_any(const struct tw_uploads *u, const char *name,
			 struct tw_fileset *pipeline, size_t *models_out,
			 size_t *kept_out, struct tw_err *err)
{
	size_t models, kept = 0;

	if (tw_manifest_rename(pipeline, name, err) < 0 ||
	    check_signed(u, name, pipeline, err) < 0)
		return -1;
	if (tw_import_is_old(pipeline) &&
	    (tw_import_enter(pipeline, err) < 0 || convert(pipeline, &kept, err) < 0))
		return -1;
	if (tw_pipeline_check(pipeline, look, NULL, &models, err) < 0)
		return -1;
	*models_out = models;
	*kept_out = kept;
	return 0;
}
#endif
